//! What operating systems do in ways of their own, behind one name for each thing: nobody else has to ask which system
//! it is.
//!
//! - [`clock`] has the CPU clocks of processes and threads;
//! - [`thread`] places threads on processors and lets others go first;
//! - [`process`] starts, ends and watches processes, and [`child`] ends those that this one started;
//! - [`memory`] gives back what a start has left there;
//! - [`mod@file`] keeps files from others, and tells one from another;
//! - [`error`] knows errors that the standard library has no name for;
//! - [`socket`], [`datagram`], [`multicast`] and [`interface`] are what sockets can do besides;
//! - [`timer`] wakes a poll up.
//!
//! What a system does not offer is an error with the reason, or none where it is a figure; never nothing in silence.

pub mod child;
pub mod clock;
pub mod datagram;
pub mod error;
pub mod file;
pub mod interface;
pub mod memory;
pub mod multicast;
pub mod process;
pub mod socket;
pub mod thread;
pub mod timer;

/// Operating systems that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, which tells of itself in `/proc` and `/sys`.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Another one.
    Other,
}

impl System {
    /// This one.
    pub const HERE: Self = if cfg!(target_os = "linux") {
        Self::Linux
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Other
    };

    /// Whether this one is Linux.
    pub const IS_LINUX: bool = cfg!(target_os = "linux");

    /// Whether this one is Windows.
    pub const IS_WINDOWS: bool = cfg!(windows);
}
