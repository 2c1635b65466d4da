//! Which process is meant: by its id, its name, or the port that it listens on.

use std::str::FromStr;

use platform::System;

use crate::figure::{Figure, NotAvailable};
use crate::listener;
use crate::tree::Tree;

/// A process of this machine as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By its id: `4711`.
    Id(u32),
    /// By the TCP port that it listens on: `:4840`.
    Port(u16),
    /// By the name of its program: `server`.
    Name(String),
}

/// Why a text names no process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no process (want an id, a name, or a port such as :4840)")]
pub struct NoTarget(String);

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let wrong = || NoTarget(text.to_owned());
        if let Some(port) = text.strip_prefix(':') {
            let port = port.parse().ok().filter(|port| *port != 0);
            return port.map(Self::Port).ok_or_else(wrong);
        }
        match text.parse() {
            Ok(0) => Err(wrong()),
            Ok(id) => Ok(Self::Id(id)),
            // A number that is no id is no name either.
            Err(_) if text.trim().is_empty() || text.bytes().all(|b| b.is_ascii_digit()) => {
                Err(wrong())
            }
            Err(_) => Ok(Self::Name(text.to_owned())),
        }
    }
}

impl Target {
    /// The id of the process that is meant.
    pub fn resolve(&self) -> Figure<u32> {
        match self {
            Self::Id(id) => match std::fs::metadata(format!("/proc/{id}")) {
                Ok(_) => Ok(*id),
                Err(_) if System::IS_LINUX => {
                    Err(NotAvailable::because(format!("no process has the id {id}")))
                }
                Err(_) => Err(NotAvailable::here()),
            },
            Self::Port(port) => listener(*port),
            Self::Name(name) => named(&Tree::here(), name, std::process::id()),
        }
    }
}

/// The one process of this name that is not `but`.
fn named(tree: &Tree, name: &str, but: u32) -> Figure<u32> {
    let mut found: Vec<u32> = Vec::new();
    let ids = tree.names("/proc")?;
    for id in ids.iter().filter_map(|it| it.parse().ok()) {
        if id != but && program(tree, id).iter().any(|it| it == name) {
            found.push(id);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [id] => Ok(*id),
        [] => Err(NotAvailable::because(format!("no process is named {name}"))),
        several => {
            let ids: Vec<String> = several.iter().map(u32::to_string).collect();
            Err(NotAvailable::because(format!(
                "{} processes are named {name}: {}; take one by its id or port",
                several.len(),
                ids.join(", ")
            )))
        }
    }
}

/// What a process may be called: as the kernel does, cut to 15 bytes, and by the program that was started.
fn program(tree: &Tree, id: u32) -> Vec<String> {
    let kernel = tree.line(&format!("/proc/{id}/comm")).ok();
    // Of the kernel's own threads there are no words.
    let words = tree
        .text(&format!("/proc/{id}/cmdline"))
        .unwrap_or_default();
    let typed = words
        .split('\0')
        .next()
        .and_then(|it| it.rsplit('/').next());
    kernel.into_iter().chain(typed.map(str::to_owned)).collect()
}

/// What a process is called: its program, or the kernel's name for it.
pub fn name_of(tree: &Tree, id: u32) -> Figure<String> {
    let name = program(tree, id).into_iter().rfind(|it| !it.is_empty());
    name.ok_or_else(|| NotAvailable::because(format!("process {id} has ended")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ports_and_names_are_told_apart() {
        assert_eq!("4711".parse(), Ok(Target::Id(4711)));
        assert_eq!(":4840".parse(), Ok(Target::Port(4840)));
        assert_eq!("server.py".parse(), Ok(Target::Name("server.py".into())));
        for wrong in ["", " ", "0", ":0", ":", ":99999", "99999999999"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong:?}");
        }
    }
}
