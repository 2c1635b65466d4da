//! Where the value of a variable comes from, and how it gets onto the wire.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::budget::{Budget, Held, STEP, Spent};
use wire::template::walk::{BuiltInType, RawVariant};
use wire::time::Now;
use wire::types::StatusCode;

use super::signal::{Signal, encode_bits};

/// What stands beside a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// How good it is.
    pub status: StatusCode,
    /// When it got it, in ticks of 100 ns since 1601.
    pub source: i64,
}

impl Stamp {
    /// Of a good value.
    pub fn good(source: i64) -> Self {
        Self {
            status: StatusCode::Good,
            source,
        }
    }
}

/// Computes a value that is asked for: appends the encoded Variant and tells what stands beside it.
pub type Live = Arc<dyn Fn(Now, &mut Vec<u8>) -> Stamp + Send + Sync>;

/// Where a value comes from.
pub enum Source {
    /// It never changes.
    Constant {
        /// The encoded Variant.
        encoded: Box<[u8]>,
        /// Since when, in ticks.
        since: i64,
    },
    /// A Boolean or a number that is written.
    Scalar(Scalar),
    /// Anything else that is written.
    Blob(Blob),
    /// A function of time.
    Signal(Signal),
    /// Something the server knows of itself.
    Live(Live),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant { .. } => "Constant",
            Self::Scalar(_) => "Scalar",
            Self::Blob(_) => "Blob",
            Self::Signal(_) => "Signal",
            Self::Live(_) => "Live",
        })
    }
}

impl Source {
    /// Appends the value now as an encoded Variant. `anchor` is real time at the origin of
    /// monotonic time.
    #[inline]
    pub fn write(&self, now: Now, anchor: i64, out: &mut Vec<u8>) -> Stamp {
        match self {
            Self::Constant { encoded, since } => {
                out.extend_from_slice(encoded);
                Stamp::good(*since)
            }
            Self::Scalar(scalar) => scalar.write(out),
            Self::Blob(blob) => {
                let (encoded, stamp) = blob.get();
                out.extend_from_slice(&encoded);
                stamp
            }
            Self::Signal(signal) => {
                let n = signal.updates(now.mono.as_nanos());
                signal.encode(n, out);
                Stamp::good(anchor + (signal.updated_at(n) / 100) as i64)
            }
            Self::Live(live) => live(now, out),
        }
    }

    /// The value now as a payload, if it is a Boolean or a number.
    #[inline]
    pub fn bits(&self, now: Now, anchor: i64) -> Option<(BuiltInType, u64, Stamp)> {
        match self {
            Self::Scalar(scalar) => {
                let (bits, stamp) = scalar.get();
                Some((scalar.kind(), bits, stamp))
            }
            Self::Signal(signal) => {
                let n = signal.updates(now.mono.as_nanos());
                let stamp = Stamp::good(anchor + (signal.updated_at(n) / 100) as i64);
                Some((signal.kind, signal.bits(n), stamp))
            }
            _ => None,
        }
    }

    /// How often it was written; of values that are not written always the same. Wraps at 31
    /// bits.
    pub fn version(&self) -> u32 {
        match self {
            Self::Scalar(scalar) => scalar.sequence.load(Ordering::Relaxed) >> 1,
            Self::Blob(blob) => blob.version.load(Ordering::Relaxed) & (u32::MAX >> 1),
            _ => 0,
        }
    }

    /// Takes a value of the right type. False if this source cannot be written to.
    pub fn set(&self, value: &RawVariant<'_>, stamp: Stamp) -> bool {
        self.set_held(value, stamp, None)
    }

    /// The same for a value that clients wrote, with its memory.
    pub fn set_held(&self, value: &RawVariant<'_>, stamp: Stamp, held: Option<Held>) -> bool {
        match self {
            Self::Scalar(scalar) => scalar.set_encoded(value, stamp),
            Self::Blob(blob) => {
                blob.set_held(value.encoded().into(), stamp, held);
                true
            }
            _ => false,
        }
    }
}

/// A Boolean or a number that is written by one and read by others, under a sequence lock:
/// readers never wait for each other, and see value, status and time of the same write.
#[derive(Debug)]
pub struct Scalar {
    /// Odd while a writer is at it.
    sequence: AtomicU32,
    status: AtomicU32,
    /// The payload, little-endian, in the low bytes.
    bits: AtomicU64,
    source: AtomicI64,
    kind: BuiltInType,
}

impl Scalar {
    /// The value of an encoded Variant. None if it is not a scalar of at most eight bytes.
    pub fn new(value: &RawVariant<'_>, stamp: Stamp) -> Option<Self> {
        value.kind().size().filter(|size| (1..=8).contains(size))?;
        let scalar = Self {
            sequence: AtomicU32::new(0),
            status: AtomicU32::new(0),
            bits: AtomicU64::new(0),
            source: AtomicI64::new(0),
            kind: value.kind(),
        };
        scalar.set_encoded(value, stamp).then_some(scalar)
    }

    /// The type of the value.
    pub fn kind(&self) -> BuiltInType {
        self.kind
    }

    fn set_encoded(&self, value: &RawVariant<'_>, stamp: Stamp) -> bool {
        if value.kind() != self.kind || value.array_len().is_some() {
            return false;
        }
        let mut bits = [0; 8];
        for (to, from) in bits.iter_mut().zip(value.payload()) {
            *to = *from;
        }
        self.set(u64::from_le_bytes(bits), stamp);
        true
    }

    /// Writes a payload.
    pub fn set(&self, bits: u64, stamp: Stamp) {
        let mut sequence = self.sequence.load(Ordering::Relaxed);
        loop {
            if sequence & 1 == 0 {
                match self.sequence.compare_exchange_weak(
                    sequence,
                    sequence.wrapping_add(1),
                    Ordering::Acquire,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => break,
                    Err(other) => sequence = other,
                }
            } else {
                std::hint::spin_loop();
                sequence = self.sequence.load(Ordering::Relaxed);
            }
        }
        fence(Ordering::Release);
        self.bits.store(bits, Ordering::Relaxed);
        self.status.store(stamp.status.bits(), Ordering::Relaxed);
        self.source.store(stamp.source, Ordering::Relaxed);
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// The payload and what stands beside it, of one write.
    #[inline]
    pub fn get(&self) -> (u64, Stamp) {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            if before & 1 == 0 {
                let bits = self.bits.load(Ordering::Relaxed);
                let status = self.status.load(Ordering::Relaxed);
                let source = self.source.load(Ordering::Relaxed);
                fence(Ordering::Acquire);
                if self.sequence.load(Ordering::Relaxed) == before {
                    let status = StatusCode::from(status);
                    return (bits, Stamp { status, source });
                }
            }
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) -> Stamp {
        let (bits, stamp) = self.get();
        encode_bits(self.kind, bits, out);
        stamp
    }
}

/// Any value that is written: encoded when written, copied when read.
#[derive(Debug)]
pub struct Blob {
    written: Mutex<Written>,
    version: AtomicU32,
}

#[derive(Debug)]
struct Written {
    encoded: Arc<[u8]>,
    stamp: Stamp,
    /// Of the server's memory for clients, if one wrote it and it is not short.
    #[expect(dead_code, reason = "it is there to be dropped")]
    held: Option<Held>,
}

/// Memory for a value that a client writes; for short ones it is that of the address space.
pub fn hold(bytes: usize, memory: &Budget) -> Result<Option<Held>, Spent> {
    if bytes < STEP {
        return Ok(None);
    }
    let mut held = memory.hold();
    held.set(bytes)?;
    Ok(Some(held))
}

impl Blob {
    /// An encoded Variant.
    pub fn new(encoded: Arc<[u8]>, stamp: Stamp) -> Self {
        Self {
            written: Mutex::new(Written {
                encoded,
                stamp,
                held: None,
            }),
            version: AtomicU32::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        // A writer that panicked has not left half a value: all parts are replaced at once.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The encoded Variant as it is now.
    pub fn get(&self) -> (Arc<[u8]>, Stamp) {
        let written = self.lock();
        (Arc::clone(&written.encoded), written.stamp)
    }

    /// Replaces it by what is made of it, and tells what that is; nobody else writes meanwhile.
    pub fn change<E>(
        &self,
        stamp: Stamp,
        made: impl FnOnce(&[u8]) -> Result<(Vec<u8>, Option<Held>), E>,
    ) -> Result<Arc<[u8]>, E> {
        let mut written = self.lock();
        let (encoded, held) = made(&written.encoded)?;
        let encoded: Arc<[u8]> = encoded.into();
        *written = Written {
            encoded: Arc::clone(&encoded),
            stamp,
            held,
        };
        drop(written);
        self.version.fetch_add(1, Ordering::Relaxed);
        Ok(encoded)
    }

    /// Replaces it.
    pub fn set(&self, encoded: Arc<[u8]>, stamp: Stamp) {
        self.set_held(encoded, stamp, None);
    }

    fn set_held(&self, encoded: Arc<[u8]>, stamp: Stamp, held: Option<Held>) {
        *self.lock() = Written {
            encoded,
            stamp,
            held,
        };
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(n: u32) -> Stamp {
        Stamp {
            status: StatusCode::from(n),
            source: i64::from(n),
        }
    }

    #[test]
    fn a_reader_never_sees_half_a_write() {
        let zero = RawVariant::parse(&[9, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let scalar = Scalar::new(&zero, stamp(0)).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let scalar = &scalar;
                scope.spawn(move || {
                    for n in 0..50_000u32 {
                        let n = n * 2 + writer;
                        scalar.set(u64::from(n), stamp(n));
                    }
                });
            }
            for _ in 0..100_000 {
                let (bits, beside) = scalar.get();
                assert_eq!(beside, stamp(bits as u32));
            }
        });
    }

    #[test]
    fn a_scalar_takes_only_its_own_type() {
        let double = [11, 0, 0, 0, 0, 0, 0, 0x28, 0x40];
        let double = RawVariant::parse(&double).unwrap();
        let source = Source::Scalar(Scalar::new(&double, stamp(0)).unwrap());
        let int = RawVariant::parse(&[6, 5, 0, 0, 0]).unwrap();
        assert!(!source.set(&int, stamp(0)));
        let mut out = Vec::new();
        let now = Now {
            mono: wire::time::Instant::from_nanos(0),
            utc: 0,
        };
        source.write(now, 0, &mut out);
        assert_eq!(out, double.encoded());
    }
}
