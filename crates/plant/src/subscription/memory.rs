//! Memory of what items are and have seen, counted against the budget of their session before it is taken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::budget::Held;

/// What the items of a subscription take. Values that many look at share it, and give back their part when the last of
/// them goes.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<Account>>);

#[derive(Debug, Default)]
struct Account {
    bytes: usize,
    /// None: nobody counts.
    held: Option<Held>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Account> {
        // A number that is wrong is better than none.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it from this one's budget from now on. If that has less, it stays what the one before has counted.
    pub fn draw_on(&self, mut held: Held) {
        let mut account = self.lock();
        if held.set(account.bytes).is_ok() || account.held.is_none() {
            account.held = Some(held);
        }
    }

    /// Takes more. False if there is not so much.
    pub fn take(&self, bytes: usize) -> bool {
        let mut account = self.lock();
        let sum = account.bytes + bytes;
        let taken = account.held.as_mut();
        let taken = taken.is_none_or(|held| held.set(sum).is_ok());
        if taken {
            account.bytes = sum;
        }
        taken
    }

    /// Gives some back.
    pub fn give_back(&self, bytes: usize) {
        self.correct(bytes, 0);
    }

    /// What took some bytes takes others now, whether there are so many or not: it is there already.
    pub fn correct(&self, before: usize, now: usize) {
        if before == now {
            return;
        }
        let mut account = self.lock();
        let sum = (account.bytes + now).saturating_sub(before);
        account.bytes = sum;
        if let Some(held) = &mut account.held {
            // Less is never refused, and more is counted when there is more.
            let _ = held.set(sum);
        }
    }

    /// What is taken.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

#[cfg(test)]
mod tests {
    use wire::budget::{Budget, STEP};

    use super::*;

    #[test]
    fn what_is_taken_follows_a_subscription_to_another_budget_that_has_as_much() {
        let whole = Budget::of(100 * STEP);
        let (first, small) = (whole.within(10 * STEP), whole.within(2 * STEP));
        let memory = Memory::default();
        assert!(memory.take(5 * STEP), "nobody counts yet");
        memory.draw_on(first.hold());
        assert_eq!(first.held(), 5 * STEP);
        assert!(!memory.take(6 * STEP));
        memory.draw_on(small.hold());
        assert_eq!(
            (first.held(), small.held(), whole.held()),
            (5 * STEP, 0, 5 * STEP),
            "nothing is forgotten for want of room"
        );
        memory.give_back(4 * STEP);
        memory.draw_on(small.hold());
        assert_eq!((first.held(), small.held()), (0, STEP));
        drop(memory);
        assert_eq!(whole.held(), 0);
    }
}
