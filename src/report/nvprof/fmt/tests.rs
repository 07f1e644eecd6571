//! Vectors of real nvprof output, and the ties that only the golden files settle.

use super::*;

fn in_unit(ns: u64, unit: TimeUnit) -> String {
    let mut out = String::new();
    push_in_unit(&mut out, ns as f64, unit.fixed().unwrap(), 8);
    out
}

fn csv(value: f64, unit: &Unit) -> String {
    let mut out = String::new();
    push_csv(&mut out, value, unit);
    out
}

#[test]
fn times_fill_eight_characters() {
    for (ns, expected) in [
        (0, "0ns"),
        (47, "47ns"),
        (305, "305ns"),
        (603, "603ns"),
        (704, "704ns"),
        (999, "999ns"),
        (1_000, "1.0000us"),
        (1_696, "1.6960us"),
        (2_209, "2.2090us"),
        (9_088, "9.0880us"),
        (47_847, "47.847us"),
        (88_886, "88.886us"),
        (371_036, "371.04us"),
        (1_036_800, "1.0368ms"),
        (681_920_000, "681.92ms"),
        (800_320_000, "800.32ms"),
        (1_256_670_000, "1.25667s"),
        (8_569_440_000, "8.56944s"),
        (17_881_700_000, "17.8817s"),
        (86_676_800_000, "86.6768s"),
        (2_400_760_000_000_u64, "2.4e+03s"),
    ] {
        assert_eq!(time(ns as f64, 8), expected);
    }
}

#[test]
fn times_fill_ten_characters_in_the_unified_memory_table() {
    for (ns, expected) in [
        (8_288, "8.288000us"),
        (699_179, "699.1790us"),
        (726_048, "726.0480us"),
        (1_635_900, "1.635900ms"),
        (12_247_350, "12.24735ms"),
    ] {
        assert_eq!(time(f64::from(ns), 10), expected);
    }
}

#[test]
fn sizes_divide_by_1024_and_switch_at_1000() {
    for (bytes, width, expected) in [
        (0, 8, "0B"),
        (1, 8, "1B"),
        (19, 8, "19B"),
        (999, 8, "999B"),
        (1_142, 8, "1.1152KB"),
        (2_048, 8, "2.0000KB"),
        (4_096, 8, "4.0000KB"),
        (262_144, 8, "256.00KB"),
        (634_880, 8, "620.00KB"),
        (1_015_808, 8, "992.00KB"),
        (1_040_384, 8, "0.9922MB"),
        (1_044_480, 8, "0.9961MB"),
        (1 << 20, 8, "1.0000MB"),
        (80_000_000, 8, "76.294MB"),
        (1 << 28, 8, "256.00MB"),
        (65_536, 10, "64.00000KB"),
        (524_288, 10, "512.0000KB"),
        (3_342_336, 10, "3.187500MB"),
        (8_400_896, 10, "8.011719MB"),
        (16 << 20, 10, "16.00000MB"),
        (41_024, 8, "40.063KB"),
        (156_800, 8, "153.13KB"),
    ] {
        assert_eq!(size(f64::from(bytes), width), expected);
    }
}

#[test]
fn throughputs_scale_as_sizes() {
    for (bytes, ns, expected) in [
        (1, 1_280, "762.94KB/s"),
        (8, 896, "8.5149MB/s"),
        (2_048, 1_760, "1.0837GB/s"),
        (4_096, 1_184, "3.2219GB/s"),
        (8_192, 1_568, "4.8657GB/s"),
        (65_536, 7_200, "8.4771GB/s"),
        (262_144, 23_233, "10.508GB/s"),
        (262_144, 26_016, "9.3842GB/s"),
        (1_048_576, 87_011, "11.223GB/s"),
        (3_200, 3_008, "0.9908GB/s"),
        (12_845_056, 768, "2e+04GB/s"),
    ] {
        assert_eq!(throughput(bytes, ns, 10).as_deref(), Some(expected));
    }
    assert_eq!(throughput(8, 0, 10), None);
}

#[test]
fn a_forced_unit_leaves_the_cell_to_the_number() {
    for (ns, unit, expected) in [
        (651_485, TimeUnit::Ms, "0.651485"),
        (81_435, TimeUnit::Ms, "0.081435"),
        (11_391, TimeUnit::Ms, "0.011391"),
        (5_126_412, TimeUnit::Ms, "5.126412"),
        (35_194_170, TimeUnit::Ms, "35.19417"),
        (246_359_200, TimeUnit::Ms, "246.3592"),
        (2_683_068_000, TimeUnit::Ms, "2.68e+03"),
        (2_050, TimeUnit::Ms, "2.05e-03"),
        (9_999, TimeUnit::Ms, "1.00e-02"),
        (0, TimeUnit::Ms, "0.000000"),
        (896, TimeUnit::Ns, "896"),
        (1_056, TimeUnit::Ns, "1.06e+03"),
    ] {
        assert_eq!(in_unit(ns, unit), expected);
    }
}

#[test]
fn ties_round_as_nvprof_rounds_them() {
    for (ns, unit, expected) in [
        (2_765, TimeUnit::Ns, "2.76e+03"),
        (3_105, TimeUnit::Ns, "3.11e+03"),
        (1_025, TimeUnit::Ns, "1.02e+03"),
        (9_515, TimeUnit::Ms, "9.51e-03"),
        (9_515, TimeUnit::S, "9.52e-06"),
        (8_165, TimeUnit::Ms, "8.16e-03"),
        (8_165, TimeUnit::Ns, "8.17e+03"),
        (26_993_025, TimeUnit::Ms, "26.99303"),
    ] {
        assert_eq!(in_unit(ns, unit), expected);
    }
    assert_eq!(time(145_265.0, 8), "145.27us");
    assert_eq!(time(704_045.0, 8), "704.05us");
}

#[test]
fn rounding_up_never_widens_a_cell() {
    assert_eq!(time(999_996.0, 8), "1000.0us");
    assert_eq!(time(9_999_960.0, 8), "10.000ms");
    assert_eq!(in_unit(99_999, TimeUnit::Ns), "1.00e+05");
}

#[test]
fn csv_is_printf() {
    assert_eq!(csv(50_617.0, &TIME[1]), "50.617000");
    assert_eq!(csv(896.0, &TIME[0]), "896");
    assert_eq!(csv(13_440.0, &TIME[0]), "13440.000000");
    assert_eq!(csv(8.0, &SIZE[1]), "0.007812");
    assert_eq!(csv(1_028.0, &SIZE[1]), "1.003906");
    assert_eq!(csv(rate(1_028, 1_888).unwrap(), &RATE[3]), "0.507097");
    assert_eq!(csv(0.0, &SIZE[0]), "0");
}

#[test]
fn quotes_in_csv_text_are_doubled() {
    let mut out = String::new();
    push_quoted(&mut out, r#"operator""_x"#);
    assert_eq!(out, r#""operator""""_x""#);
}

#[test]
fn percent_of_nothing_is_zero() {
    assert_eq!(percent(0, 0), "0.00");
    assert_eq!(percent(7, 7), "100.00");
    assert_eq!(percent(28_851, 41_138), "70.13");
}
