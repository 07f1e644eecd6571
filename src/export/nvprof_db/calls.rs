//! Calls of the CUDA API. nvprof stores their numbers in CUPTI's lists, not their names.

use super::{Writer, about, correlation, schema, thread};
use crate::cupti::{self, cbid};
use crate::error::Result;
use crate::export::database::Rows;
use hashbrown::HashMap;
use trace_format::tables::ApiRow;
use trace_format::vocabulary::api_domain;

const COLUMNS: &[&str] = &["cbid", "start", "end", "processId", "threadId", "correlationId", "returnValue"];

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    let mut runtime = Rows::of_existing(writer.database, &schema::RUNTIME, COLUMNS);
    let mut driver = Rows::of_existing(writer.database, &schema::DRIVER, COLUMNS);
    let numbers = Numbers::new();
    let mut known: HashMap<(u32, u32, u32), (u32, u32)> = HashMap::new();
    writer.each(|writer, call: ApiRow| {
        let (domain, number) = *known
            .entry((call.domain, call.cbid, call.name_id))
            .or_insert_with(|| numbers.find(call.domain, call.cbid, &writer.strings.text_of(call.name_id)));
        let (start, end) = writer.span_of(call.start_ns, call.duration_ns);
        let rows = if domain == api_domain::DRIVER { &mut driver } else { &mut runtime };
        rows.add([
            number.into(),
            start.into(),
            end.into(),
            writer.pid.into(),
            thread(call.tid).into(),
            correlation(call.correlation).into(),
            call.result.into(),
        ])
    })?;
    let mut names: Vec<((u32, u32), u32)> = known.iter().map(|(&(_, _, name), &number)| (number, name)).collect();
    // Of several names for one number the first, whatever the order of the calls was.
    names.sort_by_key(|&(number, name)| (number, writer.strings.text_of(name).into_owned()));
    let texts: Vec<_> = names.iter().map(|&(number, name)| (number, writer.strings.text_of(name))).collect();
    about::write_calls(writer, texts.iter().map(|(number, name)| (*number, name.as_ref())))
}

/// CUPTI's lists the other way round.
struct Numbers {
    exact: HashMap<&'static str, (u32, u32)>,
    /// Without versions, as Kineto has them: the newest of several, and no variant if there is another.
    stripped: HashMap<&'static str, (u32, u32)>,
}

impl Numbers {
    fn new() -> Numbers {
        let (mut exact, mut stripped) = (HashMap::new(), HashMap::new());
        for &(number, name) in cbid::RUNTIME_BEFORE_13 {
            exact.insert(name, (api_domain::RUNTIME, number));
            stripped.entry(cupti::strip_version(name)).or_insert((api_domain::RUNTIME, number));
        }
        for (domain, names) in [(api_domain::RUNTIME, cbid::RUNTIME), (api_domain::DRIVER, cbid::DRIVER)] {
            for (&name, number) in names.iter().zip(0u32..).filter(|(name, _)| !name.is_empty()) {
                exact.insert(name, (domain, number));
                let stem = cupti::strip_version(name);
                if name.contains("_ptsz") || name.contains("_ptds") {
                    stripped.entry(stem).or_insert((domain, number));
                } else {
                    stripped.insert(stem, (domain, number));
                }
            }
        }
        Numbers { exact, stripped }
    }

    /// Domain and number of a call; number 0, CUPTI's "invalid", if there is none.
    fn find(&self, domain: u32, number: u32, name: &str) -> (u32, u32) {
        let stem = cupti::strip_version(name);
        let listed = [cupti::api_name(domain, number), cupti::api_name_before_13(domain, number)];
        let is_listed = || listed.into_iter().flatten().any(|listed| cupti::strip_version(listed) == stem);
        if number != 0 && (name.is_empty() || is_listed()) {
            return (domain, number);
        }
        let by_name = self.exact.get(name).or_else(|| self.stripped.get(stem));
        by_name.copied().unwrap_or((domain, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_numbers_however_they_are_written() {
        let numbers = Numbers::new();
        for (domain, number, name, want) in [
            (0, 0, "cudaLaunchKernel_v7000", (0, 211)),
            (0, 0, "cudaLaunchKernel", (0, 211)),
            (0, 0, "cudaMemcpy", (0, 31)),
            (1, 0, "cuMemAlloc_v2", (1, 243)),
            // The list has this name too, from before CUDA 3.2.
            (1, 0, "cuMemAlloc", (1, 29)),
            // A name from before CUDA 13.0.
            (0, 440, "cudaGetDeviceProperties_v2_v12000", (0, 440)),
            (0, 0, "cudaGetDeviceProperties_v2", (0, 440)),
            (0, 211, "", (0, 211)),
            (0, 211, "cudaLaunchKernel", (0, 211)),
            // Numbers of another list.
            (0, 211, "hipLaunchKernel", (0, 0)),
            (0, 7, "cudaLaunchKernel", (0, 211)),
            (0, 0, "", (0, 0)),
            (1, 9_999, "", (1, 9_999)),
        ] {
            assert_eq!(numbers.find(domain, number, name), want, "{domain} {number} {name}");
        }
    }

    #[test]
    fn every_number_is_found_by_its_own_name() {
        let numbers = Numbers::new();
        for (domain, names) in [(api_domain::RUNTIME, cbid::RUNTIME), (api_domain::DRIVER, cbid::DRIVER)] {
            for (name, number) in names.iter().zip(0u32..).filter(|(name, _)| !name.is_empty()) {
                let (found_domain, found) = numbers.find(domain, 0, name);
                assert_eq!(cupti::api_name(found_domain, found), Some(*name));
                assert_eq!((numbers.find(domain, number, name)), (domain, number));
            }
        }
    }
}
