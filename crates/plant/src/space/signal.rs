//! Values that are a function of time: nothing is stored, nothing has to be updated.

mod walk;

use std::sync::Arc;
use std::time::Duration;

use plan::mixed;
use wire::template::walk::BuiltInType;

/// How a signal moves from one update to the next.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// Always the same.
    Constant(f64),
    /// `start + n` after `n` updates; it wraps at the end of its type ([`Signal::modulus`]).
    Counter {
        /// The value before the first update.
        start: f64,
    },
    /// Rises from `low` to `high` in so many updates, then begins again.
    Ramp {
        /// The lowest value.
        low: f64,
        /// The value it never quite reaches.
        high: f64,
        /// Updates from one fall to the next.
        updates: u64,
    },
    /// Between `low` and `high` and back within so many updates.
    Sine {
        /// The lowest value.
        low: f64,
        /// The highest value.
        high: f64,
        /// Updates in a period.
        updates: u64,
        /// Where in the period it begins, 0 to 1.
        phase: f64,
    },
    /// One value, then the other.
    Toggle {
        /// After an even number of updates.
        even: f64,
        /// After an odd one.
        odd: f64,
    },
    /// Another value between `low` and `high` each time, the same in every run.
    Noise {
        /// The lowest value.
        low: f64,
        /// The value it never quite reaches.
        high: f64,
        /// Tells signals apart.
        seed: u64,
    },
    /// A little up or down each time, turned back at `low` and `high`; the same in every run.
    Walk {
        /// The lowest value.
        low: f64,
        /// The highest value.
        high: f64,
        /// The standard deviation of a step.
        step: f64,
        /// Tells signals apart.
        seed: u64,
    },
    /// One recorded value after the other, then again from the first.
    Replay(Arc<[f64]>),
}

/// A signal: a pattern that takes a step each interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// The type of its values: a Boolean or a number.
    pub kind: BuiltInType,
    /// How it moves.
    pub pattern: Pattern,
    interval: u64,
}

impl Signal {
    /// Updated each `interval`, the first time one interval after the clock's origin.
    pub fn new(kind: BuiltInType, pattern: Pattern, interval: Duration) -> Self {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        Self {
            kind,
            pattern,
            interval: interval.max(1),
        }
    }

    /// How many updates there were after so many nanoseconds.
    #[inline]
    pub fn updates(&self, nanos: u64) -> u64 {
        nanos / self.interval
    }

    /// When that update was, in nanoseconds.
    #[inline]
    pub fn updated_at(&self, n: u64) -> u64 {
        n.saturating_mul(self.interval)
    }

    /// The time between two updates, in nanoseconds.
    #[inline]
    pub fn interval_ns(&self) -> u64 {
        self.interval
    }

    /// The time between two updates.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval)
    }

    /// How many values a counter of its type has, a power of two; none for 2^64. Floating point
    /// numbers count as far as they have each number.
    #[inline]
    pub fn modulus(&self) -> Option<u64> {
        Self::modulus_of(self.kind)
    }

    /// The same for any counter of a type.
    #[inline]
    pub fn modulus_of(kind: BuiltInType) -> Option<u64> {
        match kind {
            BuiltInType::Boolean => Some(2),
            BuiltInType::Float => Some(1 << f32::MANTISSA_DIGITS),
            BuiltInType::Double => Some(1 << f64::MANTISSA_DIGITS),
            kind => match kind.size() {
                Some(size @ 1..8) => Some(1 << (size * 8)),
                _ => None,
            },
        }
    }

    /// The value after `n` updates.
    pub fn value(&self, n: u64) -> f64 {
        match &self.pattern {
            Pattern::Replay(values) => {
                let at = n.checked_rem(values.len() as u64).unwrap_or(0);
                values.get(at as usize).copied().unwrap_or_default()
            }
            &Pattern::Walk {
                low,
                high,
                step,
                seed,
            } => walk::folded(low, high, (low + high) / 2.0 + step * walk::at(seed, n)),
            &Pattern::Constant(value) => value,
            &Pattern::Counter { start } => counted(self.kind, start, n),
            &Pattern::Ramp { low, high, updates } => low + (high - low) * part(n, updates),
            &Pattern::Sine {
                low,
                high,
                updates,
                phase,
            } => {
                let angle = (part(n, updates) + phase) * std::f64::consts::TAU;
                low + (high - low) * (angle.sin() + 1.0) / 2.0
            }
            &Pattern::Toggle { even, odd } => match n % 2 {
                0 => even,
                _ => odd,
            },
            &Pattern::Noise { low, high, seed } => {
                // 53 bits fill the mantissa of a Double.
                let unit = (mixed(seed ^ mixed(n)) >> 11) as f64 / (1u64 << 53) as f64;
                low + (high - low) * unit
            }
        }
    }

    /// The payload of the value after `n` updates: its little-endian bytes, the rest zero.
    #[inline]
    pub fn bits(&self, n: u64) -> u64 {
        use BuiltInType as T;
        if let Pattern::Counter { start } = self.pattern {
            return count(self.kind, start, n);
        }
        let value = self.value(n);
        match self.kind {
            T::Double => value.to_bits(),
            T::Float => u64::from((value as f32).to_bits()),
            T::Boolean => u64::from(value != 0.0),
            T::SByte => u64::from(value as i8 as u8),
            T::Byte => u64::from(value as u8),
            T::Int16 => u64::from(value as i16 as u16),
            T::UInt16 => u64::from(value as u16),
            T::Int32 => u64::from(value as i32 as u32),
            T::UInt32 => u64::from(value as u32),
            T::Int64 => value as i64 as u64,
            _ => value as u64,
        }
    }

    /// Appends the value after `n` updates as an encoded Variant.
    #[inline]
    pub fn encode(&self, n: u64, out: &mut Vec<u8>) {
        encode_bits(self.kind, self.bits(n), out);
    }
}

/// A counter's value after `n` updates, as a floating point number.
#[inline]
fn counted(kind: BuiltInType, start: f64, n: u64) -> f64 {
    let value = start + n as f64;
    // From there on the next step would be too small for the type.
    match Signal::modulus_of(kind) {
        Some(modulus) if value >= modulus as f64 => value % modulus as f64,
        _ => value,
    }
}

/// A counter's value after `n` updates, as a payload.
#[inline]
pub fn count(kind: BuiltInType, start: f64, n: u64) -> u64 {
    match kind {
        BuiltInType::Double => counted(kind, start, n).to_bits(),
        BuiltInType::Float => u64::from((counted(kind, start, n) as f32).to_bits()),
        // Beyond 2^53 they would lose steps as Doubles.
        _ => {
            let count = (start as i64).wrapping_add_unsigned(n) as u64;
            match Signal::modulus_of(kind) {
                Some(modulus) => count & (modulus - 1),
                None => count,
            }
        }
    }
}

/// Appends an encoded Variant: a Boolean or a number by its payload.
#[inline]
pub fn encode_bits(kind: BuiltInType, bits: u64, out: &mut Vec<u8>) {
    let mut encoded = [0; 9];
    encoded[0] = kind as u8;
    encoded[1..].copy_from_slice(&bits.to_le_bytes());
    let len = 1 + kind.size().unwrap_or(0).min(8);
    out.extend_from_slice(encoded.get(..len).unwrap_or_default());
}

/// A number, or a Boolean as 0 or 1, by its payload.
pub fn number(kind: BuiltInType, bits: u64) -> Option<f64> {
    use BuiltInType as T;
    Some(match kind {
        T::Boolean | T::Byte => f64::from(bits as u8),
        T::SByte => f64::from(bits as i8),
        T::Int16 => f64::from(bits as i16),
        T::UInt16 => f64::from(bits as u16),
        T::Int32 => f64::from(bits as i32),
        T::UInt32 => f64::from(bits as u32),
        T::Int64 => bits as i64 as f64,
        T::UInt64 => bits as f64,
        T::Float => f64::from(f32::from_bits(bits as u32)),
        T::Double => f64::from_bits(bits),
        _ => return None,
    })
}

fn part(n: u64, of: u64) -> f64 {
    let of = of.max(1);
    (n % of) as f64 / of as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(kind: BuiltInType, pattern: Pattern) -> Signal {
        Signal::new(kind, pattern, Duration::from_millis(100))
    }

    #[test]
    fn a_counter_tells_the_instant_of_its_update() {
        let counter = signal(BuiltInType::UInt32, Pattern::Counter { start: 0.0 });
        let n = counter.updates(1_234_567_890);
        assert_eq!(n, 12);
        assert_eq!(counter.updated_at(n), 1_200_000_000);
        let mut out = Vec::new();
        counter.encode(n, &mut out);
        assert_eq!(out, [7, 12, 0, 0, 0]);
    }

    #[test]
    fn an_integer_counter_wraps_at_the_size_of_its_type() {
        let counter = signal(BuiltInType::Byte, Pattern::Counter { start: 250.0 });
        let mut out = Vec::new();
        counter.encode(10, &mut out);
        assert_eq!(out, [3, 4]);
    }

    #[test]
    fn a_counter_of_floats_begins_again_before_it_would_stand_still() {
        let counter = |kind, start| signal(kind, Pattern::Counter { start });
        let float = counter(BuiltInType::Float, 16_777_210.0);
        let values: Vec<f64> = (0..12).map(|n| float.value(n)).collect();
        let wrapped = [16_777_214.0, 16_777_215.0, 0.0, 1.0];
        assert_eq!(values[4..8], wrapped);
        for n in 4..8 {
            let told = f32::from_bits(float.bits(n as u64) as u32);
            assert_eq!(f64::from(told), wrapped[n - 4]);
        }
        let boolean = counter(BuiltInType::Boolean, 0.0);
        assert_eq!([0, 1, 2, 3].map(|n| boolean.bits(n)), [0, 1, 0, 1]);
    }

    #[test]
    fn a_sine_keeps_between_its_bounds_and_reaches_them() {
        let sine = signal(
            BuiltInType::Double,
            Pattern::Sine {
                low: -10.0,
                high: 30.0,
                updates: 100,
                phase: 0.0,
            },
        );
        let values: Vec<f64> = (0..100).map(|n| sine.value(n)).collect();
        let (low, high) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        assert!((low + 10.0).abs() < 1e-9 && (high - 30.0).abs() < 1e-9);
        assert!((values[0] - 10.0).abs() < 1e-9);
    }

    #[test]
    fn noise_is_the_same_in_every_run_and_fills_its_range() {
        let noise = signal(
            BuiltInType::Double,
            Pattern::Noise {
                low: 0.0,
                high: 1.0,
                seed: 7,
            },
        );
        let mean = (0..10_000).map(|n| noise.value(n)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert_eq!(noise.value(3), noise.value(3));
        assert_ne!(noise.value(3), noise.value(4));
    }
}
