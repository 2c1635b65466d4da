//! How long values are on their way, as a line.

use std::fmt::{self, Write as _};

use model::delay::Delay;
use model::plant::Phases;

/// When the publishing intervals of clients begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Begin {
    /// At the same moment
    Aligned,
    /// By chance
    #[default]
    Random,
    /// Evenly spread
    Staggered,
}

impl From<Begin> for Phases {
    fn from(begin: Begin) -> Self {
        match begin {
            Begin::Aligned => Self::Aligned,
            Begin::Random => Self::Random,
            Begin::Staggered => Self::Staggered,
        }
    }
}

/// A line behind so many blanks; without a delay, why there is none.
pub fn draw(out: &mut String, indent: &str, width: usize, delay: Option<&Delay>) -> fmt::Result {
    let Some(delay) = delay else {
        return writeln!(
            out,
            "{indent}{:<width$}grows without end: one core publishes, and it cannot",
            "delay"
        );
    };
    writeln!(
        out,
        "{indent}{:<width$}p50 {:.1} ms, p95 {:.1} ms: phase {:.1}, queue {:.1}, service {:.1}, link {:.1} ms on average",
        "delay",
        delay.p50_ms,
        delay.p95_ms,
        delay.phase_ms,
        delay.queue_ms,
        delay.service_ms,
        delay.link_ms
    )
}

/// Half of the values, and 95 of 100, as two cells of a table.
pub fn cells(delay: Option<&Delay>) -> String {
    let ms = |it: f64| format!("{it:.1} ms");
    let [half, most] = match delay {
        Some(it) => [ms(it.p50_ms), ms(it.p95_ms)],
        None => ["grows".to_owned(), "without end".to_owned()],
    };
    format!("{half:>14}{most:>14}")
}
