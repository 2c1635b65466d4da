//! The server that is scheduled in another way for the run: whoever ends this process at once gives back what it had, too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use observe::schedule::{self, Held, Placing};

use crate::interrupt::{self, Taken};

static HELD: Mutex<Option<Held>> = Mutex::new(None);

/// A server is scheduled in another way until this is dropped, or this process quits.
pub struct Holding(());

impl Holding {
    /// The threads of this process placed so and with this priority.
    pub fn of(id: u32, placing: &Placing, priority: Option<u8>) -> observe::Figure<Self> {
        interrupt::before_quitting(Taken::Schedule, give_back);
        // Whoever ends this process meanwhile waits until it is known what the server had.
        let mut place = held();
        *place = Some(schedule::hold(id, placing, priority)?);
        Ok(Self(()))
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        give_back();
    }
}

/// The server has back what it had, if one is held.
fn give_back() {
    *held() = None;
}

fn held() -> MutexGuard<'static, Option<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}
