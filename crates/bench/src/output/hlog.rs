//! A report's times as a log of `HdrHistogram`, which the tools of that project plot and compare.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use super::texts::{interrupted, marks, title};
use crate::report::whole::Report;

/// Divisor of the maxima in the log: times are in nanoseconds, and shown in milliseconds.
const NS_PER_MS: f64 = 1e6;

/// Returns the times of right answers: from when requests were due in an open loop, else from when they were sent. If
/// the times must not be used, the reasons stand above the times, as comments.
///
/// # Errors
///
/// None that is known: the log is written to memory.
pub fn hlog(report: &Report) -> io::Result<String> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let length = Duration::from_secs_f64(report.seconds);
    let [what, place] = title(report);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("adyton bench {}: {what} {place}", report.version))
        .with_start_time(SystemTime::now() - length)
        .with_max_value_divisor(NS_PER_MS);
    if let Some(why) = interrupted(report) {
        builder.add_comment(&format!("[{why}]"));
    }
    for reason in &report.invalid {
        builder.add_comment(&format!("[INVALID: {}]", reason.why));
    }
    for (word, why) in marks(report) {
        builder.add_comment(&format!("[{word}: {why}]"));
    }
    let mut writer = builder.begin_log_with(&mut out, &mut serializer)?;
    let written = writer.write_histogram(report.times.histogram(), Duration::ZERO, length, None);
    written.map_err(|error| io::Error::other(format!("{error:?}")))?;
    String::from_utf8(out).map_err(io::Error::other)
}
