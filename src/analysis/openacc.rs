//! OpenACC regions: how much of each is its own time.

use super::activity::OpenaccRegion;

/// The time of each region without the regions nested in it on the same thread, in the order of `regions`. `None`
/// where a region has no valid times. This is what nvprof calls exclusive.
///
/// One sweep per thread with a stack of open regions. Only the direct children of a region shorten it; a child that
/// outlasts its parent (it should not) shortens it by the common part, so no time is ever counted twice.
pub fn exclusive_ns(regions: &[OpenaccRegion]) -> Vec<Option<i64>> {
    let mut own: Vec<Option<i64>> = regions.iter().map(|r| r.duration_ns).collect();
    let mut order: Vec<usize> = (0..regions.len()).filter(|&i| own[i].is_some()).collect();
    let end = |i: usize| regions[i].start_ns.saturating_add(regions[i].duration_ns.unwrap_or(0));
    // Of two that start together the longer one is outside.
    order.sort_by_key(|&i| {
        let r = &regions[i];
        (r.process, r.tid, r.start_ns, std::cmp::Reverse(end(i)))
    });
    let mut open: Vec<usize> = Vec::new();
    for i in order {
        let region = &regions[i];
        while let Some(&parent) = open.last() {
            let other = (regions[parent].process, regions[parent].tid) != (region.process, region.tid);
            if !other && end(parent) > region.start_ns {
                break;
            }
            open.pop();
        }
        if let Some(&parent) = open.last() {
            // Saturating, because starts may be impossible where durations are not.
            let nested = end(i).min(end(parent)).saturating_sub(region.start_ns);
            own[parent] = own[parent].map(|ns| ns.saturating_sub(nested));
        }
        open.push(i);
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(tid: u32, start_ns: i64, duration_ns: Option<i64>) -> OpenaccRegion {
        OpenaccRegion {
            start_ns,
            duration_ns,
            process: 0,
            tid,
            kind: 11,
            line: None,
            file: 0,
            variable: 0,
            bytes: None,
            place: None,
        }
    }

    #[test]
    fn only_direct_children_shorten_a_region() {
        let regions = [
            region(1, 0, Some(100)),
            region(1, 10, Some(50)),
            region(1, 20, Some(5)),
            region(1, 60, Some(40)),
            region(1, 100, Some(7)),
        ];
        assert_eq!(exclusive_ns(&regions), [Some(10), Some(45), Some(5), Some(40), Some(7)]);
    }

    #[test]
    fn other_threads_and_moments_take_nothing() {
        let regions = [region(1, 0, Some(100)), region(2, 10, Some(50)), region(1, 30, Some(0))];
        assert_eq!(exclusive_ns(&regions), [Some(100), Some(50), Some(0)]);
    }

    #[test]
    fn order_of_records_does_not_matter() {
        let regions = [region(1, 20, Some(5)), region(1, 0, Some(100)), region(1, 0, Some(30))];
        assert_eq!(exclusive_ns(&regions), [Some(5), Some(70), Some(25)]);
    }

    #[test]
    fn a_child_that_outlasts_its_parent_takes_the_common_part() {
        let regions = [region(1, 0, Some(10)), region(1, 5, Some(10))];
        assert_eq!(exclusive_ns(&regions), [Some(5), Some(10)]);
    }

    #[test]
    fn regions_without_times_stay_out() {
        let regions = [region(1, 0, Some(10)), region(1, 2, None)];
        assert_eq!(exclusive_ns(&regions), [Some(10), None]);
    }
}
