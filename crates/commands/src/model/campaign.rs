//! Loads to measure, as a scenario that `uaperf run` takes.

use std::fmt::Write as _;
use std::time::Duration;

use model::{Security, Workload};
use plan::unit::duration::typed;

use super::predict::Who;

/// A load that can be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    pub sessions: u32,
    pub points: u32,
    pub publishing: Duration,
    pub sampling: Duration,
    /// How often signals change.
    pub change: Duration,
    pub who: Who,
    pub security: Security,
}

/// How loads are measured.
pub struct Campaign {
    pub repeat: u32,
    pub seed: u64,
    /// Of each of them.
    pub duration: Duration,
}

fn ms(it: Duration) -> f64 {
    it.as_secs_f64() * 1e3
}

fn quoted(it: &str) -> String {
    format!("\"{it}\"")
}

impl Load {
    /// Whether each client has at least one point.
    pub fn is_possible(&self) -> bool {
        self.who == Who::All || self.points >= self.sessions
    }

    pub fn workload(&self) -> Workload {
        let items = match self.who {
            Who::All => f64::from(self.points),
            Who::Share => f64::from(self.points) / f64::from(self.sessions),
        };
        Workload {
            sampling_ms: ms(self.sampling),
            change_ms: ms(self.change),
            variables: f64::from(self.points),
            security: self.security,
            ..Workload::of_signals(f64::from(self.sessions), items, ms(self.publishing))
        }
    }

    fn change_rate(&self) -> String {
        let rate = format!("{:.3}", 1.0 / self.change.as_secs_f64());
        format!("{}/s", rate.trim_end_matches('0').trim_end_matches('.'))
    }

    fn spread(&self) -> &'static str {
        match self.who {
            Who::Share => "split",
            Who::All => "all",
        }
    }

    fn policy(&self) -> &'static str {
        match self.security {
            Security::None => "none",
            Security::Sign => "Basic256Sha256:Sign",
            Security::SignAndEncrypt => "Basic256Sha256:SignAndEncrypt",
        }
    }
}

/// A value of a scenario: one for all loads, or a parameter that is swept.
struct Value {
    name: &'static str,
    each: Vec<String>,
}

impl Value {
    fn new(name: &'static str, loads: &[&Load], of: impl Fn(&Load) -> String) -> Self {
        let each = loads.iter().map(|it| of(it)).collect();
        Self { name, each }
    }

    fn is_one(&self) -> bool {
        self.each.windows(2).all(|it| it[0] == it[1])
    }

    /// Where it is declared, if it is swept.
    fn declared(&self) -> String {
        match self.is_one() {
            true => String::new(),
            false => self.swept(),
        }
    }

    fn swept(&self) -> String {
        format!("{} = {{ sweep = [{}] }}\n", self.name, self.each.join(", "))
    }

    /// Where it is used.
    fn used(&self) -> String {
        match self.each.first() {
            Some(one) if self.is_one() => one.clone(),
            _ => format!("\"${}\"", self.name),
        }
    }
}

impl Campaign {
    /// The scenario, with its first line.
    pub fn scenario(&self, about: &str, loads: &[&Load]) -> String {
        let clients = Value::new("clients", loads, |it| it.sessions.to_string());
        let signals = Value::new("signals", loads, |it| it.points.to_string());
        let publishing = Value::new("publishing", loads, |it| quoted(&typed(it.publishing)));
        let at_publishing = loads.iter().all(|it| it.sampling == it.publishing);
        let sampling = Value::new("sampling", loads, |it| quoted(&typed(it.sampling)));
        let update = Value::new("update", loads, |it| quoted(&typed(it.change)));
        let rate = Value::new("change_rate", loads, |it| quoted(&it.change_rate()));
        let spread = Value::new("spread", loads, |it| quoted(it.spread()));
        let security = Value::new("security", loads, |it| quoted(it.policy()));
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = write!(
            text,
            "# {about} Run it, then fit a model to the folder of its results:
#   uaperf run THIS.toml --out results/campaign && uaperf model fit results/campaign
# For a server of your own put `target = \"opc.tcp://…\"` in the place of [start], and its nodes below.
name = \"campaign\"
repeat = {}
order = \"random\"
seed = {}
sweep = \"zipped\"

[parameters]
",
            self.repeat, self.seed
        );
        for always in [&clients, &signals, &publishing] {
            text += &always.swept();
        }
        if !at_publishing {
            text += &sampling.declared();
        }
        for varied in [&update, &rate, &spread, &security] {
            text += &varied.declared();
        }
        let _ = write!(
            text,
            "
[start]
plant = \"burger2019\"
signals = \"$signals\"
update = {}
restart = \"each point\"

[[phase]]
service = \"subscribe\"
nodes = [\"browse:/Objects/Signals/*\"]
sessions = \"$clients\"
spread = {}
publishing = \"$publishing\"
sampling = {}
change_rate = {}
",
            update.used(),
            spread.used(),
            match at_publishing {
                true => "\"$publishing\"".to_owned(),
                false => sampling.used(),
            },
            rate.used(),
        );
        if loads.iter().any(|it| it.security != Security::None) {
            let _ = writeln!(text, "security = {}", security.used());
        }
        let _ = writeln!(text, "duration = {}", quoted(&typed(self.duration)));
        text
    }
}
