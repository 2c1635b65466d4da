//! How much a thread allocates, where the allocator of whoever runs the targets counts it.

use std::cell::Cell;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// To be called by the allocator: so many bytes were asked for.
pub fn count(bytes: usize) {
    // Gone when the thread ends.
    let _ = BYTES.try_with(|all| all.set(all.get() + bytes as u64));
}

/// All bytes that this thread asked for so far; 0 if nobody counts.
pub fn so_far() -> u64 {
    BYTES.get()
}
