//! Memory that is counted before it is taken.
//!
//! A [`Budget`] is a number of bytes, perhaps [within](Budget::within) a larger one: that of a connection within that of
//! a process. A [`Held`] has some of them, and gives them back when it goes. What is less than a [`STEP`] is not
//! counted: so nothing that is shared is touched by small messages that come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thiserror::Error;

/// Bytes are taken and given back in steps of so many.
pub const STEP: usize = 4096;

/// There is no memory left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the memory budget of {limit} bytes is spent")]
pub struct Spent {
    /// The bytes of the budget that has none left.
    pub limit: usize,
}

/// Bytes that may be held.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: usize,
    held: AtomicUsize,
    within: Option<Budget>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(usize::MAX)
    }
}

impl Budget {
    /// So many bytes.
    pub fn of(limit: usize) -> Self {
        Self::new(limit, None)
    }

    fn new(limit: usize, within: Option<Self>) -> Self {
        Self(Arc::new(Account {
            limit,
            held: AtomicUsize::new(0),
            within,
        }))
    }

    /// A budget of its own, whose bytes are bytes of this one, too.
    pub fn within(&self, limit: usize) -> Self {
        Self::new(limit, Some(self.clone()))
    }

    /// A holder that has none of them yet.
    pub fn hold(&self) -> Held {
        Held {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// The bytes that may be held.
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// The bytes that are held.
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> Result<(), Spent> {
        let limit = self.0.limit;
        let more = |held: usize| held.checked_add(bytes).filter(|&sum| sum <= limit);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.0.held.fetch_update(set, fetch, more).is_err() {
            return Err(Spent { limit });
        }
        let within = self.0.within.as_ref();
        within
            .map_or(Ok(()), |within| within.take(bytes))
            .inspect_err(|_| {
                self.0.held.fetch_sub(bytes, Ordering::Relaxed);
            })
    }

    fn give_back(&self, bytes: usize) {
        self.0.held.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(within) = &self.0.within {
            within.give_back(bytes);
        }
    }
}

/// Bytes of a budget; given back when this is dropped.
#[derive(Debug)]
pub struct Held {
    budget: Budget,
    bytes: usize,
}

impl Held {
    /// Holds so many bytes from now on, but for what is less than a [`STEP`]. Where there are not enough it holds what it
    /// held.
    #[inline]
    pub fn set(&mut self, bytes: usize) -> Result<(), Spent> {
        let bytes = bytes - bytes % STEP;
        match bytes == self.bytes {
            true => Ok(()),
            false => self.change(bytes),
        }
    }

    fn change(&mut self, bytes: usize) -> Result<(), Spent> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.budget.take(more)?,
            None => self.budget.give_back(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// The bytes that may be held of its budget.
    pub fn limit(&self) -> usize {
        self.budget.limit()
    }

    /// The bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_part_are_bytes_of_the_whole_and_come_back_when_their_holder_goes() {
        let whole = Budget::of(10 * STEP);
        let (one, other) = (whole.within(8 * STEP), whole.within(8 * STEP));
        let mut first = one.hold();
        assert_eq!(first.set(6 * STEP + 17), Ok(()));
        let mut second = other.hold();
        assert_eq!(
            second.set(5 * STEP),
            Err(Spent { limit: 10 * STEP }),
            "there are no more in the whole"
        );
        assert_eq!((other.held(), whole.held()), (0, 6 * STEP));
        assert_eq!(second.set(4 * STEP), Ok(()));
        assert_eq!(second.set(3), Ok(()), "less is never refused");
        assert_eq!(first.set(9 * STEP), Err(Spent { limit: 8 * STEP }));
        assert_eq!(first.bytes(), 6 * STEP);
        drop(first);
        assert_eq!((one.held(), whole.held()), (0, 0));
    }

    #[test]
    fn threads_that_take_at_once_never_have_more_than_there_is() {
        let whole = Budget::of(100 * STEP);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let part = whole.within(50 * STEP);
                    for n in 0..2_000 {
                        let mut held = part.hold();
                        let _ = held.set((n % 60) * STEP);
                        assert!(whole.held() <= 100 * STEP);
                    }
                });
            }
        });
        assert_eq!(whole.held(), 0);
    }
}
