//! The counts of one subscription where all threads can read them.
//!
//! Its loop counts in plain numbers and copies them here after each turn; nothing that counts
//! ever waits or takes part in a contest for a cache line. Readers see all counts of one moment.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::tally::{Messages, Tally, Values};

const VALUES: usize = Values::LEN;
const MESSAGES: usize = Messages::LEN;

/// Counts under a sequence lock, with one writer.
#[derive(Debug)]
pub struct Page {
    /// Odd while the writer is at it.
    sequence: AtomicU32,
    kinds: [[AtomicU64; VALUES]; 3],
    messages: [AtomicU64; MESSAGES],
}

impl Default for Page {
    fn default() -> Self {
        Self {
            sequence: AtomicU32::new(0),
            kinds: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
            messages: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Page {
    /// Replaces the counts. To be called by one thread at a time.
    pub fn write(&self, tally: &Tally) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence
            .store(sequence.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let kinds = [&tally.computed, &tally.stored, &tally.event];
        for (places, values) in self.kinds.iter().zip(kinds) {
            for (place, count) in places.iter().zip(values.row()) {
                place.store(count, Ordering::Relaxed);
            }
        }
        for (place, count) in self.messages.iter().zip(tally.messages.row()) {
            place.store(count, Ordering::Relaxed);
        }
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// The counts of one moment.
    pub fn read(&self) -> Tally {
        loop {
            let before = self.sequence.load(Ordering::Acquire);
            if before & 1 == 0 {
                let read = |places: &[AtomicU64; VALUES]| {
                    let load = |at: usize| places.get(at).map_or(0, |n| n.load(Ordering::Relaxed));
                    Values::from_row(std::array::from_fn(load))
                };
                let [computed, stored, event] = &self.kinds;
                let message = |at: usize| {
                    let place: Option<&AtomicU64> = self.messages.get(at);
                    place.map_or(0, |n| n.load(Ordering::Relaxed))
                };
                let tally = Tally {
                    computed: read(computed),
                    stored: read(stored),
                    event: read(event),
                    messages: Messages::from_row(std::array::from_fn(message)),
                };
                fence(Ordering::Acquire);
                if self.sequence.load(Ordering::Relaxed) == before {
                    return tally;
                }
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_the_counts_of_one_moment() {
        let page = Page::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..20_000 {
                    let mut tally = Tally::default();
                    tally.computed.samples = n;
                    tally.computed.queued = n;
                    tally.messages.made = n;
                    page.write(&tally);
                }
            });
            for _ in 0..20_000 {
                let Tally {
                    computed, messages, ..
                } = page.read();
                assert_eq!(computed.samples, computed.queued);
                assert_eq!(computed.samples, messages.made);
            }
        });
    }
}
