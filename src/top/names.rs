//! Names of one recording: kernels by what they are called, calls by whether they launch something.

use crate::cupti;
use crate::demangle::readable;
use crate::demangle::{self, Demangling};
use hashbrown::HashMap;
use std::cell::OnceCell;
use trace_format::columns::Batch;
use trace_format::tables::column::{shape, string};

/// Group of kernels whose shape or name is not known (yet).
pub const UNNAMED: u32 = 0;

/// A kernel as people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Demangled, with template arguments and parameters.
    pub full: String,
    /// Without namespaces, template arguments and parameters.
    pub base: String,
    /// Without namespaces and parameters, template arguments shortened.
    pub brief: String,
}

impl Label {
    /// A name that has no parts.
    pub fn plain(name: &str) -> Label {
        Label { full: name.to_owned(), base: name.to_owned(), brief: name.to_owned() }
    }
}

/// Kernels of one name, however many ids and launch shapes it has.
struct Group {
    name: Box<[u8]>,
    label: OnceCell<Label>,
}

/// What the defining tables of one recording say. They are bounded by the collector, which writes 16 MiB of names.
pub struct Names {
    strings: HashMap<u32, Box<[u8]>>,
    groups: Vec<Group>,
    group_of_name: HashMap<Box<[u8]>, u32>,
    group_of_shape: HashMap<u32, u32, foldhash::fast::FixedState>,
    launches: HashMap<u32, bool, foldhash::fast::FixedState>,
}

impl Default for Names {
    fn default() -> Self {
        let unnamed = Group { name: Box::default(), label: OnceCell::new() };
        Names {
            strings: HashMap::new(),
            groups: vec![unnamed],
            group_of_name: HashMap::new(),
            group_of_shape: HashMap::default(),
            launches: HashMap::default(),
        }
    }
}

impl Names {
    /// Takes rows of table `string`.
    pub fn strings(&mut self, batch: &Batch) {
        let Some(bytes) = batch.bytes(string::BYTES) else { return };
        let ids = batch.get(string::ID).values();
        for (i, &id) in ids.iter().enumerate() {
            self.strings.insert(id, bytes.get(i).into());
            // Whether it launches something was answered without its name.
            self.launches.remove(&id);
        }
    }

    /// Takes rows of table `shape`.
    pub fn shapes(&mut self, batch: &Batch) {
        let (ids, names) = (batch.get(shape::ID).values(), batch.get(shape::NAME_ID).values());
        for (&id, name) in ids.iter().zip(names) {
            let Some(name) = self.strings.get(name) else { continue };
            let next = self.groups.len() as u32;
            let group = match self.group_of_name.get(name) {
                Some(group) => *group,
                None => {
                    self.group_of_name.insert(name.clone(), next);
                    self.groups.push(Group { name: name.clone(), label: OnceCell::new() });
                    next
                }
            };
            self.group_of_shape.insert(id, group);
        }
    }

    /// The group of kernels launched with this shape.
    pub fn group(&self, shape: u32) -> u32 {
        self.group_of_shape.get(&shape).copied().unwrap_or(UNNAMED)
    }

    /// What a group of kernels is called; demangled the first time it is asked for.
    pub fn label(&self, group: u32) -> &Label {
        let group = self.groups.get(group as usize).unwrap_or(&self.groups[UNNAMED as usize]);
        group.label.get_or_init(|| {
            if group.name.is_empty() {
                return Label::plain("(no name)");
            }
            let full = demangle::demangle(&group.name, Demangling::On);
            let base = demangle::base_name(&full).to_owned();
            let brief = demangle::short_name(&full).into_owned();
            Label { full, base, brief }
        })
    }

    /// A string of the recording as text.
    pub fn text(&self, id: u32) -> Option<String> {
        self.strings.get(&id).map(|bytes| readable(bytes).into_owned())
    }

    /// Whether the call of this name launches GPU work.
    pub fn launches(&mut self, name: u32) -> bool {
        let strings = &self.strings;
        *self.launches.entry(name).or_insert_with(|| {
            strings.get(&name).and_then(|bytes| std::str::from_utf8(bytes).ok()).is_some_and(is_launch)
        })
    }
}

/// Whether a call, by its name with or without version, launches kernels.
fn is_launch(name: &str) -> bool {
    let name = cupti::strip_version(name);
    let of_kernels = name.starts_with("cudaLaunch") || name.starts_with("cuLaunch");
    (of_kernels && !name.ends_with("HostFunc")) || matches!(name, "cudaGraphLaunch" | "cuGraphLaunch")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::schema::RowBuilder as _;
    use trace_format::tables::{ShapeRow, StringRow, shape::ShapeBuilder, string::StringBuilder};

    #[test]
    fn launches_are_told_from_other_calls() {
        for name in [
            "cudaLaunchKernel_v7000",
            "cudaLaunchKernelExC_v11060",
            "cudaLaunchCooperativeKernel_ptsz_v9000",
            "cuLaunchKernel",
            "cuLaunchKernelEx_ptsz",
            "cudaGraphLaunch_v10000",
            "cuGraphLaunch",
        ] {
            assert!(is_launch(name), "{name}");
        }
        for name in ["cudaLaunchHostFunc_v10000", "cuLaunchHostFunc", "cudaMemcpy_v3020", "cuGraphUpload", ""] {
            assert!(!is_launch(name), "{name}");
        }
    }

    #[test]
    fn shapes_of_one_name_are_one_kernel_though_the_name_has_two_ids() {
        let (mut strings, mut shapes) = (StringBuilder::default(), ShapeBuilder::default());
        for (id, name) in [(1, "_Z4axpyfPf"), (2, "_Z4axpyfPf"), (3, "_ZN2at4copyIiEEvPf")] {
            strings.push(StringRow { id, bytes: name.into() });
            shapes.push(ShapeRow { id: 10 + id, name_id: id, ..ShapeRow::default() });
        }
        let mut names = Names::default();
        names.strings(&strings.take());
        names.shapes(&shapes.take());
        assert_eq!(names.group(11), names.group(12));
        assert_ne!(names.group(11), names.group(13));
        assert_eq!(names.label(names.group(13)).base, "copy");
        assert_eq!(names.label(names.group(13)).brief, "copy<int>");
        assert!(names.label(names.group(11)).full.starts_with("axpy(float"));
        assert_eq!(names.label(names.group(99)).brief, "(no name)");
    }
}
