//! Clocks, temperature, power and fan of a device. `CUpti_ActivityEnvironment`: one record, several measurements.

use cupti_sys::fields::environment as f;
use cupti_sys::{
    CUPTI_ACTIVITY_ENVIRONMENT_COOLING, CUPTI_ACTIVITY_ENVIRONMENT_POWER, CUPTI_ACTIVITY_ENVIRONMENT_SPEED,
    CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE, Field,
};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::SampleRow;

use super::record::Record;
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind = Kind {
    id: f::KIND,
    start: f::TIMESTAMP,
    end: f::TIMESTAMP,
    correlation: NONE,
    names: &[],
    defines: false,
    decode,
};

/// The measurements of one kind of environment record, with the names that `sample.metric_id` gets. Units are CUPTI's.
fn metrics(kind: u32) -> &'static [(Field, &'static str)] {
    match kind {
        CUPTI_ACTIVITY_ENVIRONMENT_SPEED => &[
            (f::DATA_SPEED_SM_CLOCK, "sm_clock_mhz"),
            (f::DATA_SPEED_MEMORY_CLOCK, "memory_clock_mhz"),
            (f::DATA_SPEED_PCIE_LINK_GEN, "pcie_link_gen"),
            (f::DATA_SPEED_PCIE_LINK_WIDTH, "pcie_link_width_lanes"),
            (f::DATA_SPEED_CLOCKS_THROTTLE_REASONS, "clocks_throttle_reasons_mask"),
        ],
        CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE => {
            &[(f::DATA_TEMPERATURE_GPU_TEMPERATURE, "gpu_temperature_celsius")]
        }
        CUPTI_ACTIVITY_ENVIRONMENT_POWER => {
            &[(f::DATA_POWER_POWER, "power_mw"), (f::DATA_POWER_POWER_LIMIT, "power_limit_mw")]
        }
        CUPTI_ACTIVITY_ENVIRONMENT_COOLING => &[(f::DATA_COOLING_FAN_SPEED, "fan_speed_percent")],
        _ => &[],
    }
}

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    for &(field, metric) in metrics(record.u32(f::ENVIRONMENT_KIND)) {
        out.tables.sample.push(SampleRow {
            start_ns: facts.start_ns,
            metric_id: out.own.text(metric),
            device: record.try_u32(f::DEVICE_ID),
            value: f64::from(record.u32(field)),
            of_pid: None,
        });
    }
}
