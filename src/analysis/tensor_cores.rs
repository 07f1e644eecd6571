//! Which kernels probably used tensor cores: a guess from their names, for records do not say. Libraries of matrix products name their
//! kernels after the instructions (`hmma`, `s16816gemm`), the operands (`xmma…bf16bf16`) or what uses nothing else
//! (`nvjet`, FlashAttention). Kernels whose names say nothing, such as Triton's, count as others.

/// Parts of names.
const PARTS: [&str; 11] = [
    "tensorop",
    "hmma",
    "imma_",
    "gmma",
    "wmma",
    "nvjet",
    "flash_fwd",
    "flash_bwd",
    "flashattn",
    "fmha",
    "mma_sync",
];

/// Sizes of the instructions of tensor cores, as names have them behind the letter of a type: `h884gemm`, `s16816fprop`.
const SIZES: [&str; 7] = ["884", "1688", "16816", "16832", "161616", "8816", "8832"];

/// Types of operands that only tensor cores multiply, as names of `xmma` kernels have them.
const OPERANDS: [&str; 6] = ["f16", "bf16", "tf32", "i8", "e4m3", "e5m2"];

/// Whether a kernel of this name, mangled or not, probably used tensor cores.
pub fn likely(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    PARTS.iter().any(|part| name.contains(part))
        || words.clone().any(is_sized)
        || (words.clone().any(|word| word.ends_with("xmma"))
            && words.any(|word| OPERANDS.iter().any(|operand| word.starts_with(operand))))
}

/// Whether a word is a type's letter, a size and an operation.
fn is_sized(word: &str) -> bool {
    let Some(rest) = word.strip_prefix(['s', 'h', 'i', 'd', 'z']) else { return false };
    SIZES
        .iter()
        .any(|size| rest.strip_prefix(size).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the traces in `shared/data`, of cuBLAS, cuDNN, CUTLASS, PyTorch and vLLM.
    #[test]
    fn names_of_libraries_are_told_apart() {
        for (name, is_likely) in [
            ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16", true),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute", true),
            ("sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma", false),
            ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>", true),
            ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(Params)", true),
            ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)", false),
            ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>", true),
            ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>", false),
            ("void xmma_new::gemm::kernel<xmma_new::Ampere_hmma_tf32_traits<unsigned int, float>>", true),
            ("_ZN19cutlass_cudnn_train6KernelINS_4arch15OpClassTensorOpEEE", true),
            ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", true),
            ("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_exp_interior_nhwc_tn_v1", true),
            ("turing_h1688gemm_128x128_ldg8_stages_32x1_tn", true),
            ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", true),
            ("ampere_sgemm_32x32_sliced1x4_tn", false),
            ("ampere_gcgemm_64x64_nt", false),
            ("volta_sgemm_128x64_nn", false),
            ("void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, true, true>", false),
            ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*)", false),
            ("triton_poi_fused_add_16816", false),
            ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>", false),
            ("", false),
        ] {
            assert_eq!(likely(name), is_likely, "{name}");
        }
    }
}
