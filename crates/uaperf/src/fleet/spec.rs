//! Where agents are: `local:4`, `ssh:user@host`.

use std::fmt;
use std::str::FromStr;

/// Agents that are started in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// So many processes on this machine.
    Local(u32),
    /// One on a host that ssh reaches.
    Ssh {
        /// As ssh takes it: a host of its configuration, or `user@host`.
        to: String,
        /// The program there; `uaperf` in its search path, where nothing is said.
        program: Option<String>,
    },
}

/// One agent, and how it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As results name it.
    pub name: String,
    /// How.
    pub spec: Spec,
}

/// More processes of one machine than any load needs.
const MOST: u32 = 256;

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let want = || {
            format!(
                "{text:?} names no agents (want local:2 for two processes on this machine, ssh:user@host or \
                 ssh:host:/path/to/uaperf)"
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
            _ => Err(want()),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(count) => write!(f, "local:{count}"),
            Self::Ssh { to, program } => {
                let program = program.as_ref().map(|it| format!(":{it}"));
                write!(f, "ssh:{to}{}", program.unwrap_or_default())
            }
        }
    }
}

/// All agents of a fleet, each with a name of its own.
pub fn places(specs: &[Spec]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut locals = 0;
    for spec in specs {
        match spec {
            Spec::Local(count) => {
                let names = (locals + 1..=locals + count).map(|n| format!("local:{n}"));
                places.extend(names.map(|name| Place {
                    name,
                    spec: spec.clone(),
                }));
                locals += count;
            }
            Spec::Ssh { to, .. } => {
                let same = places
                    .iter()
                    .filter(|it| matches!(&it.spec, Spec::Ssh { to: other, .. } if other == to));
                let name = match same.count() {
                    0 => format!("ssh:{to}"),
                    n => format!("ssh:{to}#{}", n + 1),
                };
                places.push(Place {
                    name,
                    spec: spec.clone(),
                });
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
        for text in ["local:4", "ssh:host", "ssh:me@10.0.0.7:/opt/uaperf"] {
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
            "nats:lab",
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert!(error.contains("want"), "{text}: {error}");
        }
    }
}
