//! What an observed process spent in detail, and what observing cost.

use serde::{Deserialize, Serialize};

use super::{Figure, Fingerprint};
use crate::average;

/// A mean over the window, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width, from the means of stretches of the window: samples that follow each other
    /// are alike.
    pub error: f64,
}

/// Means over the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// Cores kept busy.
    pub cpu_cores: Figure<Mean>,
    /// Resident memory.
    pub rss_bytes: Figure<Mean>,
}

/// The threads of one name, summed over the window. What threads spent that had ended when the process was
/// looked at is not in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// Their name, cut to 15 bytes by the kernel.
    pub name: String,
    /// How many have it.
    pub count: u64,
    /// Cores that they kept busy.
    pub cpu_cores: Figure<f64>,
    /// CPU time in all.
    pub cpu_ns: Figure<u64>,
    /// Of it, in their own code.
    pub user_ns: Figure<u64>,
    /// Of it, in the kernel.
    pub system_ns: Figure<u64>,
    /// Ready to run, and waiting for a core.
    pub waited_ns: Figure<u64>,
    /// Switches because they waited.
    pub voluntary_switches: Figure<u64>,
    /// Switches because another one's turn came.
    pub involuntary_switches: Figure<u64>,
    /// How often they went on on another core.
    pub migrations: Figure<u64>,
    /// The share of the time that the busiest of them had something to do: on a core, or waiting for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<f64>,
}

/// What became of a process's TCP connections in the window: of those that were there at both ends of it, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketUsage {
    /// How many there were.
    pub connections: u64,
    /// Those of them that the process itself had opened, to somebody else.
    pub outgoing: u64,
    /// How long was looked.
    pub window_ns: u64,
    /// Time with something to send or to be acknowledged.
    pub busy_ns: u64,
    /// The part of it in which the other end had no room.
    pub receiver_limited_ns: u64,
    /// The part of it in which the buffer for sending was too small.
    pub buffer_limited_ns: u64,
    /// How often it was looked at a connection.
    pub looks: u64,
    /// Those of them in which bytes were written and not handed to the network yet.
    pub unsent: u64,
}

/// What went through a network interface in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkUsage {
    /// Its name.
    pub name: String,
    /// Bytes that came in, with the headers of Ethernet, IP and TCP.
    pub received_bytes: Figure<u64>,
    /// Bytes that went out, likewise.
    pub sent_bytes: Figure<u64>,
    /// Packets that found no room, both ways.
    pub dropped: Figure<u64>,
    /// Of what the link can carry, the fuller way.
    pub share: Figure<f64>,
    /// The same in the course of the phase, where it was looked at more than twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<LinkCourse>,
}

/// What went through a network interface in the course of a phase. Each row speaks of the time since the row before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkCourse {
    /// Times since the phase began, rising: those of closer looks, 600 at most.
    pub at_ns: Vec<u64>,
    /// Bytes in a second that came in.
    pub received_bytes_per_s: Vec<Option<f64>>,
    /// Bytes in a second that went out.
    pub sent_bytes_per_s: Vec<Option<f64>>,
    /// Of what the link can carry, the fuller way; of one without a speed there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub share: Vec<Option<f64>>,
}

/// Power in the course of a phase, from its begin on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PowerCourse {
    /// The length of a row: no shorter than the time between two readings, and so long that 300 rows hold the phase.
    pub interval_ns: u64,
    /// Watts on average in each row; null where readings do not reach over it.
    pub watts: Vec<Option<f64>>,
}

/// Who looked at what is on another host, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// A page of an exporter for Prometheus, or a host that ssh reached.
    pub from: String,
    /// The exporter, or our program there, with its version.
    pub by: String,
    /// The machine there, where our program tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Box<Fingerprint>>,
    /// Time between two looks.
    pub interval_ns: u64,
    /// The median of the times between samples that told something new: nothing shorter is seen.
    pub resolution_ns: Figure<u64>,
    /// Looks that were answered.
    pub looks: u64,
    /// Those of them that brought what was there before.
    pub unchanged: u64,
    /// By so much the times of samples may be off, the worst of them: half of the way there and back for a page, the
    /// bound of the comparison of clocks for ssh.
    pub time_error_ns: u64,
    /// Cores that looking took there.
    pub cost_cores: Figure<f64>,
    /// Times without a sample.
    pub gaps: Vec<GapOf>,
}

/// A time without a sample: from the last one before it to the next one, or to the last try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapOf {
    /// Since the phase began.
    pub from_ns: i64,
    /// Since the phase began.
    pub to_ns: i64,
    /// Why none came.
    pub reason: String,
}

/// Energy that a power meter, or the machine itself, counted in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// What counted: a meter by its file, or a domain of the machine such as `package-0`.
    pub by: String,
    /// All of it.
    pub joules: Figure<f64>,
    /// On average.
    pub watts: Figure<f64>,
    /// Power before and after the load, when nothing was asked: the mean of both, and half of what they differ.
    pub idle_watts: Figure<Mean>,
    /// What the load took beyond that.
    pub above_idle_joules: Figure<Mean>,
    /// The same for each operation that ended.
    pub per_operation_joules: Figure<Mean>,
    /// The same for each value.
    pub per_value_joules: Figure<Mean>,
    /// The longest time between two readings: nothing shorter is seen.
    pub widest_gap_ns: Figure<u64>,
    /// Seconds that were added to a meter's time to have seconds since 1970, where a step of load told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligned_by_s: Option<Mean>,
    /// Power in the course of the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<PowerCourse>,
}

impl Energy {
    /// The standard deviation of power over the rows of its course that lie in a window of the phase.
    pub fn watts_stddev(&self, (from_ns, to_ns): (u64, u64)) -> Option<f64> {
        let course = self.course.as_ref()?;
        let inside = |row: u64| {
            row * course.interval_ns >= from_ns && (row + 1) * course.interval_ns <= to_ns
        };
        let rows: Vec<f64> = (0..)
            .zip(&course.watts)
            .filter(|(row, _)| inside(*row))
            .filter_map(|(_, watts)| *watts)
            .collect();
        let mean = average::mean(&rows)?;
        let squares: f64 = rows.iter().map(|it| (it - mean).powi(2)).sum();
        (rows.len() > 1).then(|| (squares / (rows.len() as f64 - 1.0)).sqrt())
    }
}

/// What observing cost the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observing {
    /// Time between two looks, as it was in the end.
    pub interval_ns: u64,
    /// Looks in all.
    pub looks: u64,
    /// Of them, closely: at threads, switches and what else takes a closer look.
    pub closely: u64,
    /// Looks that were left out because the machine came to them too late.
    pub missed: u64,
    /// CPU time of the thread that looks. It is part of the generator's.
    pub cpu_ns: Figure<u64>,
    /// The same, of a core.
    pub cpu_cores: Figure<f64>,
}
