//! The TCP sockets of a process: how much waits in them, and what TCP knows of each.

mod diag;
mod table;

use std::cell::OnceCell;
use std::net::SocketAddr;

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::tree::Tree;

/// A TCP socket at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Socket {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// What it is at.
    pub state: TcpState,
    /// The number by which descriptors name it.
    pub inode: u64,
    /// Bytes that came and were not read; of one that listens, connections that nobody accepted yet.
    pub receive_queue: u64,
    /// Bytes that were written and not acknowledged; of one that listens, the most that may wait for an accept,
    /// where the kernel says it.
    pub send_queue: u64,
    /// What TCP knows of the connection.
    pub tcp: Figure<Tcp>,
}

/// What a socket is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpState {
    /// Connected.
    Established,
    /// Waiting for connections.
    Listening,
    /// The other end has closed and this one has not.
    CloseWait,
    /// Anything else, as the kernel numbers it.
    Other(u8),
}

impl TcpState {
    const fn of(number: u8) -> Self {
        match number {
            1 => Self::Established,
            8 => Self::CloseWait,
            10 => Self::Listening,
            other => Self::Other(other),
        }
    }
}

/// What TCP knows of a connection (`TCP_INFO`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// Round trip, smoothed.
    pub rtt_us: u32,
    /// By how much it varies.
    pub rtt_variation_us: u32,
    /// The shortest lately.
    pub min_rtt_us: u32,
    /// Segments that may be on their way.
    pub congestion_window: u32,
    /// Bytes in a segment.
    pub segment_bytes: u32,
    /// Segments that were sent again.
    pub retransmissions: u32,
    /// Bytes written and not handed to the network yet.
    pub not_sent_bytes: u32,
    /// Bytes a second that arrived at the other end, lately.
    pub delivery_bytes_per_s: u64,
    /// Bytes that arrived here.
    pub received_bytes: u64,
    /// Bytes that were sent, repetitions too.
    pub sent_bytes: u64,
    /// Segments that came in.
    pub received_segments: u32,
    /// Segments that went out.
    pub sent_segments: u32,
    /// Time with something to send.
    pub busy_us: u64,
    /// The part of it in which the other end had no room.
    pub receiver_limited_us: u64,
    /// The part of it in which our buffer for sending was too small.
    pub buffer_limited_us: u64,
}

/// The TCP sockets of this network at one moment. The kernel walks through all that there are, whosever they are: it is
/// asked once for as many processes as there are to look at, and not at all for those without sockets.
#[derive(Debug, Default)]
pub struct Network {
    tree: Tree,
    all: OnceCell<Figure<Vec<Socket>>>,
}

impl Network {
    /// Not asked yet.
    pub const fn of(tree: Tree) -> Self {
        Self {
            tree,
            all: OnceCell::new(),
        }
    }

    /// Those of a process. Those of another user cannot be told apart.
    pub fn sockets(&self, id: u32) -> Figure<Vec<Socket>> {
        let mut own = inodes(&self.tree, id)?;
        own.sort_unstable();
        let is_own = |socket: &Socket| own.binary_search(&socket.inode).is_ok();
        if own.is_empty() {
            return Ok(Vec::new());
        }
        let why = match self.tree == Tree::here() && same_network(id) {
            true => match self.all.get_or_init(diag::all) {
                Ok(all) => return Ok(all.iter().filter(|it| is_own(it)).cloned().collect()),
                Err(why) => why.clone(),
            },
            false => NotAvailable::because("the process lives in another network namespace"),
        };
        let mut all = table::all(&self.tree, id, &why)?;
        all.retain(is_own);
        Ok(all)
    }
}

/// What a descriptor that is a socket is called: `socket:[1234]`.
fn inodes(tree: &Tree, id: u32) -> Figure<Vec<u64>> {
    let folder = format!("/proc/{id}/fd");
    let names = files::names(&tree.path(&folder))?;
    let link = |name: &String| {
        let to = std::fs::read_link(tree.path(&format!("{folder}/{name}"))).ok()?;
        let number = to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    };
    Ok(names.iter().filter_map(link).collect())
}

fn same_network(id: u32) -> bool {
    let namespace = |who: &str| std::fs::read_link(format!("/proc/{who}/ns/net")).ok();
    match (namespace("self"), namespace(&id.to_string())) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => true,
    }
}
