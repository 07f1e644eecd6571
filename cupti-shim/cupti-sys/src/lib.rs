//! CUPTI, as types and numbers: nothing is linked, nothing is called, nothing of CUDA is needed to build.
//!
//! - [`bindings`]: constants, the structs of callbacks, and the type of every function that may be looked up. Written
//!   by bindgen from NVIDIA's headers (`regenerate/`), names and types only. Enums are plain integers: a newer library
//!   may send any value.
//! - [`layouts`]: the records that CUPTI writes, as offsets and sizes, with the toolkit in which each field appeared,
//!   and the size of every record in every toolkit. Written by `scripts/gen_layouts.py`.
//!
//! Records are not structs here. Their layouts grow from release to release and one binary reads them all, so a
//! reader takes a field by its offset, and only if it ends inside the record that the running library wrote:
//! [`Field::fits`].

#![no_std]

#[allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals)]
#[allow(clippy::type_complexity)]
#[rustfmt::skip]
pub mod bindings;
#[rustfmt::skip]
pub mod layouts;

pub use bindings::*;
pub use layouts::{cbid, fields, kind_name, result_name};

/// Where a field of a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the start of the record.
    pub offset: u16,
    /// Bytes.
    pub size: u16,
    /// First toolkit that has it, as 100 * major + minor (11.8 is 1108). 1107 is the oldest that was looked at.
    pub since: u16,
    /// Last toolkit that has it here; 0 where the newest still does.
    pub until: u16,
}

impl Field {
    /// A field of a record.
    pub const fn new(offset: u16, size: u16, since: u16, until: u16) -> Field {
        Field { offset, size, since, until }
    }

    /// The first byte after the field.
    pub const fn end(self) -> usize {
        self.offset as usize + self.size as usize
    }

    /// Whether a record of `stride` bytes reaches that far. Fields are only ever appended, with two exceptions: NVLINK
    /// was laid out anew in 13.2, and a few fields fill what was padding, so that their `since` must be looked at too.
    pub const fn fits(self, stride: usize) -> bool {
        self.end() <= stride
    }
}

/// Sizes of records in one release of CUPTI.
#[derive(Clone, Copy, Debug)]
pub struct PackageStrides {
    /// Version of the package, such as `12.4.127`.
    pub package: &'static str,
    /// Toolkit, as 100 * major + minor.
    pub toolkit: u16,
    /// Whether no newer package of this toolkit is known.
    pub newest_of_toolkit: bool,
    /// What its `cuptiGetVersion` answers.
    pub api_version: u32,
    /// Bytes per record by kind; 0 where this release does not know the kind.
    pub strides: [u16; layouts::KINDS],
}

/// Sizes of records in the newest package of a toolkit (`"12.4"`), or in a package (`"13.2.23"`).
pub fn strides_of(version: &str) -> Option<&'static PackageStrides> {
    let (major, rest) = version.split_once('.')?;
    let package = layouts::STRIDES.iter().find(|p| p.package == version);
    let toolkit = || Some(100 * major.parse::<u16>().ok()? + rest.parse::<u16>().ok()?);
    package
        .or_else(|| toolkit().and_then(|t| layouts::STRIDES.iter().find(|p| p.toolkit == t && p.newest_of_toolkit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolkit_means_its_newest_package() {
        assert_eq!(strides_of("13.2").map(|p| p.package), Some("13.2.86"));
        assert_eq!(strides_of("13.2.23").map(|p| p.strides[59]), Some(152));
        assert_eq!(strides_of("11.8").map(|p| (p.api_version, p.strides[10])), Some((18, 200)));
        assert!(strides_of("14.0").is_none() && strides_of("").is_none() && strides_of("12").is_none());
    }

    #[test]
    fn every_field_ends_inside_the_record_of_each_toolkit_that_has_it() {
        let mut checked = 0;
        for package in layouts::STRIDES.iter().filter(|p| p.newest_of_toolkit) {
            for &(kind, name, field) in layouts::FIELDS {
                let stride = package.strides[kind as usize] as usize;
                let has = field.since <= package.toolkit && (field.until == 0 || package.toolkit <= field.until);
                if stride != 0 && has {
                    assert!(field.fits(stride), "{kind} {name} in {}", package.package);
                    checked += 1;
                }
            }
        }
        assert!(checked > 10_000, "{checked}");
    }

    #[test]
    fn records_are_aligned_and_never_shrink_but_for_nvlink() {
        for pair in layouts::STRIDES.windows(2) {
            for kind in 0..layouts::KINDS {
                let (older, newer) = (pair[0].strides[kind], pair[1].strides[kind]);
                assert_eq!(newer % 8, 0);
                assert!(
                    newer >= older || newer == 0 || kind == 40,
                    "kind {kind}: {} {}",
                    pair[0].package,
                    pair[1].package
                );
            }
        }
    }

    #[test]
    fn the_constants_of_the_headers_are_those_of_the_tables() {
        assert_eq!(kind_name(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), Some("CONCURRENT_KERNEL"));
        assert_eq!(fields::concurrent_kernel::KIND, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        assert_eq!(fields::graph_trace::KIND, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
        assert_eq!(
            result_name(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
            Some("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED")
        );
        assert_eq!(result_name(12345), None);
        assert_eq!(cbid::driver::PROFILER_START, 308);
        assert_eq!(size_of::<CUpti_CallbackData>(), 72);
        assert_eq!(core::mem::offset_of!(CUpti_CallbackData, correlationId), 64);
        assert_eq!(size_of::<CUpti_ResourceData>(), 24);
        assert_eq!(size_of::<CUpti_StateData>(), 16);
    }
}
