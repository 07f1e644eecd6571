//! Spark's own `spark-sql`, which submits SQL and prints what it answers.

use crate::error::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Spark installation and the cluster to run on.
pub struct Spark {
    /// Its folder, where that was named.
    home: Option<PathBuf>,
    /// Its `spark-sql`.
    program: PathBuf,
    /// `--master` as Spark takes it.
    master: String,
    /// Settings `KEY=VALUE`.
    conf: Vec<String>,
    /// Whether what Spark says of its work is passed on.
    verbose: bool,
}

impl Spark {
    /// The installation in the folder `home`, else in `SPARK_HOME`, else whichever `spark-sql` is on the path.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn find(home: Option<&Path>, master: &str, conf: &[String], verbose: bool) -> Result<Spark> {
        let spark =
            |home, program| Spark { home, program, master: master.to_owned(), conf: conf.to_vec(), verbose };
        // It runs in a folder of its own.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let from_environment = std::env::var_os("SPARK_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        if let Some(home) = home.map(Path::to_owned).or(from_environment).map(absolute) {
            let program = home.join("bin/spark-sql");
            if program.is_file() {
                return Ok(spark(Some(home), program));
            }
            return Err(Error::at(&program, "is not there").remedy(
                "name the folder of a Spark installation with --spark or SPARK_HOME; that of PySpark is the folder of its Python module",
            ));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|folder| absolute(folder.join("spark-sql")))
            .find(|program| program.is_file());
        found.map(|program| spark(None, program)).ok_or_else(|| {
            Error::new("no spark-sql is on the path").remedy(
                "install Spark 3.4 or later, or `pip install pyspark`, and name its folder with --spark or SPARK_HOME",
            )
        })
    }

    /// Submits statements and returns what they print.
    ///
    /// # Errors
    /// Fails if Spark cannot be started, or if a statement fails: the error has Spark's words.
    pub fn run(&self, sql: &str) -> Result<String> {
        // Spark leaves a log of its own where it is started.
        let folder = own_folder()?;
        let ran = self.run_in(&folder, sql);
        // What is left of it is the system's to clear away.
        drop(fs::remove_dir_all(&folder));
        ran
    }

    fn run_in(&self, folder: &Path, sql: &str) -> Result<String> {
        let file = folder.join("report.sql");
        fs::write(&file, sql).map_err(|e| Error::at(&file, format_args!("cannot be written: {e}")))?;
        let mut command = Command::new(&self.program);
        if let Some(home) = &self.home {
            // Its scripts believe this more than where they lie.
            command.env("SPARK_HOME", home);
        }
        command.current_dir(folder).args(["--master", &self.master]);
        // No catalogue of Hive, which would be a database in this folder.
        command.args(["--conf", "spark.sql.catalogImplementation=in-memory"]);
        command.args(["--conf", "spark.ui.showConsoleProgress=false"]);
        // What does not fit is an error and no other number.
        command.args(["--conf", "spark.sql.ansi.enabled=true"]);
        for setting in &self.conf {
            command.args(["--conf", setting]);
        }
        command.arg("-f").arg(&file).stdin(Stdio::null());
        let failed = |what: &dyn std::fmt::Display| Error::at(&self.program, what);
        let output = command.output().map_err(|e| failed(&format_args!("cannot be run: {e}")))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if self.verbose {
            eprint!("{said}");
        }
        if !output.status.success() {
            return Err(failed(&format_args!("{}: {}", output.status, why(&said)))
                .remedy("--verbose passes on all that Spark says"));
        }
        String::from_utf8(output.stdout).map_err(|_| failed(&"answered what is no UTF-8"))
    }
}

/// A new folder that nobody else can write into: what is run comes from there.
fn own_folder() -> Result<PathBuf> {
    let mut attempt = 0;
    loop {
        let folder = std::env::temp_dir().join(format!("gpuprof-spark-{}-{attempt}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(e) => return Err(Error::at(&folder, format_args!("cannot be created: {e}"))),
        }
    }
}

/// The line that says why, of all that Spark says: the first that names an error, else the last one.
fn why(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("at "));
    let is_error = |line: &&str| {
        let line = line.trim_start_matches("Error in query: ");
        line.starts_with('[') || line.contains("Exception") || line.starts_with("Error")
    };
    let last = lines.clone().next_back().unwrap_or("it says nothing");
    lines.find(is_error).unwrap_or(last).to_owned()
}

/// An answer that is none to what was asked.
pub(super) fn misunderstood(answer: &str) -> Error {
    Error::new(format!("Spark answered what was not asked: {answer}"))
        .remedy("Spark 3.4 or later is needed; tell us if yours is")
}

#[cfg(test)]
mod tests {
    use super::why;

    #[test]
    fn of_what_spark_says_the_error_is_passed_on() {
        let said = "WARNING: Using incubator modules\n26/11/30 WARN NativeCodeLoader: x\n[PATH_NOT_FOUND] Path does not exist: file:/x.\n\tat org.apache.Foo\n";
        assert_eq!(why(said), "[PATH_NOT_FOUND] Path does not exist: file:/x.");
        assert_eq!(why("JAVA_HOME is not set\n"), "JAVA_HOME is not set");
        assert_eq!(why(""), "it says nothing");
    }
}
