//! A run as an export of Parquet files: where it is, and what its manifest says.

use super::spark::Spark;
use super::{MARK, spark};
use crate::analysis::activity::WORK_TABLES;
use crate::error::{Error, Result};
use crate::exchange::folder::{MANIFEST, Manifest};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use trace_format::schema::TableSpec;

/// A folder that `export --format parquet` wrote.
pub struct Dataset {
    /// Where Spark finds it: a URL.
    pub location: String,
    /// What is in it.
    pub manifest: Manifest,
}

impl Dataset {
    /// The dataset at `place`: a folder here, or a URL of a storage that only `spark` can read.
    ///
    /// # Errors
    /// Fails if there is none, if it is of another format, or if files are missing or cut.
    pub fn open(place: &str, spark: impl Fn() -> Result<Spark>) -> Result<Dataset> {
        let dataset =
            if place.contains("://") { Self::remote(place, &spark()?)? } else { Self::local(Path::new(place))? };
        let format = &dataset.manifest.format;
        if format != "parquet" {
            return Err(Error::new(format!("{place}: an export as {format}, of which Spark makes no report"))
                .remedy("write it with `gpuprof export --format parquet --option partition=rank RUN -o DATASET`"));
        }
        Ok(dataset)
    }

    fn local(folder: &Path) -> Result<Dataset> {
        let folder = folder.canonicalize().map_err(|e| Error::at(folder, e))?;
        let path = folder.join(MANIFEST);
        let text = fs::read(&path).map_err(|e| {
            Error::at(&path, format_args!("cannot be read: {e}"))
                .remedy("a dataset is what `gpuprof export --format parquet --option partition=rank` writes")
        })?;
        let manifest = serde_json::from_slice(&text).map_err(|e| Error::at(&path, e))?;
        let location = folder.to_str().filter(|path| !path.contains(['*', '?', '[', '{', '\\', '%']));
        let location = location.ok_or_else(|| {
            Error::at(&folder, "has a name that Spark takes for a pattern").remedy("give the folder a plain name")
        })?;
        let dataset = Dataset { location: format!("file://{location}"), manifest };
        for file in &dataset.manifest.files {
            let path = folder.join(&file.path);
            let bytes = path.metadata().map_err(|e| Error::at(&path, format_args!("of the dataset: {e}")))?.len();
            check(&dataset.location, &file.path, file.bytes, bytes)?;
        }
        Ok(dataset)
    }

    /// A dataset that only Spark can see: it reads the manifest, and says which files there are.
    fn remote(url: &str, spark: &Spark) -> Result<Dataset> {
        let location = url.trim_end_matches('/').to_owned();
        let manifest = format!("{location}/{MANIFEST}");
        let text = spark.run(&format!(
            "CREATE TEMPORARY VIEW manifest USING text OPTIONS (path {}, wholetext 'true');\n\
             SELECT concat('{MARK} ', to_json(struct(value))) FROM manifest;\n",
            quoted(&manifest)
        ))?;
        let line = text.lines().find_map(|line| line.strip_prefix(MARK)).unwrap_or_default();
        let row: serde_json::Value = serde_json::from_str(line.trim()).map_err(|_| spark::misunderstood(line))?;
        let manifest = serde_json::from_str(row["value"].as_str().unwrap_or_default())
            .map_err(|e| Error::new(format!("{manifest}: {e}")))?;
        let dataset = Dataset { location, manifest };
        dataset.check_files(spark)?;
        Ok(dataset)
    }

    /// A file that is missing would be missing in every sum, without a word.
    fn check_files(&self, spark: &Spark) -> Result<()> {
        // Of each file path and length alone; what is in it is not read.
        let text = spark.run(&format!(
            "CREATE TEMPORARY VIEW files USING binaryFile OPTIONS (path {}, recursiveFileLookup 'true', pathGlobFilter '*.parquet');\n\
             SELECT concat('{MARK} ', length, ' ', path) FROM files;\n",
            quoted(&self.location)
        ))?;
        let seen: Vec<(u64, &str)> = text
            .lines()
            .filter_map(|line| line.strip_prefix(MARK)?.trim().split_once(' '))
            .filter_map(|(bytes, path)| Some((bytes.parse().ok()?, path)))
            .collect();
        for file in &self.manifest.files {
            let found = seen.iter().find(|(_, path)| path.ends_with(&format!("/{}", file.path)));
            let Some((bytes, _)) = found else {
                return Err(Error::new(format!(
                    "{}/{}: not there, though the manifest names it",
                    self.location, file.path
                ))
                .remedy("copy the whole export again"));
            };
            check(&self.location, &file.path, file.bytes, *bytes)?;
        }
        Ok(())
    }

    /// Whether the dataset has rows of a table.
    pub fn has(&self, table: &str) -> bool {
        self.manifest.files.iter().any(|file| file.table == table)
    }

    /// A query for the work with valid times of all tables: process, device, start, end, and `more` of each table; `None`: there is none.
    pub fn work(&self, more: impl Fn(&TableSpec) -> &'static str) -> Option<String> {
        let of = |table: &TableSpec| {
            format!(
                "SELECT process, coalesce(device, 0) AS device, start_ns, end_ns, {}
    FROM `{}` WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL AND duration_ns IS NOT NULL",
                more(table),
                table.name
            )
        };
        let there: Vec<String> = WORK_TABLES.iter().copied().filter(|table| self.has(table.name)).map(of).collect();
        (!there.is_empty()).then(|| there.join("\n    UNION ALL "))
    }

    /// Statements that give the tables of the dataset their names.
    pub fn views(&self, tables: &[&str]) -> String {
        let mut sql = String::new();
        for table in tables.iter().filter(|table| self.has(table)) {
            let files = self.manifest.files.iter().filter(|file| file.table == **table);
            let in_folder = files.map(|file| file.path.contains('/')).next().unwrap_or(false);
            let ending = if in_folder { "" } else { ".parquet" };
            let path = format!("{}/{table}{ending}", self.location);
            // Folders `rank=3` say nothing that is not a column of the files, and would hide it.
            let _ = writeln!(
                sql,
                "CREATE TEMPORARY VIEW `{table}` USING parquet OPTIONS (path {}, recursiveFileLookup 'true');",
                quoted(&path)
            );
        }
        sql
    }

    /// The pid of a process.
    pub fn pid(&self, process: u32) -> Option<u32> {
        self.manifest.processes.get(process as usize)?.pid
    }

    /// The moment that listings count from: the earliest start of a trace.
    fn origin_ns(&self) -> i64 {
        self.manifest.processes.iter().filter_map(|process| process.origin_ns).min().unwrap_or(0)
    }

    /// A time of a process as listings have it: traces without an epoch keep their own zero.
    pub fn listed_ns(&self, process: u32, time_ns: i64) -> i128 {
        let has_epoch = self.manifest.processes.get(process as usize).is_some_and(|p| p.origin_ns.is_some());
        i128::from(time_ns) - if has_epoch { i128::from(self.origin_ns()) } else { 0 }
    }

    /// A query for the host of each process: columns `process` and `host`.
    pub fn hosts(&self) -> String {
        let row = |(process, of): (usize, &crate::exchange::folder::ManifestProcess)| {
            format!("({process}, {})", of.host.as_deref().map_or_else(|| "NULL".to_owned(), quoted))
        };
        let rows: Vec<String> = self.manifest.processes.iter().enumerate().map(row).collect();
        format!("SELECT process, CAST(host AS STRING) AS host FROM VALUES {} AS h(process, host)", rows.join(", "))
    }
}

fn check(location: &str, path: &str, said: Option<u64>, bytes: u64) -> Result<()> {
    match said {
        Some(said) if said != bytes => {
            Err(Error::new(format!("{location}/{path}: has {bytes} bytes, and had {said} when it was written"))
                .remedy("copy the whole export again"))
        }
        _ => Ok(()),
    }
}

/// A text as SQL has it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::folder::ManifestFile;

    fn dataset(paths: &[&str]) -> Dataset {
        let file = |path: &&str| ManifestFile {
            table: path.split(['/', '.']).next().unwrap().to_owned(),
            path: (*path).to_owned(),
            bytes: None,
        };
        let files = paths.iter().map(file).collect();
        let manifest = Manifest { gpuprof_export: 1, format: "parquet".to_owned(), processes: Vec::new(), files };
        Dataset { location: "s3a://bucket/o'run".to_owned(), manifest }
    }

    #[test]
    fn tables_are_files_or_folders_and_what_is_not_there_gets_no_name() {
        let sql = dataset(&["kernel/rank=0/process-0.parquet", "api.parquet"]).views(&["api", "kernel", "memcpy"]);
        assert_eq!(
            sql.lines().collect::<Vec<_>>(),
            [
                r"CREATE TEMPORARY VIEW `api` USING parquet OPTIONS (path 's3a://bucket/o\'run/api.parquet', recursiveFileLookup 'true');",
                r"CREATE TEMPORARY VIEW `kernel` USING parquet OPTIONS (path 's3a://bucket/o\'run/kernel', recursiveFileLookup 'true');",
            ]
        );
    }
}
