//! `gpuprof doctor`: can programs be recorded here, and if not, what is to be done.
//!
//! [`examine`] gathers facts and judges them. Whatever runs code of the vendor runs in a child ([`child`],
//! [`probe`]), for these libraries crash on the very machines that people ask about. Judging is pure: each module's
//! `judge` turns facts into [`Finding`]s, over a [`World`] that tests invent.
//!
//! The order of findings is that in which things can fail: driver, GPUs, CUPTI, what the platform allows, other
//! tools, our own library, the disk.

pub mod child;
pub mod collector;
pub mod cupti;
pub mod disk;
pub mod driver;
pub mod finding;
#[cfg(test)]
mod fixtures;
pub mod others;
pub mod permissions;
pub mod probe;
pub mod program;
pub mod sys;
pub mod world;

use finding::{Finding, Level};
use probe::Driver;
use program::Program;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;
pub use world::World;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program that is to be recorded, as it would be typed.
    pub program: Option<OsString>,
    /// The folder that traces are to go to.
    pub output: Option<PathBuf>,
    /// Our own library, or why the launcher cannot find it.
    pub collector: Result<PathBuf, String>,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether a CUDA program that is started here with `gpuprof record` can be recorded.
    pub can_record: bool,
    /// The program that was assumed or named; for a script its interpreter.
    pub program: Option<PathBuf>,
    /// What the driver says; null if asking it failed.
    pub driver: Option<Driver>,
    /// Every libcupti that was found, in the order in which they are tried.
    pub cupti: Vec<cupti::Tried>,
    /// Our own library.
    pub collector: Option<PathBuf>,
    /// What was found, in words.
    pub findings: Vec<Finding>,
}

/// Looks at everything.
///
/// # Errors
/// Fails if the program that was named does not exist.
pub fn examine(world: &World, request: &Request) -> Result<Report, String> {
    let program = match &request.program {
        Some(name) => Some(Program::named(world, name)?),
        None => Program::assumed(world),
    };
    let asked = child::ask::<Driver>(world, &[OsStr::new("--probe-driver")]);
    let mut findings = driver::judge(world, &asked);
    if let Some(program) = program.as_ref().filter(|program| !program.is_assumed) {
        findings.extend(program::judge(program));
    }
    let driver = asked.ok();
    if let Some(driver) = &driver
        && world.var("CUDA_VISIBLE_DEVICES").is_some()
    {
        let mut unhidden = world.clone();
        unhidden.env.remove(OsStr::new("CUDA_VISIBLE_DEVICES"));
        let all = child::ask::<Driver>(&unhidden, &[OsStr::new("--probe-driver")]).ok().map(|d| d.gpus.len());
        findings.extend(driver::visible(world, driver, all));
    }
    let present = driver.as_ref().filter(|driver| driver.load_error.is_none());
    let facts = program::facts(world, program.as_ref(), present.and_then(|driver| driver.version));
    let tried = cupti::try_all(world, &facts, present);
    findings.extend(cupti::judge(&tried, program.as_ref(), present));
    findings.extend(permissions::judge(world, tried.iter().any(|tried| tried.on_virtual_gpu)));
    let own = request.collector.as_ref().ok();
    findings.extend(others::judge(world, own.map(PathBuf::as_path)));
    let loaded = own.map(|path| collector::try_it(world, path));
    findings.extend(collector::judge(&request.collector, loaded.as_ref()));
    findings.extend(disk::judge(world, request.output.as_deref()));
    Ok(Report {
        can_record: findings.iter().all(|finding| finding.level != Level::Problem),
        program: program.map(|program| program.argv0.into()),
        driver: present.cloned(),
        cupti: tried,
        collector: own.cloned(),
        findings,
    })
}

impl Report {
    /// How many findings prevent recording.
    pub fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.level == Level::Problem).count()
    }

    /// The answer in one line.
    pub fn verdict(&self) -> String {
        match self.problems() {
            0 => "CUDA programs can be recorded here: gpuprof record -- PROGRAM".to_owned(),
            1 => "nothing can be recorded here: 1 problem".to_owned(),
            n => format!("nothing can be recorded here: {n} problems"),
        }
    }

    /// Writes the findings for people.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.findings.iter().try_for_each(|finding| finding.write(out))
    }
}
