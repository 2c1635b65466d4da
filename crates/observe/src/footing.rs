//! What a process holds and moves beside CPU: shares of memory, swap, bytes of disks.

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::tree::Tree;

/// What a process holds and has moved up to a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footing {
    /// Memory in RAM, what it shares with others divided among them. Looking takes time that grows with its
    /// memory, during which it cannot map any.
    pub pss_bytes: Figure<u64>,
    /// Memory in RAM that no other process has.
    pub private_bytes: Figure<u64>,
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
pub fn footing(tree: &Tree, id: u32) -> Figure<Footing> {
    let status = format!("/proc/{id}/status");
    let text = tree.text(&status)?;
    let rollup = format!("/proc/{id}/smaps_rollup");
    let maps = tree.text(&rollup);
    let maps = |key: &str| kibibytes(maps.as_ref().map_err(Clone::clone)?, key, &rollup);
    let io = format!("/proc/{id}/io");
    let moved = tree.text(&io);
    let moved = |key: &str| files::keyed(moved.as_ref().map_err(Clone::clone)?, key, &io);
    Ok(Footing {
        pss_bytes: maps("Pss"),
        private_bytes: maps("Private_Clean").and_then(|it| Ok(it + maps("Private_Dirty")?)),
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
