//! The CPU clocks of the kernel: nanoseconds, threads that have ended included, one system call.

use std::time::Duration;

use crate::figure::{Figure, NotAvailable};

/// What the calling thread has used, user and system. Exact: no other source is for a thread that
/// runs, because the kernel brings the figures of a thread up to date when it is interrupted or
/// leaves its core.
pub fn thread_cpu() -> Figure<Duration> {
    platform::clock::thread_cpu().ok_or_else(NotAvailable::here)
}

/// What a process has used.
pub(crate) fn process_cpu(id: Option<u32>) -> Figure<Duration> {
    match id {
        None => platform::clock::process_cpu().ok_or_else(NotAvailable::here),
        Some(id) => platform::process::cpu_of(id)
            .map_err(|error| NotAvailable::because(format!("CPU clock: {error}"))),
    }
}
