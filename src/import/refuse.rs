//! Files that nobody here reads, though people take them for profiles: what they are and what to do about it.

mod foreign;

use super::{GZIP_MAGIC, Head, SQLITE_MAGIC, nvvp_session};
use crate::error::Error;

/// One kind of file that is refused.
struct Refusal {
    is: fn(&Head) -> bool,
    what: &'static str,
    remedy: &'static str,
}

const EXPORT: &str = "run `nsys export --type sqlite FILE` and open what it writes";

/// All kinds that are known without knowing whose they are, special ones first.
static REFUSALS: &[Refusal] = &[
    Refusal {
        is: |head| head.raw.is_empty(),
        what: "the file is empty",
        remedy: "the program that should have written it may have been stopped: run it again",
    },
    Refusal {
        is: |head| head.raw.starts_with(b"version https://git-lfs"),
        what: "a Git LFS pointer, not the file it stands for",
        remedy: "run `git lfs pull` to fetch the file",
    },
    Refusal {
        is: |head| head.raw.starts_with(&[0, 4, 0, 0, 4, 0, 0, 0, 1, 4, 0, 0]),
        what: "a profile of nvprof of CUDA 5 or older, whose format was never published",
        remedy: "record it again with nvprof of CUDA 8 or later, nsys or gpuprof",
    },
    Refusal {
        is: |head| nvvp_session::session_version(&head.text).is_some(),
        what: "a Visual Profiler session of CUDA 5 or older, whose timeline is in a format that was never published",
        remedy: "record it again with nvprof of CUDA 8 or later, nsys or gpuprof",
    },
    Refusal {
        is: |head| head.raw.starts_with(SQLITE_MAGIC) && head.sqlite_tables().is_empty(),
        what: "an SQLite database without a table that can be read",
        remedy: "it may be cut off or damaged: copy or export it again",
    },
    Refusal {
        is: |head| head.text.starts_with(SQLITE_MAGIC),
        what: "an SQLite database, but of neither nvprof (it has no table StringTable) nor nsys (no table StringIds)",
        remedy: "export the report again with `nsys export --type sqlite`, without `--tables`",
    },
    Refusal {
        is: |head| head.text.len() >= 16 && head.text[..16].iter().all(|&byte| byte == 0),
        what: "not a database: zeros stand where it should say what it is",
        remedy: "the file was damaged when it was written or copied: copy or export it again",
    },
    Refusal {
        is: |head| head.raw.starts_with(b"NVR\0"),
        what: "an Nsight Compute report, which holds counters of single kernels and no timeline",
        remedy: "open it with `ncu --import FILE`",
    },
    Refusal {
        is: is_pprof,
        what: "a pprof profile, which holds samples of CPU stacks and no GPU work",
        remedy: "open it with `go tool pprof FILE`",
    },
    Refusal {
        is: is_other_json,
        what: "JSON without trace events",
        remedy: "PyTorch traces have a list `traceEvents`; they are written by `prof.export_chrome_trace(FILE)`",
    },
    Refusal {
        is: |head| has_extension(head, &["nsys-rep", "qdrep"]),
        what: "an Nsight Systems report, whose format is not published",
        remedy: EXPORT,
    },
    Refusal {
        is: |head| has_extension(head, &["qdstrm"]),
        what: "a raw stream of Nsight Systems, which did not become a report",
        remedy: "run nsys's `QdstrmImporter -i FILE`, then `nsys export --type sqlite` on the report",
    },
    Refusal {
        is: |head| head.raw.starts_with(b"PK\x03\x04"),
        what: "a zip archive",
        remedy: "unpack it and open the files in it",
    },
    Refusal {
        is: |head| head.raw.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || head.raw.starts_with(b"\xfd7zXZ\0"),
        what: "an archive packed with zstd or xz",
        remedy: "unpack it with `zstd -d` or `xz -d` and open the file in it",
    },
    Refusal {
        is: |head| head.raw.starts_with(&GZIP_MAGIC) && head.text.is_empty(),
        what: "a gzip archive that cannot be unpacked",
        remedy: "it may be cut off or damaged: copy it again",
    },
];

/// Why this file is not read and what to do, if it is of a kind that is known; to be asked after every importer.
pub fn refusal(head: &Head) -> Option<Error> {
    // What names its tool comes first: `an SQLite database of neither` is true of rocprof's as well, and no help.
    let named = foreign::DATABASES.iter().chain(foreign::JSON).chain(foreign::TABLES);
    let refusal = named.chain(REFUSALS).find(|refusal| (refusal.is)(head))?;
    Some(Error::at(&head.path, refusal.what).remedy(refusal.remedy))
}

/// Why JSON that a reader took for a trace is none, if it is of a tool that is known by its beginning.
pub fn json_refusal(head: &Head) -> Option<Error> {
    let refusal = foreign::JSON.iter().find(|refusal| (refusal.is)(head))?;
    Some(Error::at(&head.path, refusal.what).remedy(refusal.remedy))
}

fn is_other_json(head: &Head) -> bool {
    let begins = matches!(head.text.trim_ascii_start().first(), Some(b'{' | b'['));
    begins && !head.text.windows(11).any(|part| part == b"traceEvents")
}

/// A packed protocol buffer whose first field is pprof's list of value types.
fn is_pprof(head: &Head) -> bool {
    head.raw.starts_with(&GZIP_MAGIC) && matches!(head.text[..], [0x0a, 2..=12, 0x08, ..])
}

/// The name decides nothing here: everything that is known by its content was tried before.
fn has_extension(head: &Head, extensions: &[&str]) -> bool {
    let extension = head.path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.iter().any(|known| known.eq_ignore_ascii_case(extension)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::testing::TempFile;

    fn refused(name: &str, bytes: &[u8]) -> Option<String> {
        let file = TempFile::new(name, bytes);
        refusal(&Head::read(&file.path).unwrap()).map(|error| error.to_string())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn every_refusal_says_what_the_file_is_and_what_to_do() {
        let pprof = gzip(&[0x0a, 0x04, 0x08, 0x01, 0x10, 0x02]);
        let files: &[(&str, &[u8], &str)] = &[
            ("a.sqlite", b"", "is empty"),
            ("a.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
            ("a.nvvp", &[0, 4, 0, 0, 4, 0, 0, 0, 1, 4, 0, 0, 9], "CUDA 5"),
            ("a.nvvp", b"<?xml version=\"1.0\"?>\n<session version=\"1\" name=\"a\">", "session of CUDA 5"),
            ("a.sqlite", &[0; 4096], "not a database"),
            ("a.prof", &pprof, "pprof"),
            ("a.nsys-rep", b"\x01\x02binary", "nsys export"),
            ("a.qdrep", b"\x01\x02binary", "nsys export"),
            ("a.ncu-rep", b"NVR\0rest", "Nsight Compute"),
            ("a.zip", b"PK\x03\x04rest", "zip"),
            ("a.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0], "zstd"),
            ("a.json.gz", &[0x1f, 0x8b, 8, 0], "gzip"),
            ("a.sqlite", b"SQLite format 3\0 and then nothing", "without a table"),
        ];
        for (name, bytes, says) in files {
            let message = refused(name, bytes).unwrap_or_else(|| panic!("{name} ({says}) is not refused"));
            assert!(message.contains(says), "{message}");
            assert!(message.contains("; ") && !message.contains('\n') && !message.ends_with('.'), "{message}");
        }
    }

    #[test]
    fn a_database_of_somebody_else_is_named_as_such() {
        let file = TempFile::database("places.sqlite", "CREATE TABLE moz_places (id INTEGER)");
        let message = refusal(&Head::read(&file.path).unwrap()).unwrap().to_string();
        assert!(message.contains("StringTable") && message.contains("StringIds"), "{message}");
        let packed = TempFile::new("places.gz", &gzip(&file.bytes()));
        assert!(refusal(&Head::read(&packed.path).unwrap()).is_some());
    }

    #[test]
    fn profiles_of_other_tools_are_named_and_the_remedy_exists() {
        let files: &[(&str, &[u8], &str, &str)] = &[
            ("a.json", b"{\"rocprofiler-sdk-tool\": [{}]}", "rocprofv3", "pftrace"),
            ("a.hatchet", b"[{\"children\": [], \"frame\": {}, \"metrics\": {}}]", "Proton", "proton-viewer"),
            (
                "a.json",
                b"{\"schema\": \"1.1.0-chakra.0.0.4\", \"nodes\": [{\"ctrl_deps\": 1}]}",
                "Chakra",
                "export_chrome_trace",
            ),
            (
                "a.json",
                b"[[1000, \"PREEXISTING\", [\"Tensor\", 1], 512]]",
                "memory timeline",
                "export_chrome_trace",
            ),
            (
                "a.jsonl",
                b"{\"Type\": 79, \"CudaEvent\": {}}\n{\"data\": []}\n",
                "JSON-lines",
                "nsys export --type sqlite",
            ),
            ("a.json", b"{\"traceEvents\": {\"traceEvents\": []}}", "an object and not a list", "jq .traceEvents"),
            ("CUPTI_ACTIVITY_KIND_KERNEL.parquet", b"PAR1\0", "parquetdir", "nsys export --type sqlite"),
            ("a.h5", b"\x89HDF\r\n\x1a\n", "HDF5", "nsys export --type sqlite"),
            (
                "a.txt",
                b"Processing\n\n ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n",
                "nsys stats",
                "--format csv",
            ),
            ("a.txt", b"CUDA API Statistics (nanoseconds)\n\nTime(%)  Total Time\n", "nsys stats", ".sqlite"),
        ];
        for (name, bytes, says, remedy) in files {
            let message = refused(name, bytes).unwrap_or_else(|| panic!("{name} ({says}) is not refused"));
            assert!(message.contains(says) && message.contains(remedy), "{message}");
            assert!(!message.contains("torch") || message.contains("PyTorch"), "{message}");
        }
        for (sql, says, remedy) in [
            ("CREATE TABLE HIP (a); CREATE TABLE OPS (a)", "AMD's rocprof (", ".json"),
            ("CREATE TABLE rocpd_string_0000abcd (a)", "rocpd database", "rocpd convert"),
        ] {
            let file = TempFile::database("a.db", sql);
            let message = refusal(&Head::read(&file.path).unwrap()).unwrap().to_string();
            assert!(message.contains(says) && message.contains(remedy) && !message.contains("nsys"), "{message}");
        }
    }

    #[test]
    fn json_that_a_reader_took_for_a_trace_is_named_as_well() {
        let file =
            TempFile::new("a.json", b"{\"traceEvents\": {\"traceEvents\": [{\"ph\": \"X\"}], \"metadata\": {}}}");
        let message =
            crate::import::testing::import(&file, &crate::trace::sink::Need::all()).err().unwrap().to_string();
        assert!(message.contains("an object and not a list"), "{message}");
    }

    #[test]
    fn what_is_not_known_is_not_refused() {
        assert_eq!(refused("a.bin", b"something else entirely"), None);
        assert_eq!(refused("a.json", b"{\"traceEvents\": []}"), None);
        assert!(
            refused("b.json", b"{\"name\": \"left-pad\"}").is_some_and(|m| m.contains("JSON without trace events"))
        );
    }
}
