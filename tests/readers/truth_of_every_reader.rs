//! Every reader has somebody who knows better than we: a test that compares what it makes of a file with numbers that
//! were counted without it. A reader that is new is missed here by its name.

use crate::common::build::{Story, every_kind};
use crate::common::foreign::foreign_kinds;
use crate::common::{TempFolder, shared};
use gpuprof::import::{Head, IMPORTERS, choose};
use std::path::Path;

/// Who knows what is in files of one reader.
struct Truth {
    /// The reader.
    importer: &'static str,
    /// The test that compares, by its file below `tests` and its name.
    test: (&'static str, &'static str),
    /// A file that it compares.
    file: File,
}

/// A file whose numbers are known.
enum File {
    /// Of the shared collection: a script counted what is in it, and `NAME.truth.json` beside it has what came out.
    Counted(&'static str),
    /// Of `tests/common`, by what it is: whoever wrote it by hand expects numbers by hand, or it was made of a story that
    /// the test knows.
    Written(&'static str),
    /// What we export of traces whose numbers are known.
    Exported,
}

const TRUTHS: &[Truth] = &[
    Truth {
        importer: "nvprof",
        test: ("readers/truth.rs", "every_file_of_the_collection_matches_its_truth"),
        file: File::Counted("nvprof/tf_mnist_titanx_v8.nvvp"),
    },
    Truth {
        importer: "nvvp-session",
        test: ("readers/truth.rs", "every_file_of_the_collection_matches_its_truth"),
        file: File::Counted("nvprof/nbody_openacc_k20m_v12_xml.nvvp"),
    },
    Truth {
        importer: "nsys-sqlite",
        test: ("readers/truth.rs", "every_file_of_the_collection_matches_its_truth"),
        file: File::Counted("nsys/mock_rtx3080_2026.1_s3.24.sqlite"),
    },
    Truth {
        importer: "kineto",
        test: ("readers/truth.rs", "every_file_of_the_collection_matches_its_truth"),
        file: File::Counted("torch/nccl_2rank_2024.json.gz"),
    },
    Truth {
        importer: "gpuprof-csv",
        test: ("exports/round_trip.rs", "traces_made_here_answer_as_before_from_every_format"),
        file: File::Exported,
    },
    Truth {
        importer: "gpuprof-folder",
        test: ("exports/round_trip.rs", "traces_made_here_answer_as_before_from_every_format"),
        file: File::Exported,
    },
    Truth {
        importer: "speedscope",
        test: ("readers/printed_truth.rs", "speedscope_profiles_match_their_truth"),
        file: File::Counted("python/two_sampled.speedscope.json"),
    },
    Truth {
        importer: "tensorflow",
        test: ("readers/printed_truth.rs", "tensorflow_timelines_match_their_truth"),
        file: File::Counted("tf/riptide_gpu_timeline.ctf.json"),
    },
    Truth {
        importer: "chrome-trace",
        test: ("readers/printed_truth.rs", "other_profiles_of_python_match_their_truth"),
        file: File::Counted("python/pyspy.chrometrace.json"),
    },
    Truth {
        importer: "function-log",
        test: ("readers/functions.rs", "a_log_alone_gives_the_users_own_numbers"),
        file: File::Written("log of functions"),
    },
    Truth {
        importer: "nvprof-printed",
        test: ("readers/printed_truth.rs", "printed_traces_of_nvprof_match_their_truth"),
        file: File::Counted("nvprof/radixsort_gpu_trace.csv"),
    },
    Truth {
        importer: "nsys-stats",
        test: ("readers/printed_truth.rs", "traces_of_nsys_stats_match_their_truth"),
        file: File::Counted("nsys/phobos_cuda_gpu_trace_excerpt.csv"),
    },
    Truth {
        importer: "rocprof-csv",
        test: ("readers/printed.rs", "kernels_that_rocprof_lists_are_records"),
        file: File::Written("rocprof kernels"),
    },
    Truth {
        importer: "cprofile",
        test: ("readers/printed_truth.rs", "cprofile_dumps_match_their_truth_and_the_real_pstats"),
        file: File::Counted("python/cprofile_py311.prof"),
    },
    Truth {
        importer: "folded-stacks",
        test: ("readers/printed_truth.rs", "other_profiles_of_python_match_their_truth"),
        file: File::Counted("python/pyspy.collapsed.txt"),
    },
];

/// Readers that nobody checks, and why nobody can.
const WITHOUT_TRUTH: &[(&str, &str)] = &[];

/// What is wrong with the lists, where these are the readers.
fn missed(importers: &[&str]) -> Vec<String> {
    let mut missed = Vec::new();
    for &importer in importers {
        let has_truth = TRUTHS.iter().any(|truth| truth.importer == importer);
        let is_excused = WITHOUT_TRUTH.iter().any(|(name, _)| *name == importer);
        if has_truth == is_excused {
            missed.push(format!(
                "{importer}: put it into TRUTHS, or into WITHOUT_TRUTH with the reason, and not into both"
            ));
        }
    }
    let listed = TRUTHS.iter().map(|truth| truth.importer).chain(WITHOUT_TRUTH.iter().map(|(name, _)| *name));
    missed.extend(
        listed.filter(|name| !importers.contains(name)).map(|name| format!("{name}: there is no such reader")),
    );
    missed
}

/// Whether `text` has a test of this name.
fn has_test(text: &str, name: &str) -> bool {
    text.contains(&format!("#[test]\nfn {name}() {{"))
}

#[test]
fn every_reader_has_a_truth_or_a_reason() {
    let importers: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name()).collect();
    let missed = missed(&importers);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    for Truth { importer, test: (file, name), .. } in TRUTHS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{importer}: {}: {e}", path.display()));
        assert!(has_test(&text, name), "{importer}: there is no test {name} in tests/{file}");
    }
}

#[test]
fn a_made_up_reader_and_a_test_that_is_gone_are_named() {
    let with_made_up: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name()).chain(["made-up"]).collect();
    let expected = "made-up: put it into TRUTHS, or into WITHOUT_TRUTH with the reason, and not into both";
    assert_eq!(missed(&with_made_up), [expected]);
    let without_last = &with_made_up[..with_made_up.len() - 2];
    assert_eq!(missed(without_last), ["folded-stacks: there is no such reader"]);
    assert!(has_test("#[test]\nfn a() {\n", "a"));
    assert!(!has_test("fn a() {\n", "a"), "a function that is no test");
}

/// The reader that takes the file at `path`.
fn reader_of(path: &Path) -> &'static str {
    let importer = Head::read(path).and_then(|head| choose(&head));
    importer.unwrap_or_else(|e| panic!("{e}")).name()
}

#[test]
fn files_that_are_said_to_be_of_a_reader_are_read_by_it() {
    let folder = TempFolder::new("truth-of-every-reader");
    let written: Vec<_> = every_kind(&Story::sample(3)).into_iter().chain(foreign_kinds()).collect();
    let collection = shared("truth_of_every_reader::files_that_are_said_to_be_of_a_reader_are_read_by_it");
    for truth in TRUTHS {
        let reader = match (&truth.file, &collection) {
            (File::Counted(file), Some(shared)) => {
                let path = shared.join("data").join(file);
                let counted = format!("{}.truth.json", path.display());
                assert!(Path::new(&counted).is_file(), "{}: no {counted}", truth.importer);
                reader_of(&path)
            }
            (File::Written(kind), _) => {
                let found = written.iter().find(|(name, _)| name == kind);
                let (_, bytes) = found.unwrap_or_else(|| panic!("{}: tests/common has no {kind}", truth.importer));
                reader_of(&folder.file("trace", bytes))
            }
            (File::Counted(_), None) | (File::Exported, _) => continue,
        };
        assert_eq!(reader, truth.importer);
    }
}
