//! Continuation points of a session (Part 4, 7.9): what is left of operations that a client is to go on with.

use wire::budget::Budget;
use wire::types::StatusCode;

use super::steps::Making;

/// What a point stands for, with the memory behind it.
pub trait HeldMemory {
    /// Bytes that it points to.
    fn behind(&self) -> usize {
        0
    }
}

/// What is left, by numbers that are not given again soon.
#[derive(Debug)]
pub struct Points<T> {
    points: Vec<(u32, T)>,
    last: u32,
    /// Of the session's memory, for many of them.
    held: Making,
}

impl<T> Default for Points<T> {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            last: 0,
            held: Making::default(),
        }
    }
}

impl<T: HeldMemory> Points<T> {
    /// Keeps it, and gives its number.
    pub fn keep(&mut self, it: T, limit: usize, budget: &Budget) -> Result<u32, StatusCode> {
        if self.points.len() >= limit {
            return Err(StatusCode::BadNoContinuationPoints);
        }
        let bytes = self.bytes() + size_of::<(u32, T)>() + it.behind();
        self.held.is(bytes, budget)?;
        self.last = self.last.wrapping_add(1);
        self.points.push((self.last, it));
        Ok(self.last)
    }

    /// Takes it out by its number.
    pub fn take(&mut self, number: u32, budget: &Budget) -> Option<T> {
        let at = self.points.iter().position(|(own, _)| *own == number)?;
        let (_, it) = self.points.remove(at);
        // Less is never refused.
        let bytes = self.bytes();
        let less = self.held.is(bytes, budget);
        debug_assert!(less.is_ok());
        Some(it)
    }

    fn bytes(&self) -> usize {
        let behind = self.points.iter().map(|(_, it)| it.behind());
        self.points.len() * size_of::<(u32, T)>() + behind.sum::<usize>()
    }
}
