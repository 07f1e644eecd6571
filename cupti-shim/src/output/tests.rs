use std::fs;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use trace_format::header::FileHeader;
use trace_format::read::TraceReader;
use trace_format::write::{Segments, TraceWriter};

use super::*;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gpuprof output {} {number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn header() -> FileHeader {
    FileHeader::new("test", 1)
}

fn write_trace(file: TraceFile) -> PathBuf {
    let mut writer = TraceWriter::create(file, &header(), Default::default()).unwrap();
    writer.finish(&serde_json::Value::Null).unwrap();
    writer.output().path()
}

#[test]
fn a_file_appears_when_its_header_is_whole_and_not_before() {
    for unnamed in [true, false] {
        let folder = Folder::new();
        let path = folder.join("a trace.gpuprof");
        let mut file = create::open(&path, unnamed).unwrap();
        let bytes = header().to_bytes();
        assert_eq!(file.write_at(&bytes[..20], 0).unwrap(), 20);
        assert!(!path.exists() && !file.is_published());
        assert_eq!(file.write_at(&bytes[20..], 20).unwrap(), bytes.len() - 20);
        assert!(file.is_published());
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(folder.names(), ["a trace.gpuprof"], "unnamed: {unnamed}");
        assert!(TraceReader::open(&path).is_ok());
    }
}

#[test]
fn a_file_that_never_had_a_header_leaves_nothing_behind() {
    for unnamed in [true, false] {
        let folder = Folder::new();
        let mut file = create::open(&folder.join("t.gpuprof"), unnamed).unwrap();
        file.write_at(&header().to_bytes()[..30], 0).unwrap();
        drop(file);
        assert_eq!(folder.names(), [""; 0], "unnamed: {unnamed}");
    }
}

#[test]
fn nothing_is_overwritten_and_a_clash_takes_the_next_number() {
    let folder = Folder::new();
    let path = folder.join("t.gpuprof");
    fs::write(&path, "somebody's").unwrap();
    std::os::unix::fs::symlink("nowhere", folder.join("t-1.gpuprof")).unwrap();
    for (unnamed, expected) in [(true, "t-2.gpuprof"), (false, "t-3.gpuprof")] {
        let written = write_trace(create::open(&path, unnamed).unwrap());
        assert_eq!(written, folder.join(expected));
    }
    assert_eq!(fs::read(&path).unwrap(), b"somebody's");
    assert_eq!(folder.names(), ["t-1.gpuprof", "t-2.gpuprof", "t-3.gpuprof", "t.gpuprof"]);
}

#[test]
fn many_processes_of_one_name_each_get_a_whole_file() {
    let folder = Folder::new();
    let path = folder.join("rank.gpuprof");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| write_trace(TraceFile::create(&path).unwrap()));
        }
    });
    assert_eq!(folder.names().len(), 8);
    for name in folder.names() {
        assert!(TraceReader::open(folder.join(&name)).unwrap().is_closed(), "{name}");
    }
}

#[test]
fn missing_folders_are_made() {
    let folder = Folder::new();
    let path = folder.join("a/b c/t.gpuprof");
    assert_eq!(write_trace(TraceFile::create(&path).unwrap()), path);
    assert!(path.exists());
}

#[test]
fn what_cannot_be_created_names_cause_and_remedy() {
    let folder = Folder::new();
    fs::write(folder.join("file"), "").unwrap();
    let long = folder.join(&"n".repeat(300));
    let too_long = folder.join(&"folder/".repeat(700)).join("t.gpuprof");
    let cases = [
        (folder.join("file/t.gpuprof"), "Not a directory", "check the folders"),
        (long, "File name too long", "choose a shorter name"),
        (too_long, "File name too long", "choose a shorter name"),
    ];
    for (path, cause, remedy) in cases {
        let text = TraceFile::create(&path).unwrap_err().to_string();
        assert!(text.contains(cause) && text.contains(remedy) && text.len() < 600, "{text}");
    }
    let denied = CreateError { path: "/x/t.gpuprof".into(), source: io::Error::from_raw_os_error(libc::EACCES) };
    assert_eq!(
        denied.to_string(),
        "cannot create /x/t.gpuprof: Permission denied (os error 13); choose a folder that can be written with \
         GPUPROF_OUTPUT or -o"
    );
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn our_descriptor_is_out_of_the_way_and_not_inherited() {
    let folder = Folder::new();
    let file = TraceFile::create(&folder.join("t.gpuprof")).unwrap();
    assert!(file.fd >= LOWEST_FD);
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::fcntl(file.fd, libc::F_GETFD) } & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
}

/// Runs `body` in a child, where it may change limits; true if it returned true.
fn in_child(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `body`, which only makes system calls and allocates, and leaves with `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(i32::from(!body()));
        }
        let mut status = 0;
        libc::waitpid(child, &mut status, 0) == child && status == 0
    }
}

fn limit(resource: libc::__rlimit_resource_t, value: u64) {
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    // SAFETY: reads the struct.
    unsafe { libc::setrlimit(resource, &limit) };
}

#[test]
fn a_small_limit_of_descriptors_gets_the_highest_that_is_free() {
    let folder = Folder::new();
    let path = folder.join("t.gpuprof");
    assert!(in_child(|| {
        // SAFETY: the child's own copies.
        (3..1_024).for_each(|fd| unsafe {
            libc::close(fd);
        });
        limit(libc::RLIMIT_NOFILE, 20);
        // SAFETY: takes numbers only; the highest is taken.
        unsafe { libc::dup2(1, 19) };
        TraceFile::create(&path).is_ok_and(|file| file.fd == 18)
    }));
    assert!(in_child(|| {
        limit(libc::RLIMIT_NOFILE, 3);
        TraceFile::create(&path).is_err_and(|e| e.to_string().contains("ulimit -n"))
    }));
}

#[test]
fn a_descriptor_that_the_program_took_is_never_written_to() {
    let folder = Folder::new();
    let mut file = TraceFile::create(&folder.join("t.gpuprof")).unwrap();
    let bytes = header().to_bytes();
    file.write_at(&bytes, 0).unwrap();
    let theirs = fs::File::create(folder.join("theirs")).unwrap();
    // SAFETY: what a program does that closes everything it does not know, and opens files of its own.
    unsafe { libc::dup2(theirs.as_raw_fd(), file.fd) };
    let error = file.write_at(b"more", bytes.len() as u64).unwrap_err();
    assert!(error.get_ref().is_some_and(|e| e.is::<DescriptorTaken>()));
    assert!(file.truncate(0).is_err() && file.sync().is_err());
    let fd = file.fd;
    drop(file);
    assert_eq!(fs::read(folder.join("theirs")).unwrap(), b"");
    // SAFETY: takes numbers only.
    assert_ne!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, -1, "it is not ours to close");
    // SAFETY: made by this test.
    unsafe { libc::close(fd) };
    assert!(TraceReader::open(folder.join("t.gpuprof")).is_ok());
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_no_signal() {
    let folder = Folder::new();
    let path = folder.join("t.gpuprof");
    assert!(in_child(|| {
        let Ok(mut file) = TraceFile::create(&path) else { return false };
        if file.write_at(&header().to_bytes(), 0).is_err() {
            return false;
        }
        // SAFETY: as in all our threads.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        }
        limit(libc::RLIMIT_FSIZE, 100);
        file.write_at(&[0; 64], 4_096).is_err_and(|e| e.raw_os_error() == Some(libc::EFBIG))
    }));
}

#[test]
fn the_space_of_the_file_system_is_known() {
    let folder = Folder::new();
    let space = TraceFile::create(&folder.join("t.gpuprof")).unwrap().space().unwrap();
    assert!(space.total > 1 << 20 && space.free <= space.total);
}

#[test]
fn segments_have_numbers_and_only_ours_are_removed() {
    let folder = Folder::new();
    let path = folder.join("run.gpuprof");
    let mut files = TraceFiles::new(&path);
    for number in 1..=3 {
        if number == 2 {
            fs::write(folder.join("run.000002.gpuprof"), "somebody's").unwrap();
        }
        write_trace(files.open(number).unwrap());
    }
    let all = ["run.000001.gpuprof", "run.000002-1.gpuprof", "run.000002.gpuprof", "run.000003.gpuprof"];
    assert_eq!(folder.names(), all);
    files.remove(2).unwrap();
    files.remove(1).unwrap();
    assert_eq!(folder.names(), ["run.000002.gpuprof", "run.000003.gpuprof"]);
    // A second run of the same name.
    fs::write(folder.join("run.000001.gpuprof"), "").unwrap();
    write_trace(TraceFiles::new(&path).open(1).unwrap());
    assert!(folder.names().contains(&"run-1.000001.gpuprof".to_owned()), "{:?}", folder.names());
}
