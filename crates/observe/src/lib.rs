//! What a process and a host spend while something is measured, and what machine it is.
//!
//! - [`Process`] is one process, this one or another: CPU, memory, context switches, faults,
//!   descriptors, and its threads one by one;
//! - [`Host`] is the machine: how busy its cores are, what was stolen from them, the network;
//! - [`fingerprint()`] says on what a result was measured;
//! - [`listener()`] tells which process a port belongs to;
//! - [`limits`] are those of the operating system that a large load runs into.
//!
//! What goes into a result file has the form that `record` gives it.
//!
//! Every figure is a [`Figure`]: the value, or the reason why there is none. What a machine
//! cannot say is never reported as zero.
//!
//! ```
//! use observe::Process;
//!
//! let mut process = Process::own();
//! let before = process.sample();
//! let sum: u64 = (0..1_000_000).sum();
//! let spent = process.sample().since(&before);
//! match spent.cpu_ns {
//!     Ok(ns) => println!("{sum} took {ns} ns of CPU"),
//!     Err(reason) => println!("CPU: {reason}"),
//! }
//! ```

mod clock;
mod figure;
mod files;
mod fingerprint;
mod host;
pub mod limits;
mod listener;
mod process;

pub use clock::thread_cpu;
pub use figure::{Figure, NotAvailable};
pub use fingerprint::fingerprint;
pub use host::{Core, Host, Interface, Load, Memory, Times};
pub use listener::listener;
pub use process::{Process, Sample, Spent, Thread};
