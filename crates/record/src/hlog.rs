//! The HdrHistogram log: what HdrHistogram's own log processors, plotters and viewers read.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::{HistogramError, Measure, Tally, Timestamp};

/// Why a log was not written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file takes no more.
    #[error("cannot write the histogram log: {0}")]
    Write(#[from] io::Error),
    /// A histogram that the format cannot hold.
    #[error("cannot write the histogram log: {0}")]
    Histogram(#[from] HistogramError),
    /// The format's own rules.
    #[error("cannot write the histogram log: {0}")]
    Format(String),
}

/// Writes one line for each bin and measure that has values, tagged with the measure's name. The
/// maximum that a line says is in milliseconds; the histogram in it counts nanoseconds.
pub fn write(tally: &Tally, started: Timestamp, out: &mut impl Write) -> Result<(), LogError> {
    let format = |error: &dyn std::fmt::Debug| LogError::Format(format!("{error:?}"));
    // A log begins in 1970 at the earliest.
    let started = u64::try_from(started.unix_ns()).unwrap_or(0);
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("uaperf: nanoseconds")
        .with_base_time(SystemTime::UNIX_EPOCH + Duration::from_nanos(started))
        .with_start_time(SystemTime::UNIX_EPOCH + Duration::from_nanos(started))
        .with_max_value_divisor(1e6)
        .begin_log_with(out, &mut serializer)?;
    for (at, bin) in tally.bins().iter().enumerate() {
        let start = Duration::from_nanos(at as u64 * tally.width_ns());
        for measure in Measure::ALL {
            let histogram = bin.histogram(measure);
            if histogram.is_empty() {
                continue;
            }
            log.write_histogram(
                &histogram.to_hdr()?,
                start,
                Duration::from_nanos(tally.width_ns()),
                Tag::new(measure.name()),
            )
            .map_err(|error| format(&error))?;
        }
    }
    Ok(())
}
