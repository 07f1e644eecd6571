//! What pages call kernels where there is little room, and which colours they must not share.

use super::*;

#[test]
fn kernels_have_a_short_name_that_begins_with_what_tells_them_apart() {
    let folder = TempFolder::new("timeline-names");
    let long = |functor: &str| {
        format!(
            "void at::native::elementwise_kernel<(int)128, at::native::{functor}<float>>(int, at::native::{functor}<float>)"
        )
    };
    let story = Story::empty()
        .with_kernel(Name::plain(long("Add")), 1_000, 10)
        .with_kernel(Name::plain(long("Mul")), 2_000, 10)
        .with_kernel(Name::plain("plain"), 3_000, 10);
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &story)]);
    let shorts = page.meta["shorts"].as_object().unwrap();
    let shorts: BTreeMap<&str, &str> =
        shorts.iter().map(|(id, short)| (page.name(id.parse().unwrap()), short.as_str().unwrap())).collect();
    let expected = [
        (long("Add"), "elementwise_kernel<128, Add<float>>"),
        (long("Mul"), "elementwise_kernel<128, Mul<float>>"),
    ];
    let expected: BTreeMap<&str, &str> = expected.iter().map(|(name, short)| (name.as_str(), *short)).collect();
    assert_eq!(shorts, expected);
}

#[test]
fn the_longest_kernels_are_named_so_that_each_gets_a_colour_of_its_own() {
    let folder = TempFolder::new("timeline-longest");
    let mut story = Story::empty();
    // Many short ones together take longest; of the others each next one is shorter.
    for i in 0..100 {
        story = story.with_kernel(Name::plain("many"), 1_000 * i, 900);
    }
    for i in 0..30 {
        story = story.with_kernel(Name::plain(format!("k{i}")), 1_000_000 + 100_000 * i, 50_000 - 100 * i);
    }
    let (_, page) = page_of(&[&native(&folder, "a.gpuprof", &story)]);
    let names: Vec<&str> =
        page.meta["longest_kernels"].as_array().unwrap().iter().map(|id| page.name(u(id))).collect();
    let expected = ["many", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"];
    assert_eq!(names, expected);
}
