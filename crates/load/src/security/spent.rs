//! CPU of both ends for something that was done so often.

use std::time::Duration;

use plan::unit::duration::nanos;
use record::run::Figure;

/// CPU of both ends.
#[derive(Debug, Default)]
pub(super) struct Spent {
    of: u64,
    server: Option<Duration>,
    client: Option<Duration>,
}

impl Spent {
    pub(super) fn add(&mut self, of: u64, server: Option<Duration>, client: Option<Duration>) {
        let sum = |all: Option<Duration>, one: Option<Duration>| match self.of {
            0 => one,
            _ => Some(all? + one?),
        };
        self.server = sum(self.server, server);
        self.client = sum(self.client, client);
        self.of += of;
    }

    fn each(&self, spent: Option<Duration>, whose: &str) -> Figure<f64> {
        match spent {
            Some(spent) if self.of > 0 => Figure::Known(nanos(spent) as f64 / self.of as f64),
            Some(_) => Figure::missing("nothing was measured"),
            None => Figure::missing(format!("the CPU of {whose} is not known here")),
        }
    }

    pub(super) fn server(&self) -> Figure<f64> {
        self.each(self.server, "the server's process")
    }

    pub(super) fn client(&self) -> Figure<f64> {
        self.each(self.client, "this program's threads")
    }
}

/// What was spent between two looks at a clock.
pub(super) fn since(end: Option<Duration>, begin: Option<Duration>) -> Option<Duration> {
    Some(end?.saturating_sub(begin?))
}
