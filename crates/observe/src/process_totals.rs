//! What a process holds and moves beside CPU: shares of memory, swap, bytes of disks.

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::tree::Tree;

/// Whose the memory of a process is. Looking takes time that grows with it, during which it cannot map any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// Memory in RAM, what it shares with others divided among them.
    pub proportional_bytes: u64,
    /// Memory in RAM that no other process has.
    pub private_bytes: u64,
}

/// Of a process.
pub fn shares(tree: &Tree, id: u32) -> Figure<Shares> {
    let path = format!("/proc/{id}/smaps_rollup");
    let text = tree.text(&path)?;
    let of = |key: &str| kibibytes(&text, key, &path);
    Ok(Shares {
        proportional_bytes: of("Pss")?,
        private_bytes: of("Private_Clean")? + of("Private_Dirty")?,
    })
}

/// What a process holds and has moved up to a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTotals {
    /// Memory that was written to the swap.
    pub swap_bytes: Figure<u64>,
    /// Bytes that came from disks for it.
    pub disk_read_bytes: Figure<u64>,
    /// Bytes that it caused to be written to disks.
    pub disk_written_bytes: Figure<u64>,
    /// Calls that read, from sockets too.
    pub read_calls: Figure<u64>,
    /// Calls that wrote.
    pub write_calls: Figure<u64>,
}

/// Of a process.
pub fn footing(tree: &Tree, id: u32) -> Figure<ProcessTotals> {
    let status = format!("/proc/{id}/status");
    let text = tree.text(&status)?;
    let io = format!("/proc/{id}/io");
    let moved = tree.text(&io);
    let moved = |key: &str| files::keyed(moved.as_ref().map_err(Clone::clone)?, key, &io);
    Ok(ProcessTotals {
        swap_bytes: kibibytes(&text, "VmSwap", &status)
            .map_err(|_| NotAvailable::because("the kernel was built without swap")),
        disk_read_bytes: moved("read_bytes"),
        // What was written and thrown away before it got there is none.
        disk_written_bytes: moved("write_bytes")
            .and_then(|it| Ok(it.saturating_sub(moved("cancelled_write_bytes")?))),
        read_calls: moved("syscr"),
        write_calls: moved("syscw"),
    })
}

fn kibibytes(text: &str, key: &str, path: &str) -> Figure<u64> {
    Ok(files::keyed(text, key, path)? * 1024)
}
