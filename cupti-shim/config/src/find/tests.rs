use super::facts::mapped_files;
use super::*;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

/// An invented machine in a temporary folder.
struct Machine {
    root: PathBuf,
    facts: Facts,
}

impl Machine {
    fn new() -> Machine {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gpuprof-find-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).expect("a temporary folder");
        let root = fs::canonicalize(root).expect("it exists");
        let mut facts = Facts { root: root.clone(), cwd: root.join("work"), ..Facts::default() };
        facts.exe = root.join("work/a.out");
        Machine { root, facts }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(&path, content).expect("written");
        path
    }

    /// A library with this SONAME; each has content of its own.
    fn library(&self, path: &str, soname: &str) -> PathBuf {
        self.file(path, shared_object(soname))
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        symlink(target, path).expect("linked");
    }

    /// A Python of the system, started by this name; `/usr/bin/python3.11` is the file.
    fn python(mut self, argv0: &str) -> Machine {
        self.facts.exe = self.file("usr/bin/python3.11", "");
        self.facts.argv0 = argv0.into();
        fs::create_dir_all(self.path("usr/lib/python3/dist-packages")).expect("created");
        self
    }

    fn venv(self, config: &str) -> Machine {
        let home = self.path("usr/bin");
        self.file("venv/pyvenv.cfg", format!("home = {}\n{config}", home.display()));
        self.link("venv/bin/python", self.path("usr/bin/python3.11").to_str().expect("UTF-8"));
        fs::create_dir_all(self.path("venv/lib/python3.11/site-packages")).expect("created");
        self
    }

    fn env(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.facts.env.push((name, value.into()));
    }

    fn map(&mut self, path: &str) {
        let real = fs::canonicalize(self.path(path)).expect("mapped files exist");
        self.facts.mapped.push(real);
    }

    /// Candidates by (path below the root, why), without what only the loader could find.
    fn found(&self) -> Vec<(String, Why)> {
        let candidates = candidates(&self.facts).into_iter().filter(|c| c.why != Why::Loader);
        candidates.map(|c| (self.below(&c.path), c.why)).collect()
    }

    fn skipped(&self) -> Vec<(String, Skip)> {
        let skipped = search(&self.facts).skipped;
        skipped.into_iter().map(|(c, skip)| (self.below(&c.path), skip)).collect()
    }

    fn below(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The least ELF file with a SONAME: header, one LOAD and one DYNAMIC segment, strings.
fn shared_object(soname: &str) -> Vec<u8> {
    let mut file = vec![0u8; 64];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[32..40].copy_from_slice(&64u64.to_le_bytes());
    file[54..56].copy_from_slice(&56u16.to_le_bytes());
    file[56..58].copy_from_slice(&2u16.to_le_bytes());
    // Mapped 0x1000 above its place in the file, so that a reader that mixes the two up finds nothing.
    let (dynamic_at, strings_at) = (64 + 2 * 56u64, 64 + 2 * 56 + 3 * 16u64);
    let end = strings_at + 1 + soname.len() as u64 + 1;
    for (kind, offset, address, bytes) in [(1u32, 0, 0x1000, end), (2, dynamic_at, 0x1000 + dynamic_at, 48)] {
        let mut segment = vec![0u8; 56];
        segment[..4].copy_from_slice(&kind.to_le_bytes());
        segment[8..16].copy_from_slice(&offset.to_le_bytes());
        segment[16..24].copy_from_slice(&address.to_le_bytes());
        segment[32..40].copy_from_slice(&bytes.to_le_bytes());
        file.extend(segment);
    }
    for (tag, value) in [(5u64, 0x1000 + strings_at), (14, 1), (0, 0)] {
        file.extend(tag.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.push(0);
    file.extend(soname.as_bytes());
    file.push(0);
    file
}

const SITE: &str = "venv/lib/python3.11/site-packages";

#[test]
fn nothing_anywhere_leaves_the_loader() {
    let machine = Machine::new();
    assert_eq!(machine.found(), []);
    let names: Vec<_> = candidates(&machine.facts).into_iter().map(|c| c.path.display().to_string()).collect();
    assert_eq!(names, SONAMES);
}

#[test]
fn places_come_in_their_order() {
    let mut machine = Machine::new().python("/nowhere/python").venv("");
    machine.facts.argv0 = machine.path("venv/bin/python").into();
    machine.library(&format!("{SITE}/nvidia/cu13/lib/libcupti.so.13"), "libcupti.so.13");
    machine.library("conda/lib/libcupti.so.12", "libcupti.so.12");
    machine.library("app/lib/libcudart.so.12", "libcudart.so.12");
    machine.library("app/lib/libcupti.so.12", "libcupti.so.12");
    machine.library("home/extras/CUPTI/lib64/libcupti.so.12", "libcupti.so.12");
    machine.library("usr/local/cuda-11.8/extras/CUPTI/lib64/libcupti.so.11.8", "libcupti.so.11.8");
    machine.library("mine/libcupti.so.12", "libcupti.so.12");
    machine.map("app/lib/libcudart.so.12");
    machine.env("GPUPROF_CUPTI", machine.path("mine/libcupti.so.12"));
    machine.env("CONDA_PREFIX", machine.path("conda"));
    machine.env("CUDA_HOME", machine.path("home"));
    let expected = [
        ("mine/libcupti.so.12".to_owned(), Why::Asked),
        (format!("{SITE}/nvidia/cu13/lib/libcupti.so.13"), Why::Python),
        ("conda/lib/libcupti.so.12".to_owned(), Why::Python),
        ("app/lib/libcupti.so.12".to_owned(), Why::BesideRuntime),
        ("home/extras/CUPTI/lib64/libcupti.so.12".to_owned(), Why::CudaHome),
        ("usr/local/cuda-11.8/extras/CUPTI/lib64/libcupti.so.11.8".to_owned(), Why::Toolkit),
    ];
    assert_eq!(machine.found(), expected);
}

#[test]
fn mapped_comes_first_and_shuts_out_other_files_of_its_soname() {
    let mut machine = Machine::new();
    // As toolkits do it: the mapped name says nothing about the SONAME.
    machine.library("cuda/lib/libcupti.so.2025.2.1", "libcupti.so.12");
    machine.link("cuda/lib/libcupti.so.12", "libcupti.so.2025.2.1");
    machine.map("cuda/lib/libcupti.so.12");
    let other = machine.library("mine/libcupti.so.12", "libcupti.so.12");
    machine.library("usr/local/cuda-13.0/lib64/libcupti.so.13", "libcupti.so.13");
    machine.env("GPUPROF_CUPTI", other);
    let mapped = machine.path("cuda/lib/libcupti.so.2025.2.1");
    let expected = [
        ("cuda/lib/libcupti.so.2025.2.1".to_owned(), Why::Mapped),
        ("usr/local/cuda-13.0/lib64/libcupti.so.13".to_owned(), Why::Toolkit),
    ];
    assert_eq!(machine.found(), expected);
    assert_eq!(machine.skipped(), [("mine/libcupti.so.12".to_owned(), Skip::SonameMapped(mapped))]);
    let loader: Vec<_> = candidates(&machine.facts).into_iter().filter(|c| c.why == Why::Loader).collect();
    let names: Vec<_> = loader.iter().filter_map(|c| c.soname.as_deref()).collect();
    assert_eq!(names, ["libcupti.so.13", "libcupti.so.11.8"], "the loader is not asked for a mapped SONAME");
}

#[test]
fn mapped_and_deleted_is_still_mapped() {
    let mut machine = Machine::new();
    machine.facts.mapped = mapped_files(b"7f00-7f01 r-xp 00000000 08:01 42   /gone/libcupti.so.12 (deleted)\n");
    assert_eq!(machine.found(), [("/gone/libcupti.so.12".to_owned(), Why::Mapped)]);
}

#[test]
fn two_sonames_may_both_be_mapped() {
    let mut machine = Machine::new();
    machine.library("a/libcupti.so.12", "libcupti.so.12");
    machine.library("b/libcupti.so.13", "libcupti.so.13");
    machine.map("a/libcupti.so.12");
    machine.map("b/libcupti.so.13");
    let expected = [("a/libcupti.so.12".to_owned(), Why::Mapped), ("b/libcupti.so.13".to_owned(), Why::Mapped)];
    assert_eq!(machine.found(), expected);
}

#[test]
fn pytorch_takes_its_own_major_and_reserves_the_soname() {
    for (cuda, folder, soname, other_folder, other) in [
        ("12.8", "nvidia/cuda_cupti/lib", "libcupti.so.12", "nvidia/cu13/lib", "libcupti.so.13"),
        ("13.0", "nvidia/cu13/lib", "libcupti.so.13", "nvidia/cuda_cupti/lib", "libcupti.so.12"),
        ("11.8", "nvidia/cuda_cupti/lib", "libcupti.so.11.8", "nvidia/cu13/lib", "libcupti.so.13"),
    ] {
        let mut machine = Machine::new().python("").venv("");
        machine.facts.argv0 = machine.path("venv/bin/python").into();
        let version = format!("__version__ = '2.9'\ncuda: Optional[str] = '{cuda}'\ngit_version = 'x'\n");
        machine.file(&format!("{SITE}/torch/version.py"), version);
        let own = machine.library(&format!("{SITE}/{folder}/{soname}"), soname);
        machine.library(&format!("{SITE}/{other_folder}/{other}"), other);
        // MPI brought another copy of the same name within reach: it must not come before PyTorch's, nor after.
        machine.library(&format!("usr/local/cuda-12.4/extras/CUPTI/lib64/{soname}"), soname);
        machine.env("CUDA_HOME", machine.path("usr/local/cuda-12.4"));
        let expected = [
            (format!("{SITE}/{folder}/{soname}"), Why::Torch),
            (format!("{SITE}/{other_folder}/{other}"), Why::Python),
        ];
        assert_eq!(machine.found(), expected, "{cuda}");
        let skipped = format!("usr/local/cuda-12.4/extras/CUPTI/lib64/{soname}");
        assert_eq!(machine.skipped(), [(skipped, Skip::SonameOfTorch(own))], "{cuda}");
        let loader = candidates(&machine.facts).into_iter().filter(|c| c.why == Why::Loader);
        assert!(loader.into_iter().all(|c| c.soname.as_deref() != Some(soname)), "{cuda}");
    }
}

#[test]
fn pytorch_bundles_a_copy_under_a_hashed_name() {
    let mut machine = Machine::new().python("").venv("");
    machine.facts.argv0 = machine.path("venv/bin/python").into();
    machine.file(&format!("{SITE}/torch/version.py"), "cuda = '11.8'\n");
    machine.library(&format!("{SITE}/torch/lib/libcupti-53b8bc87.so.11.8"), "libcupti-53b8bc87.so.11.8");
    assert_eq!(machine.found(), [(format!("{SITE}/torch/lib/libcupti-53b8bc87.so.11.8"), Why::Torch)]);
}

#[test]
fn pytorch_of_a_container_uses_what_the_loader_finds() {
    let mut machine = Machine::new().python("/usr/bin/python3.11");
    machine.file("usr/local/lib/python3.11/dist-packages/torch/version.py", "cuda: Optional[str] = '12.6'\n");
    machine.library("usr/local/cuda-12.6/extras/CUPTI/lib64/libcupti.so.12", "libcupti.so.12");
    machine.facts.argv0 = machine.facts.exe.clone().into();
    let expected = [
        ("libcupti.so.12".to_owned(), Why::Torch),
        ("usr/local/cuda-12.6/extras/CUPTI/lib64/libcupti.so.12".to_owned(), Why::Toolkit),
    ];
    assert_eq!(machine.found(), expected);
}

#[test]
fn pytorch_without_cuda_reserves_nothing() {
    let mut machine = Machine::new().python("").venv("");
    machine.facts.argv0 = machine.path("venv/bin/python").into();
    machine.file(&format!("{SITE}/torch/version.py"), "cuda: Optional[str] = None\n");
    machine.library("usr/local/cuda-12.4/lib64/libcupti.so.12", "libcupti.so.12");
    assert_eq!(machine.found(), [("usr/local/cuda-12.4/lib64/libcupti.so.12".to_owned(), Why::Toolkit)]);
}

#[test]
fn an_environment_is_known_by_the_name_python_was_started_by() {
    let mut machine = Machine::new().python("").venv("");
    machine.library(&format!("{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12"), "libcupti.so.12");
    let own = vec![(format!("{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12"), Why::Python)];
    machine.facts.argv0 = machine.path("venv/bin/python").into();
    assert_eq!(machine.found(), own, "by its path");

    machine.facts.argv0 = "python".into();
    machine.env("PATH", format!("/nowhere::{}", machine.path("venv/bin").display()));
    assert_eq!(machine.found(), own, "by PATH");

    machine.facts.env.clear();
    machine.env("VIRTUAL_ENV", machine.path("venv"));
    machine.facts.argv0 = machine.facts.exe.clone().into();
    assert_eq!(machine.found(), [], "the system's Python does not belong to an environment that is merely active");

    machine.facts.argv0 = "worker: rank 3".into();
    assert_eq!(machine.found(), own, "a process that renamed itself");
}

#[test]
fn an_environment_sees_the_system_only_if_it_says_so() {
    for (config, seen) in [("", false), ("include-system-site-packages = true\n", true)] {
        let mut machine = Machine::new().python("").venv(config);
        machine.facts.argv0 = machine.path("venv/bin/python").into();
        machine.library("usr/local/lib/python3.11/dist-packages/nvidia/cu13/lib/libcupti.so.13", "libcupti.so.13");
        machine.library(
            "user/.local/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12",
            "libcupti.so.12",
        );
        machine.env("HOME", machine.path("user"));
        assert_eq!(machine.found().len(), if seen { 2 } else { 0 }, "{config}");
    }
}

#[test]
fn packages_of_the_user_come_before_those_of_the_system() {
    let mut machine = Machine::new().python("/usr/bin/python3.11");
    machine
        .library("usr/local/lib/python3.11/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "libcupti.so.12");
    machine
        .library("user/.local/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "libcupti.so.12");
    machine
        .library("user/.local/lib/python3.9/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "libcupti.so.12");
    machine.env("HOME", machine.path("user"));
    let user =
        ("user/.local/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12".to_owned(), Why::Python);
    let system =
        ("usr/local/lib/python3.11/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.12".to_owned(), Why::Python);
    assert_eq!(machine.found(), [user, system.clone()], "and those of another Python not at all");
    machine.env("PYTHONNOUSERSITE", "1");
    assert_eq!(machine.found(), [system]);
}

#[test]
fn pythonpath_comes_before_everything_installed() {
    let mut machine = Machine::new().python("/usr/bin/python3.11");
    machine
        .library("usr/local/lib/python3.11/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "libcupti.so.12");
    machine.library("work/vendored/nvidia/cuda_cupti/lib/libcupti.so.12", "libcupti.so.12");
    machine.env("PYTHONPATH", "vendored:/nowhere");
    assert_eq!(machine.found()[0], ("work/vendored/nvidia/cuda_cupti/lib/libcupti.so.12".to_owned(), Why::Python));
}

#[test]
fn a_package_folder_that_is_mapped_is_used() {
    // An application with Python inside, whose name and environment tell nothing.
    let mut machine = Machine::new();
    machine.library("app/libpython3.12.so.1.0", "libpython3.12.so.1.0");
    machine.library("app/env/site-packages/numpy/core.so", "core.so");
    machine.library("app/env/site-packages/nvidia/cu13/lib/libcupti.so.13", "libcupti.so.13");
    machine.map("app/libpython3.12.so.1.0");
    machine.map("app/env/site-packages/numpy/core.so");
    assert_eq!(machine.found(), [("app/env/site-packages/nvidia/cu13/lib/libcupti.so.13".to_owned(), Why::Python)]);
}

#[test]
fn packages_of_python_are_nothing_to_other_programs() {
    let mut machine = Machine::new().python("").venv("");
    machine.library(&format!("{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12"), "libcupti.so.12");
    machine.env("VIRTUAL_ENV", machine.path("venv"));
    machine.facts.exe = machine.path("work/a.out");
    assert_eq!(machine.found(), []);
}

#[test]
fn conda_keeps_libraries_in_its_prefix() {
    let mut machine = Machine::new();
    machine.facts.exe = machine.file("conda/bin/python3.11", "");
    machine.facts.argv0 = machine.facts.exe.clone().into();
    machine.file("conda/lib/python3.11/site-packages/torch/version.py", "cuda: Optional[str] = '12.6'\n");
    machine.library("conda/lib/libcupti.so.2024.3.2", "libcupti.so.12");
    machine.link("conda/lib/libcupti.so.12", "libcupti.so.2024.3.2");
    machine.link("conda/lib/libcupti.so", "libcupti.so.12");
    machine.env("CONDA_PREFIX", machine.path("conda"));
    assert_eq!(machine.found(), [("conda/lib/libcupti.so.12".to_owned(), Why::Torch)], "three names, one library");
}

#[test]
fn beside_the_runtime_in_every_layout() {
    for (runtime, cupti) in [
        ("w/nvidia/cuda_runtime/lib/libcudart.so.12", "w/nvidia/cuda_cupti/lib/libcupti.so.12"),
        ("w/nvidia/cu13/lib/libcudart.so.13", "w/nvidia/cu13/lib/libcupti.so.13"),
        ("w/lib64/libcudart.so.11.0", "w/extras/CUPTI/lib64/libcupti.so.11.8"),
        ("w/targets/x86_64-linux/lib/libcudart.so.12", "w/extras/CUPTI/lib64/libcupti.so.12"),
    ] {
        let mut machine = Machine::new();
        machine.library(runtime, "libcudart.so");
        machine.library(cupti, cupti.rsplit('/').next().expect("a name"));
        machine.map(runtime);
        assert_eq!(machine.found(), [(cupti.to_owned(), Why::BesideRuntime)]);
    }
}

#[test]
fn the_major_version_of_the_runtime_comes_first() {
    for (runtime, first, second) in [("12", "12", "13"), ("13", "13", "12")] {
        let mut machine = Machine::new();
        machine.library(&format!("app/libcudart.so.{runtime}"), "libcudart.so");
        machine.map(&format!("app/libcudart.so.{runtime}"));
        machine.library("home/lib64/libcupti.so.12", "libcupti.so.12");
        machine.library("home/lib64/libcupti.so.13", "libcupti.so.13");
        machine.env("CUDA_HOME", machine.path("home"));
        let expected = [first, second].map(|v| (format!("home/lib64/libcupti.so.{v}"), Why::CudaHome));
        assert_eq!(machine.found(), expected);
        let loader = candidates(&machine.facts).into_iter().find(|c| c.why == Why::Loader).expect("one");
        assert_eq!(loader.path, PathBuf::from(format!("libcupti.so.{first}")));
    }
}

#[test]
fn toolkits_come_newest_first_and_those_beyond_the_driver_last() {
    let mut machine = Machine::new();
    for version in ["12.4", "12.10", "12.9", "13.0", "11.8"] {
        let soname = match version {
            "11.8" => "libcupti.so.11.8",
            "13.0" => "libcupti.so.13",
            _ => "libcupti.so.12",
        };
        machine.library(&format!("usr/local/cuda-{version}/extras/CUPTI/lib64/{soname}"), soname);
    }
    machine.link("usr/local/cuda", "cuda-12.4");
    let versions = |machine: &Machine| -> Vec<String> {
        let name = |(path, _): (String, Why)| path.split('/').nth(2).expect("a toolkit").to_owned();
        machine.found().into_iter().map(name).collect()
    };
    // The link and the folder it leads to are one toolkit.
    assert_eq!(versions(&machine), ["cuda-13.0", "cuda-12.10", "cuda-12.9", "cuda", "cuda-11.8"]);
    machine.facts.driver_version = Some(12040);
    assert_eq!(versions(&machine), ["cuda", "cuda-11.8", "cuda-12.10", "cuda-12.9"]);
    let [(path, skip)] = &machine.skipped()[..] else { panic!("one is skipped") };
    assert!(path.contains("cuda-13.0"), "{path}");
    assert_eq!(*skip, Skip::NewerThanDriver(12));
}

#[test]
fn the_name_of_the_driver_tells_its_cuda() {
    for (name, cuda) in [
        ("libcuda.so.450.80.02", Some((11, 0))),
        ("libcuda.so.520.61.05", Some((11, 8))),
        ("libcuda.so.535.183.01", Some((12, 2))),
        ("libcuda.so.550.54.15", Some((12, 4))),
        ("libcuda.so.580.65.06", Some((13, 0))),
        ("libcuda.so.590.44.01", Some((13, 1))),
        ("libcuda.so.610.10", None),
        ("libcuda.so.1", None),
        ("libcuda.so.1.1", None),
        ("libcuda.so.390.157", None),
    ] {
        let facts = Facts { mapped: vec![Path::new("/usr/lib").join(name)], ..Facts::default() };
        assert_eq!(facts.driver_cuda(), cuda, "{name}");
    }
}

#[test]
fn gpuprof_cupti_may_be_a_folder_or_a_bare_name_and_is_tried_against_all_odds() {
    let mut machine = Machine::new();
    machine.facts.driver_version = Some(11080);
    machine.library("work/mine/libcupti.so.13", "libcupti.so.13");
    machine.env("GPUPROF_CUPTI", "mine");
    assert_eq!(machine.found(), [("work/mine/libcupti.so.13".to_owned(), Why::Asked)]);
    machine.facts.env = vec![("GPUPROF_CUPTI", "libcupti.so.12".into())];
    assert_eq!(machine.found(), [("libcupti.so.12".to_owned(), Why::Asked)]);
    machine.facts.env = vec![("GPUPROF_CUPTI", "mine/libcupti.so.9".into())];
    assert_eq!(machine.found(), []);
    assert_eq!(machine.skipped(), [("work/mine/libcupti.so.9".to_owned(), Skip::Missing)]);
}

#[test]
fn ld_library_path_shows_the_file() {
    let mut machine = Machine::new();
    machine.library("ld/libcupti.so.12", "libcupti.so.12");
    machine.env("LD_LIBRARY_PATH", format!("/nowhere:{}", machine.path("ld").display()));
    let loader: Vec<_> = candidates(&machine.facts).into_iter().map(|c| machine.below(&c.path)).collect();
    assert_eq!(loader, ["libcupti.so.13", "ld/libcupti.so.12", "libcupti.so.11.8"]);
}

#[test]
fn damaged_libraries_have_no_soname_and_do_no_harm() {
    let machine = Machine::new();
    let whole = shared_object("libcupti.so.12");
    let path = machine.file("x.so", &whole);
    assert_eq!(elf::soname(&path).as_deref(), Some("libcupti.so.12"));
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).expect("written");
        assert_eq!(elf::soname(&path), None, "cut at {length}");
    }
    // Every byte in turn is wrong: any answer will do, a panic will not.
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] = 0xff;
        fs::write(&path, &damaged).expect("written");
        let _ = elf::soname(&path);
    }
    assert_eq!(elf::soname(&machine.root), None, "a folder");
}

#[test]
fn the_soname_of_a_real_library_is_read() {
    let own = Facts::of_this_process();
    let libc =
        own.mapped_named("libc.so").next().or_else(|| own.mapped_named("libc-").next()).expect("libc is mapped");
    assert_eq!(elf::soname(libc).as_deref(), Some("libc.so.6"));
}

#[test]
fn maps_are_read_with_blanks_and_line_feeds() {
    let maps = b"00400000-00452000 r-xp 00000000 08:02 173521      /opt/a b/libx.so.1\n\
        00651000-00652000 r--p 00051000 08:02 173521      /opt/a b/libx.so.1\n\
        7ffe0000-7ffe1000 rw-p 00000000 00:00 0           [stack]\n\
        7f000000-7f001000 r-xp 00000000 08:02 9           /opt/line\\012feed.so\n";
    assert_eq!(mapped_files(maps), [PathBuf::from("/opt/a b/libx.so.1"), PathBuf::from("/opt/line\nfeed.so")]);
}

#[test]
fn names_that_are_not_libcupti_are_left_alone() {
    for name in ["libcupti.so", "libcupti.so.12", "libcupti-53b8bc87.so.11.8", "libcupti.so.2025.2.1"] {
        assert!(folder::is_cupti(Path::new(name)), "{name}");
    }
    for name in ["libcupti_static.a", "libcuptiutil.so", "libcupti.py", "xlibcupti.so", "libsim_cupti.so"] {
        assert!(!folder::is_cupti(Path::new(name)), "{name}");
    }
}
