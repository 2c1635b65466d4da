//! What could not be written. It is reported when the command has ended; until then everything else goes on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::Failure;

/// In the order it was found.
static LOST: Mutex<Vec<Failure>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Failure>> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something could not be written.
pub fn add(what: Failure) {
    all().push(what);
}

/// Whether something could not be written.
pub fn is_any() -> bool {
    !all().is_empty()
}

/// All that could not be written until now.
pub fn take() -> Vec<Failure> {
    std::mem::take(&mut all())
}
