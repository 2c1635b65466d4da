//! The text form that other tools read: HdrHistogram V2, deflated, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use super::buckets::{lowest, slot};
use super::{Histogram, Writer};

/// Why a histogram cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The text is not base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not an HdrHistogram, or cannot be one.
    #[error("not an HdrHistogram in V2 format: {0}")]
    Format(String),
    /// The text holds another number of values than the field beside it says.
    #[error("histogram holds {found} values, but its count says {said}")]
    Count {
        /// Counts added up.
        found: u64,
        /// What the field says.
        said: u64,
    },
}

impl HistogramError {
    fn format(error: impl std::fmt::Display) -> Self {
        Self::Format(error.to_string())
    }
}

impl Histogram {
    /// The same in the `hdrhistogram` crate, for its iterators and writers.
    pub fn to_hdr(&self) -> Result<hdrhistogram::Histogram<u64>, HistogramError> {
        let high = self.max().unwrap_or(0).clamp(2, u64::MAX / 2);
        let mut hdr =
            hdrhistogram::Histogram::new_with_bounds(1, high, 3).map_err(HistogramError::format)?;
        for (value, count) in self.values() {
            hdr.record_n(value, count).map_err(HistogramError::format)?;
        }
        // A slot's smallest value would hide how far the largest reached.
        Ok(hdr)
    }

    /// HdrHistogram V2, deflated, in base64.
    pub fn to_base64(&self) -> Result<String, HistogramError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.to_hdr()?, &mut bytes)
            .map_err(HistogramError::format)?;
        Ok(STANDARD.encode(bytes))
    }

    /// Reads what [`to_base64`](Self::to_base64) or another tool wrote. The text knows values to
    /// three digits only; so do smallest, largest and mean then.
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        let hdr: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(HistogramError::format)?;
        let mut writer = Writer::default();
        let mut count = 0;
        let mut sum = 0;
        // Another tool may have used other slots: several of its slots can fall into one of ours.
        let mut pending: Option<(usize, u64)> = None;
        for step in hdr.iter_recorded() {
            let value = hdr.median_equivalent(step.value_iterated_to());
            let here = slot(value);
            count += step.count_at_value();
            sum += u128::from(value) * u128::from(step.count_at_value());
            match &mut pending {
                Some((slot, n)) if *slot == here => *n += step.count_at_value(),
                _ => {
                    if let Some((slot, n)) = pending.replace((here, step.count_at_value())) {
                        writer.push(slot, n);
                    }
                }
            }
        }
        if let Some((slot, n)) = pending {
            writer.push(slot, n);
        }
        if count == 0 {
            return Ok(Self::default());
        }
        let min = lowest(slot(hdr.min()));
        Ok(writer.finish(count, sum, min, hdr.max()))
    }
}

/// A histogram in a result file.
#[derive(Serialize, Deserialize)]
struct Stored {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deviation_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p50_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p90_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p99_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p99_9_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hdr: Option<String>,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hdr = (!self.is_empty())
            .then(|| self.to_base64().map_err(serde::ser::Error::custom))
            .transpose()?;
        Stored {
            count: self.count(),
            min_ns: self.min(),
            max_ns: self.max(),
            mean_ns: self.mean(),
            deviation_ns: self.deviation(),
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            p99_9_ns: self.quantile(0.999),
            hdr,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let stored = Stored::deserialize(deserializer)?;
        let mut histogram = match &stored.hdr {
            Some(text) => Self::from_base64(text).map_err(Error::custom)?,
            None => Self::default(),
        };
        if histogram.count != stored.count {
            return Err(Error::custom(HistogramError::Count {
                found: histogram.count,
                said: stored.count,
            }));
        }
        // The text rounds these; the fields beside it do not.
        if let (Some(min), Some(max), Some(mean)) = (stored.min_ns, stored.max_ns, stored.mean_ns) {
            histogram.min = min;
            histogram.max = max.max(min);
            histogram.sum = (mean * histogram.count as f64).round() as u128;
        }
        Ok(histogram)
    }
}
