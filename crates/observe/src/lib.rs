//! What a process and a host spend while something is measured, and what machine it is.
//!
//! - [`Process`] is one process, this one or another: CPU, memory, context switches, faults,
//!   descriptors, and its threads one by one;
//! - [`Host`] is the machine: how busy its cores are, what was stolen from them, the network;
//! - [`fingerprint()`] says on what a result was measured;
//! - [`listener()`] tells which process a port belongs to;
//! - [`Target`] finds a process by its id, name or port; [`Pulse`] looks at it every few milliseconds;
//! - [`tasks`], [`footing`], [`shares()`], [`cgroup`] and [`Network`] say more of a process, for more time;
//! - [`pressure`], [`links`], [`core_clocks`], [`zones`], [`domains`], [`sensors`] and [`batteries`] say more of
//!   a machine, [`Meter`] what a power meter wrote down, an [`Account`] what domains took; a [`Tree`] says which machine;
//! - [`counters`] are what the kernel and the processor count of a process;
//! - [`Totals`] are those of another host, which a [`Page`] of an exporter for Prometheus has;
//! - [`bench()`] says what disturbs measuring on a machine;
//! - [`schedule`] says how the kernel schedules a process, and changes that;
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

mod account;
mod bench;
mod cgroup;
mod clock;
pub mod counters;
mod energy;
mod figure;
mod files;
mod fingerprint;
mod frequency;
mod host;
pub mod limits;
mod link;
mod listener;
mod meter;
mod pressure;
mod process;
mod process_totals;
mod processors;
mod prometheus;
mod pulse;
mod reread;
pub mod schedule;
mod socket;
mod stat;
mod target;
mod tasks;
mod totals;
mod tree;

pub use account::{Account, Within, above_idle, idle};
pub use bench::{Finding, Idle, Standing, bench};
pub use cgroup::{Cgroup, Limit, Throttled, cgroup};
pub use clock::thread_cpu;
pub use energy::{Battery, Domain, Reading, Sensor, batteries, domains, sensors};
pub use figure::{Figure, NotAvailable};
pub use fingerprint::fingerprint;
pub use frequency::{CoreClock, Zone, core_clocks, turbo, zones};
pub use host::{Core, Host, Interface, Load, Memory, Times};
pub use link::{Carried, Link, links};
pub use listener::listener;
pub use meter::{Aligned, Columns, LoadStep, Meter, Power, Taken};
pub use pressure::{Pressure, Resource, Stalled, pressure};
pub use process::{Process, Sample, Spent};
pub use process_totals::{ProcessTotals, Shares, footing, shares};
pub use processors::{isolated, processors, processors_of};
pub use prometheus::{ExportedFigures, Page};
pub use pulse::{Beat, Pulse};
pub use socket::{Network, Socket, Tcp, TcpState};
pub use target::{NoTarget, Target, name_of};
pub use tasks::{Task, descendants, tasks, tasks_since};
pub use totals::Totals;
pub use tree::Tree;
