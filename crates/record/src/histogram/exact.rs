//! A histogram on its way between processes of this program: exactly what it is, where a result file keeps values
//! to three digits. For fields: `#[serde(with = "exact")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::buckets::SLOTS;
use super::{Histogram, HistogramError, Slots, Writer};

/// Slots that counted something with their counts, and what is known of the values beside them.
#[derive(Serialize, Deserialize)]
struct Parts {
    slots: Vec<u8>,
    sum: u128,
    min: u64,
    max: u64,
}

pub(crate) fn serialize<S: Serializer>(it: &Histogram, out: S) -> Result<S::Ok, S::Error> {
    Parts::from(it).serialize(out)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Histogram, D::Error> {
    Histogram::try_from(Parts::deserialize(input)?).map_err(D::Error::custom)
}

/// Several, always the same number.
pub(crate) mod array {
    use super::*;

    pub(crate) fn serialize<S: Serializer, const N: usize>(
        all: &[Histogram; N],
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.collect_seq(all.iter().map(Parts::from))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        input: D,
    ) -> Result<[Histogram; N], D::Error> {
        let all = Vec::<Parts>::deserialize(input)?.into_iter();
        let all: Vec<Histogram> = all
            .map(|it| Histogram::try_from(it).map_err(D::Error::custom))
            .collect::<Result<_, _>>()?;
        all.try_into().map_err(|other: Vec<_>| {
            D::Error::custom(format!("{} histograms (want {N})", other.len()))
        })
    }
}

impl From<&Histogram> for Parts {
    fn from(it: &Histogram) -> Self {
        Self {
            slots: it.bytes.clone(),
            sum: it.sum,
            min: it.min,
            max: it.max,
        }
    }
}

impl TryFrom<Parts> for Histogram {
    type Error = HistogramError;

    fn try_from(it: Parts) -> Result<Self, HistogramError> {
        let broken = |why: &str| HistogramError::Format(why.to_owned());
        let mut slots = Slots {
            bytes: &it.slots,
            slot: 0,
        };
        let mut writer = Writer::default();
        let (mut last, mut all) = (None, 0u64);
        while let Some(step) = slots.number() {
            let count = slots.number().filter(|&n| n > 0);
            let count = count.ok_or_else(|| broken("a slot without a count"))?;
            let slot = usize::try_from(step).ok();
            let slot = slot.and_then(|step| last.unwrap_or(0usize).checked_add(step));
            let slot = slot.filter(|&slot| slot < SLOTS && (step > 0 || last.is_none()));
            let slot = slot.ok_or_else(|| broken("slots out of order"))?;
            all = all
                .checked_add(count)
                .ok_or_else(|| broken("counts that no number holds"))?;
            last = Some(slot);
            writer.push(slot, count);
        }
        if it.min > it.max || all == 0 && (it.sum, it.max) != (0, 0) {
            return Err(broken("extremes that no values have"));
        }
        Ok(writer.finish(all, it.sum, it.min, it.max))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sent(#[serde(with = "super")] Histogram);

    proptest! {
        #[test]
        fn it_arrives_as_it_was_to_the_last_digit(values in prop::collection::vec((any::<u64>(), 1..1000u64), 0..50)) {
            let mut all = Histogram::default();
            for (value, n) in values {
                all.merge(&Histogram::of(value >> (value % 60), n));
            }
            let sent = serde_json::to_string(&Sent(all.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Sent>(&sent).unwrap(), Sent(all));
        }

        #[test]
        fn whatever_comes_is_a_histogram_or_refused(
            slots in prop::collection::vec(any::<u8>(), 0..40), sum in any::<u64>(), min in any::<u64>(), max in any::<u64>(),
        ) {
            let parts = Parts { slots, sum: sum.into(), min, max };
            if let Ok(it) = Histogram::try_from(parts) {
                let _ = (it.quantile(0.5), it.deviation(), it.mean());
                prop_assert_eq!(it.values().map(|(_, n)| n).sum::<u64>(), it.count());
            }
        }
    }
}
