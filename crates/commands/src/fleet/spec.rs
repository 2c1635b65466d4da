//! Where agents are: `local:4`, `ssh:user@host`, `nats:lab`, `ssh:host*2`.

use std::fmt;
use std::str::FromStr;

/// Agents that are started in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Where, and how many.
    way: Way,
    /// Of each.
    weight: Weight,
}

/// How agents are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// So many processes on this machine.
    Local(u32),
    /// One on a host that ssh reaches.
    Ssh {
        /// As ssh takes it: a host of its configuration, or `user@host`.
        to: String,
        /// The program there; `uaperf` in its search path, where nothing is said.
        program: Option<String>,
    },
    /// Those that wait at a broker.
    Nats {
        /// Under this tag.
        tag: String,
        /// The one with this name; all that are free, where nothing is said.
        name: Option<String>,
    },
}

/// How much of the load an agent gets, beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// So many parts.
    Parts(u32),
    /// A part for each processor that it may use.
    Cores,
}

impl Weight {
    /// The weight of an agent with so many processors.
    pub fn of(self, cores: u32) -> u32 {
        match self {
            Self::Parts(parts) => parts,
            Self::Cores => cores.max(1),
        }
    }
}

/// One agent, and how it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As results name it.
    pub name: String,
    /// How.
    pub way: Way,
    /// How much of the load it gets.
    pub weight: Weight,
}

impl Spec {
    /// The tag under which all free agents of a broker are meant.
    pub fn tag(&self) -> Option<&str> {
        match &self.way {
            Way::Nats { tag, name: None } => Some(tag),
            _ => None,
        }
    }

    /// How they are started.
    pub const fn way(&self) -> &Way {
        &self.way
    }

    /// Whether a weight was said.
    pub fn is_weighed(&self) -> bool {
        self.weight != Weight::Parts(1)
    }

    /// One on this machine.
    pub const fn here() -> Self {
        Self {
            way: Way::Local(1),
            weight: Weight::Parts(1),
        }
    }

    /// One of them, with its name.
    pub fn named(&self, name: &str) -> Self {
        match &self.way {
            Way::Nats { tag, .. } => Self {
                way: Way::Nats {
                    tag: tag.clone(),
                    name: Some(name.to_owned()),
                },
                weight: self.weight,
            },
            _ => self.clone(),
        }
    }

    /// One agent of it, with this name.
    pub fn place(&self, name: &str) -> Place {
        Place {
            name: name.to_owned(),
            way: self.way.clone(),
            weight: self.weight,
        }
    }
}

impl Place {
    /// How this one alone is asked for.
    pub fn spec(&self) -> String {
        let way = match &self.way {
            Way::Local(_) => Way::Local(1),
            way => way.clone(),
        };
        let weight = self.weight;
        Spec { way, weight }.to_string()
    }
}

/// More processes of one machine than any load needs.
const MOST: u32 = 256;

/// One agent does not get more than so many times the load of another one.
const HEAVIEST: u32 = 1000;

impl Way {
    /// The name by which a host is reached that ssh reaches.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Ssh { to, .. } => Some(to.rsplit_once('@').map_or(to, |(_, host)| host)),
            Self::Local(_) | Self::Nats { .. } => None,
        }
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, weight) = match text.rsplit_once('*') {
            None => (text, Weight::Parts(1)),
            Some((place, "cores")) => (place, Weight::Cores),
            Some((place, parts)) => {
                let parts = parts.parse().ok().filter(|n| (1..=HEAVIEST).contains(n));
                let parts = parts.ok_or_else(|| {
                    format!("{text:?}: want a weight of 1 to {HEAVIEST} behind the *, or *cores")
                })?;
                (place, Weight::Parts(parts))
            }
        };
        Ok(Self {
            way: place.parse()?,
            weight,
        })
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let want = || {
            format!(
                "{text:?} names no agents (want local:2 for two processes on this machine, ssh:user@host or \
                 ssh:host:/path/to/uaperf, nats:TAG or nats:TAG/NAME; with *3 behind it for three times the load)"
            )
        };
        match text.split_once(':').ok_or_else(want)? {
            ("local", count) => {
                let count = count.parse().ok().filter(|n| (1..=MOST).contains(n));
                let count = count
                    .ok_or_else(|| format!("{text:?}: want a number of processes, 1 to {MOST}"))?;
                Ok(Self::Local(count))
            }
            ("ssh", to) => {
                let (to, program) = match to.split_once(":/") {
                    Some((to, path)) => (to, Some(format!("/{path}"))),
                    None => (to, None),
                };
                // Both become words of a command line, the second one of a shell on another host.
                let plain = |word: &str| {
                    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@._-/+%[]".contains(c);
                    !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain)
                };
                if !plain(to) || to.contains('/') || !program.as_deref().is_none_or(plain) {
                    return Err(format!(
                        "{text:?}: want ssh:user@host or ssh:host:/path/to/uaperf; a port and keys belong in \
                         the configuration of ssh"
                    ));
                }
                Ok(Self::Ssh {
                    to: to.to_owned(),
                    program,
                })
            }
            ("nats", who) => {
                let (tag, name) = match who.split_once('/') {
                    Some((tag, name)) => (tag, Some(name)),
                    None => (who, None),
                };
                if !is_word(tag) || !name.is_none_or(is_name) {
                    return Err(want());
                }
                Ok(Self::Nats {
                    tag: tag.to_owned(),
                    name: name.map(str::to_owned),
                })
            }
            _ => Err(want()),
        }
    }
}

/// Whether it can be a part of a broker's subject: tags and tenants.
pub fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain)
}

/// Whether it can be an agent's name: that of a host is one.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(is_word)
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Local(count) => write!(f, "local:{count}")?,
            Way::Ssh { to, program } => {
                let program = program.as_ref().map(|it| format!(":{it}"));
                write!(f, "ssh:{to}{}", program.unwrap_or_default())?;
            }
            Way::Nats { tag, name } => {
                let name = name.as_ref().map(|it| format!("/{it}"));
                write!(f, "nats:{tag}{}", name.unwrap_or_default())?;
            }
        }
        match self.weight {
            Weight::Parts(1) => Ok(()),
            Weight::Parts(parts) => write!(f, "*{parts}"),
            Weight::Cores => f.write_str("*cores"),
        }
    }
}

/// All agents of a fleet, each with a name of its own.
pub fn places(specs: &[Spec]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut locals = 0;
    for spec in specs {
        let place = |name| Place {
            name,
            way: spec.way.clone(),
            weight: spec.weight,
        };
        match &spec.way {
            Way::Local(count) => {
                let names = (locals + 1..=locals + count).map(|n| format!("local:{n}"));
                places.extend(names.map(place));
                locals += count;
            }
            Way::Ssh { to, .. } => {
                let same = places
                    .iter()
                    .filter(|it| matches!(&it.way, Way::Ssh { to: other, .. } if other == to));
                let name = match same.count() {
                    0 => format!("ssh:{to}"),
                    n => format!("ssh:{to}#{}", n + 1),
                };
                places.push(place(name));
            }
            way @ Way::Nats { .. } => {
                let same = places.iter().filter(|it| it.way == *way).count();
                let name = Spec {
                    weight: Weight::Parts(1),
                    way: way.clone(),
                };
                places.push(place(match same {
                    0 => name.to_string(),
                    n => format!("{name}#{}", n + 1),
                }));
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn names(specs: &[&str]) -> Vec<String> {
        let specs: Vec<Spec> = specs.iter().map(|it| it.parse().unwrap()).collect();
        places(&specs).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn each_agent_has_a_name_of_its_own() {
        assert_eq!(
            names(&["local:2", "ssh:lab@plc1", "local:1", "ssh:lab@plc1"]),
            [
                "local:1",
                "local:2",
                "ssh:lab@plc1",
                "local:3",
                "ssh:lab@plc1#2"
            ]
        );
    }

    #[test]
    fn a_spec_is_shown_as_it_is_typed() {
        for text in [
            "local:4",
            "local:2*3",
            "ssh:host*cores",
            "ssh:me@10.0.0.7:/opt/uaperf*12",
            "nats:lab",
            "nats:lab/pc1.plant*cores",
        ] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_spec_or_would_be_more_than_a_host_is_refused() {
        for text in [
            "",
            "local",
            "local:0",
            "local:x",
            "local:257",
            "plc1",
            "ssh:",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "ssh:host:/x;reboot",
            "ssh:host:22",
            "nats:",
            "nats:a.b",
            "nats:lab/",
            "nats:lab/>",
            "local:2*0",
            "local:2*1001",
            "local:2*x",
            "ssh:host*2*3",
            "*3",
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert!(error.contains("want"), "{text}: {error}");
        }
    }
}
