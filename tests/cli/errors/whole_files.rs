//! Whole files.

use super::*;

#[test]
fn an_empty_file_is_refused_whatever_its_name() {
    let folder = TempFolder::new("err-empty");
    for name in ["a.gpuprof", "a.nvvp", "a.sqlite", "a.json", "a.json.gz", "a"] {
        refuse(&folder, name, b"", &["empty"]);
    }
}

#[test]
fn zeros_are_no_trace() {
    let folder = TempFolder::new("err-zeros");
    for name in ["a.gpuprof", "a.nvvp", "a.sqlite", "a.json", "a.json.gz"] {
        refuse(&folder, name, &[0; 5_000], &["not a database: zeros", "copy or export it again"]);
    }
}

#[test]
fn files_of_other_kinds_are_refused_by_name() {
    let folder = TempFolder::new("err-kinds");
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4cea4b\nsize 2686976\n";
    refuse(&folder, "a.sqlite", lfs, &["Git LFS pointer", "git lfs pull"]);
    let legacy = [0u8, 4, 0, 0, 4, 0, 0, 0, 1, 4, 0, 0, 9, 9];
    refuse(&folder, "a.nvprof", &legacy, &["nvprof of CUDA 5", "record it again"]);
    refuse(&folder, "a.nsys-rep", b"\x01\x02opaque", &["Nsight Systems report", "nsys export --type sqlite"]);
    refuse(&folder, "b.qdrep", b"\x01\x02opaque", &["Nsight Systems report", "nsys export --type sqlite"]);
    refuse(&folder, "c.qdstrm", b"\x01\x02opaque", &["raw stream", "QdstrmImporter"]);
    let session = nvvp_session(b"never unpacked", 1);
    refuse(&folder, "d.nvvp", &session, &["Visual Profiler session of CUDA 5", "record it again"]);
    refuse(
        &folder,
        "e.txt",
        b"==531== NVPROF is profiling process 531\n",
        &["printed output of nvprof without a table", "print it again"],
    );
    refuse(
        &folder,
        "e.csv",
        b"Time (%),Total Time (ns),Instances,Avg (ns),Min (ns),Max (ns),Name\n",
        &["nsys stats without rows", "nsys export"],
    );
    refuse(&folder, "f.zip", b"PK\x03\x04rest", &["zip archive", "unpack it"]);
    refuse(&folder, "g.zst", &[0x28, 0xb5, 0x2f, 0xfd, 1], &["zstd", "unpack it"]);
    refuse(&folder, "h.gz", &[0x1f, 0x8b, 8, 0, 1, 2, 3], &["gzip", "cut off or damaged"]);
    refuse(&folder, "i.ncu-rep", b"NVR\0rest", &["Nsight Compute", "ncu --import"]);
}

#[test]
fn what_nobody_knows_is_refused_with_the_way_to_find_out() {
    let folder = TempFolder::new("err-unknown");
    for (name, bytes) in [
        ("a.png", &b"\x89PNG\r\n\x1a\n\0\0"[..]),
        ("a.elf", b"\x7fELF\x02\x01\x01"),
        ("a.txt", b"epoch 1 loss 0.3\n"),
        ("a.html", b"<!doctype html><html></html>"),
        ("a.xml", b"<?xml version=\"1.0\"?><session name=\"x\"></session>"),
        ("package.json", b"{\"name\": \"x\"}"),
        ("a.yaml", b"\xff\xfe\xfd"),
        ("one.byte", b"x"),
        ("gpuprof.txt", b"GPUPROF is great"),
    ] {
        refuse(&folder, name, bytes, &[]);
    }
}

#[test]
fn json_that_is_no_trace_says_what_it_is() {
    let folder = TempFolder::new("err-json");
    // Large enough that only reading it all tells.
    let long = format!("{{\"a\": [{}]}}", vec!["1234567"; 20_000].join(","));
    refuse(&folder, "a.json", long.as_bytes(), &["without `traceEvents`"]);
}

#[test]
fn databases_of_other_programs_are_refused() {
    let folder = TempFolder::new("err-db");
    let other = Database::new("CREATE TABLE bookmarks (url TEXT);").bytes();
    refuse(&folder, "a.sqlite", &other, &["SQLite database", "neither nvprof", "nsys"]);
    refuse(&folder, "b.sqlite", &Database::new("").bytes(), &["SQLite"]);
    refuse(&folder, "c.sqlite", b"SQLite format 3\0and then nothing", &["SQLite", "copy or export it again"]);
}

#[test]
fn a_file_of_a_newer_major_version_names_all_three_versions() {
    let folder = TempFolder::new("err-version");
    let header = trace_format::header::FileHeader {
        major: 2,
        minor: 5,
        ..trace_format::header::FileHeader::new("gpuprof 9.8.7", EPOCH)
    };
    refuse(&folder, "a.gpuprof", &header.to_bytes(), &["2.5", "1.0", "9.8.7"]);
}

#[test]
fn a_session_without_a_timeline_says_so() {
    let folder = TempFolder::new("err-session");
    let empty = b"<?xml version=\"1.0\"?><session version=\"2\"><timelinepdm></timelinepdm></session>";
    refuse(&folder, "a.nvvp", empty, &["holds no timeline"]);
    for broken in ["<split>!!!!</split>", "<split></split>", "<split>SGVsbG8=</split>"] {
        let text = format!(
            "<?xml version=\"1.0\"?><session version=\"2\"><timelinepdm><pdm>{broken}</pdm></timelinepdm></session>"
        );
        refuse(&folder, "b.nvvp", text.as_bytes(), &[]);
    }
}
