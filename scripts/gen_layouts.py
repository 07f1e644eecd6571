#!/usr/bin/env python3
"""Writes cupti-shim/cupti-sys/src/layouts.rs from tables of CUPTI's record layouts.

    python3 scripts/gen_layouts.py cupti-shim/cupti-sys/tables > cupti-shim/cupti-sys/src/layouts.rs

The argument is the folder with kind_fields.csv (field, offset, size, first and last toolkit), strides_all_packages.csv (what the
library's own walker steps over), kind_records.csv (version numbers), enums.csv and cbids.csv, collected from the headers
and libraries of CUDA 11.7 to 13.5. Only numbers and names come out. Toolkits are written as 100 * major + minor.
"""
import csv
import re
import sys
from pathlib import Path

# `cuptiGetVersion` of packages that are not the newest of their toolkit; the others are in kind_records.csv.
OLDER_PACKAGES = {
    "12.0.90": 18, "12.1.62": 18, "12.6.37": 24, "12.8.57": 26, "12.9.19": 27, "13.0.48": 130000, "13.1.75": 130100,
    "13.2.23": 130200, "13.2.75": 130201, "13.3.35": 130300, "13.4.58": 130400,
}

# Calls that somebody treats specially: the gate, launches, ends of contexts, what may be muted.
CBIDS = {
    "driver": """cuInit cuCtxCreate cuCtxDestroy cuCtxSynchronize cuCtxGetDevice cuCtxSetCurrent cuCtxGetCurrent
        cuEventQuery cuStreamQuery cuStreamQuery_ptsz cuLaunchKernel cuLaunchKernel_ptsz cuLaunchKernelEx
        cuLaunchKernelEx_ptsz cuLaunchCooperativeKernel cuLaunchCooperativeKernel_ptsz cuProfilerStart cuProfilerStop
        cuProfilerInitialize cuCtxCreate_v2 cuCtxCreate_v3 cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxSynchronize_v2
        cuGetErrorString cuDevicePrimaryCtxGetState cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease
        cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 cuStreamIsCapturing
        cuStreamIsCapturing_ptsz cuGraphLaunch cuGraphLaunch_ptsz cuGraphInstantiate cuGetProcAddress
        cuGetProcAddress_v2 cuKernelGetAttribute cuStreamSynchronize cuEventSynchronize cuMemcpyHtoD_v2
        cuMemcpyDtoH_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemsetD8_v2 cuMemsetD32_v2 cuMemAlloc_v2
        cuMemFree_v2 cuModuleLoadData cuModuleUnload cuModuleGetFunction cuStreamCreate cuStreamDestroy_v2""",
    "runtime": """cudaGetDeviceCount cudaGetLastError cudaPeekAtLastError cudaGetErrorString cudaGetDevice
        cudaSetDevice cudaStreamQuery cudaStreamSynchronize cudaEventRecord cudaEventQuery cudaEventSynchronize
        cudaDeviceReset cudaDeviceSynchronize cudaProfilerInitialize cudaProfilerStart cudaProfilerStop
        cudaLaunchKernel cudaLaunchKernel_ptsz cudaLaunchKernelExC cudaLaunchKernelExC_ptsz cudaGraphLaunch
        cudaGraphLaunch_ptsz cudaStreamIsCapturing cudaStreamIsCapturing_ptsz cudaMalloc cudaFree cudaMemcpy
        cudaMemcpyAsync cudaMemset cudaMemsetAsync cudaStreamCreate cudaStreamDestroy cudaDeviceGetAttribute
        __cudaLaunchKernel __cudaLaunchKernel_ptsz __cudaPushCallConfiguration __cudaPopCallConfiguration""",
}


def rows(folder, name):
    with open(Path(folder) / name, newline="") as file:
        return list(csv.DictReader(file))


def toolkit(text):
    major, minor = text.split(".")[:2]
    return 100 * int(major) + int(minor)


def snake(text):
    """`localMemoryTotal_v2` -> `LOCAL_MEMORY_TOTAL_V2`, `channelID` -> `CHANNEL_ID`."""
    text = text.replace(".", "_").replace("[", "_").replace("]", "")
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    text = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    return text.upper()


def fields(folder):
    table = rows(folder, "kind_fields.csv")
    newest = max(toolkit(r["last_toolkit"]) for r in table)
    kinds = {}
    for r in table:
        if re.search(r"(^|\.)(pad\d*|padding\d*|reserved\d*)$", r["field"]):
            continue
        kinds.setdefault((int(r["kind_id"]), r["kind"]), []).append(r)
    print("/// Fields of each kind: what [`Field`] needs to know. Names are CUPTI's.")
    print("#[rustfmt::skip]")
    print("pub mod fields {")
    print("    #![allow(missing_docs)]")
    print("    use super::Field;")
    listing = []
    for (kind, name), members in sorted(kinds.items()):
        print(f"    pub mod {name.lower()} {{")
        print("        use super::Field;")
        print(f"        pub const KIND: u32 = {kind};")
        seen = set()
        for m in members:
            const = snake(m["field"])
            first, last = toolkit(m["first_toolkit"]), toolkit(m["last_toolkit"])
            until = 0 if last == newest or members_end_together(members, newest) else last
            if const == "KIND":
                const = "KIND_FIELD"
            if const in seen or (until and has_later(members, m)):
                const += f"_SINCE_{first}" if not until else f"_UNTIL_{until}"
            seen.add(const)
            print(f'        pub const {const}: Field = Field::new({m["offset"]}, {m["size"]}, {first}, {until});')
            listing.append((kind, name.lower(), const, m["field"]))
        print("    }")
    print("}\n")
    print("/// Every field of every kind: kind, CUPTI's name, layout.")
    print("#[rustfmt::skip]")
    print("pub static FIELDS: &[(u32, &str, Field)] = &[")
    for kind, module, const, field in listing:
        print(f'    ({kind}, "{field}", fields::{module}::{const}),')
    print("];\n")


def members_end_together(members, newest):
    """A kind that the newest toolkit does not have: its fields did not end, the kind did."""
    return all(toolkit(m["last_toolkit"]) < newest for m in members)


def has_later(members, field):
    return any(m["field"] == field["field"] and toolkit(m["last_toolkit"]) > toolkit(field["last_toolkit"]) for m in members)


def strides(folder):
    versions = {r["package"]: int(r["cuptiGetVersion"]) for r in rows(folder, "kind_records.csv")}
    versions.update(OLDER_PACKAGES)
    table = rows(folder, "strides_all_packages.csv")
    newest = {}
    for r in table:
        newest[toolkit(r["package"])] = r["package"]
    kinds = sorted(int(k) for k in table[0] if k != "package")
    print("/// What `cuptiActivityGetNextRecord` steps over, by package, oldest first.")
    print("#[rustfmt::skip]")
    print("pub static STRIDES: &[PackageStrides] = &[")
    for r in table:
        values = ["0"] * (max(kinds) + 1)
        for k in kinds:
            values[k] = r[str(k)] or "0"
        package = r["package"]
        is_newest = str(newest[toolkit(package)] == package).lower()
        print(f'    PackageStrides {{ package: "{package}", toolkit: {toolkit(package)}, newest_of_toolkit: {is_newest}, '
              f"api_version: {versions[package]}, strides: [{', '.join(values)}] }},")
    print("];\n")
    print(f"/// Kinds run from 1 to this, exclusive, in the newest toolkit that is known here.")
    print(f"pub const KINDS: usize = {max(kinds) + 1};\n")


def names(folder):
    table = rows(folder, "enums.csv")
    results = {int(r["value"]): r["name"] for r in table if r["enum"] == "CUptiResult" and "FORCE_INT" not in r["name"]}
    print("/// Names of result codes. Our own list: some versions of CUPTI answer `cuptiGetResultString` with nothing.")
    print("pub fn result_name(code: u32) -> Option<&'static str> {")
    print("    Some(match code {")
    for code, name in sorted(results.items()):
        print(f'        {code} => "{name}",')
    print("        _ => return None,")
    print("    })")
    print("}\n")
    kinds = {int(r["value"]): r["name"].removeprefix("CUPTI_ACTIVITY_KIND_") for r in table
             if r["enum"] == "CUpti_ActivityKind" and not re.search("FORCE_INT|_COUNT$", r["name"])}
    print("/// Name of an activity kind, without its prefix.")
    print("pub fn kind_name(kind: u32) -> Option<&'static str> {")
    print("    Some(match kind {")
    for kind, name in sorted(kinds.items()):
        print(f'        {kind} => "{name}",')
    print("        _ => return None,")
    print("    })")
    print("}\n")


def cbids(folder):
    table = rows(folder, "cbids.csv")
    print("/// Callback ids of calls that somebody treats specially. Numbers never change from version to version.")
    print("#[allow(missing_docs)]")
    print("#[rustfmt::skip]")
    print("pub mod cbid {")
    for domain, wanted in CBIDS.items():
        print(f"    pub mod {domain} {{")
        for name in wanted.split():
            pattern = re.compile(re.escape(name) + (r"_v\d{4,5}" if domain == "runtime" else ""))
            found = [r for r in table if r["domain"] == domain and pattern.fullmatch(r["latest_name"])]
            if not found:
                sys.exit(f"gen_layouts: no {domain} callback called {name}")
            const = snake(name.removeprefix("__").removeprefix("cuda").removeprefix("cu"))
            if name.startswith("__"):
                const = "STUB_" + const
            print(f"        pub const {const}: u32 = {found[0]['cbid']};")
        print("    }")
    print("}")


def main():
    folder = sys.argv[1]
    print("""//! Layouts of CUPTI's activity records, as numbers. Written by `scripts/gen_layouts.py`; do not edit.

use crate::{Field, PackageStrides};
""")
    fields(folder)
    strides(folder)
    names(folder)
    cbids(folder)


main()
