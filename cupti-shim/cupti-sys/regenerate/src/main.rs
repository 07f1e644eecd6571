//! Writes `cupti-sys/src/bindings.rs`. See `cupti-sys/README.md` for the command.
//!
//! Reads the headers of one CUPTI (any toolkit or wheel; the newest knows the most constants) and keeps types,
//! constants and the signatures of the functions we may call: no comments, nothing that is NVIDIA's text. Enums stay
//! plain integers, because a newer library sends values that this list does not know. The functions become
//! function-pointer types: all of CUPTI is looked up at run time and nothing is linked.

use std::path::PathBuf;
use std::process::ExitCode;

use quote::{format_ident, quote};

/// Structs that callbacks hand us or that we hand to CUPTI, and the types of callbacks. Records are not here: they are
/// read by offset (`layouts.rs`), since their structs differ from version to version.
const TYPES: &[&str] = &[
    "CUpti_CallbackData",
    "CUpti_ResourceData",
    "CUpti_ModuleResourceData",
    "CUpti_GraphData",
    "CUpti_SynchronizeData",
    "CUpti_StateData",
    "CUpti_SubscriberHandle",
    "CUpti_CallbackFunc",
    "CUpti_BuffersCallbackRequestFunc",
    "CUpti_BuffersCallbackCompleteFunc",
    "CUpti_TimestampCallbackFunc",
    "CUpti_ActivityUnifiedMemoryCounterConfig",
    "CUpti_Activity",
];

/// Enums whose constants we name.
const ENUMS: &[&str] = &[
    "CUptiResult",
    "CUpti_ActivityAttribute",
    "CUpti_ActivityEnvironmentKind",
    "CUpti_ActivityFlag",
    "CUpti_ActivityKind",
    "CUpti_ActivityObjectKind",
    "CUpti_ActivityOverheadKind",
    "CUpti_ActivityStreamFlag",
    "CUpti_ActivityThreadIdType",
    "CUpti_ActivityUnifiedMemoryCounterKind",
    "CUpti_ActivityUnifiedMemoryCounterScope",
    "CUpti_ApiCallbackSite",
    "CUpti_CallbackDomain",
    "CUpti_CallbackIdResource",
    "CUpti_CallbackIdState",
    "CUpti_CallbackIdSync",
    "CUpti_ExternalCorrelationKind",
];

/// Functions that the collector may call.
const FUNCTIONS: &[&str] = &[
    "cuptiActivityConfigureUnifiedMemoryCounter",
    "cuptiActivityDisable",
    "cuptiActivityEnable",
    "cuptiActivityEnableAllSyncRecords",
    "cuptiActivityEnableAllocationSource",
    "cuptiActivityEnableAndDump",
    "cuptiActivityEnableCudaEventDeviceTimestamps",
    "cuptiActivityEnableDeviceGraph",
    "cuptiActivityEnableDriverApi",
    "cuptiActivityEnableHWTrace",
    "cuptiActivityEnableLatencyTimestamps",
    "cuptiActivityEnableLaunchAttributes",
    "cuptiActivityEnableRuntimeApi",
    "cuptiActivityFlushAll",
    "cuptiActivityFlushPeriod",
    "cuptiActivityGetAttribute",
    "cuptiActivityGetNextRecord",
    "cuptiActivityGetNumDroppedRecords",
    "cuptiActivityGetStructSize",
    "cuptiActivityPopExternalCorrelationId",
    "cuptiActivityPushExternalCorrelationId",
    "cuptiActivityRegisterCallbacks",
    "cuptiActivityRegisterTimestampCallback",
    "cuptiActivitySetAttribute",
    "cuptiComputeCapabilitySupported",
    "cuptiDeviceSupported",
    "cuptiEnableAllDomains",
    "cuptiEnableCallback",
    "cuptiEnableDomain",
    "cuptiFinalize",
    "cuptiGetCallbackName",
    "cuptiGetCallbackState",
    "cuptiGetContextId",
    "cuptiGetDeviceId",
    "cuptiGetErrorMessage",
    "cuptiGetLastError",
    "cuptiGetResultString",
    "cuptiGetStreamIdEx",
    "cuptiGetThreadIdType",
    "cuptiGetTimestamp",
    "cuptiGetVersion",
    "cuptiSetThreadIdType",
    "cuptiSubscribe",
    "cuptiSupportedDomains",
    "cuptiUnsubscribe",
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("regenerate: {why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let include =
        std::env::var("CUPTI_INCLUDE").map_err(|_| "set CUPTI_INCLUDE to a folder with cupti_activity.h")?;
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let exact = |names: &[&str]| format!("^({})$", names.join("|"));
    let text = bindgen::Builder::default()
        .header(own.join("include/wrapper.h").display().to_string())
        .clang_arg(format!("-I{}", own.join("include").display()))
        .clang_arg(format!("-I{include}"))
        .allowlist_type(exact(TYPES))
        .allowlist_type(exact(ENUMS))
        .allowlist_function(exact(FUNCTIONS))
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(false)
        .use_core()
        .ctypes_prefix("core::ffi")
        .disable_header_comment()
        .generate()
        .map_err(|e| e.to_string())?
        .to_string();
    let file = syn::parse_file(&text).map_err(|e| format!("bindgen's output does not parse: {e}"))?;
    let mut items = Vec::new();
    let mut functions = Vec::new();
    for item in file.items {
        match item {
            syn::Item::ForeignMod(block) => functions.extend(block.items),
            // Sizes and padding values of C enums: they differ from release to release and mean nothing to us.
            syn::Item::Const(c) if is_bound(&c.ident.to_string()) => {}
            other => items.push(other),
        }
    }
    let mut found = Vec::new();
    for function in functions {
        let syn::ForeignItem::Fn(f) = function else { continue };
        let name = f.sig.ident.to_string();
        let alias = format_ident!("{}Fn", name.trim_start_matches("cupti"));
        let (inputs, output) = (&f.sig.inputs, &f.sig.output);
        items.push(
            syn::parse2(quote! { pub type #alias = unsafe extern "C" fn(#inputs) #output; })
                .map_err(|e| format!("{name}: {e}"))?,
        );
        found.push(name);
    }
    for name in FUNCTIONS {
        if !found.iter().any(|f| f == name) {
            eprintln!("regenerate: {name} is not in these headers; a newer CUPTI has it");
        }
    }
    let body = prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items });
    let target = own.join("../src/bindings.rs");
    let head = "// Written by `cupti-sys/regenerate`; do not edit.\n\n";
    std::fs::write(&target, format!("{head}{body}")).map_err(|e| format!("{}: {e}", target.display()))?;
    println!("{}: {} functions", target.display(), found.len());
    Ok(())
}

/// `…_FORCE_INT`, `…_SIZE` and `…_COUNT`.
fn is_bound(name: &str) -> bool {
    name.ends_with("_FORCE_INT")
        || name == "CUPTI_ACTIVITY_KIND_COUNT"
        || name == "CUPTI_ACTIVITY_ATTR_COUNT"
        || (name.ends_with("_SIZE")
            && (name.starts_with("CUPTI_CB_")
                || name.starts_with("CUPTI_CBID_")
                || name.contains("_TYPE_")
                || name.contains("CORRELATION_KIND")))
        || (name.ends_with("_COUNT") && (name.contains("UNIFIED_MEMORY") || name.contains("ENVIRONMENT")))
}
