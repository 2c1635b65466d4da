//! `uaperf listen opc.tcp://…`: what a server says that it publishes, and listening there.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use load::access::{Access, Security};
use load::pubsub::{Address, KeySupply, PubSubConnection, pubsub_connections};
use load::transport::Steps;
use plan::unit::duration::show;
use pubsub::security::Mode;
use std::time::Duration;
use wire::url::Url as ServerUrl;

use super::broker;
use super::{keys, message};
use crate::access::Trusting;
use crate::advice;
use crate::failure::Failure;
use crate::global::Global;
use crate::screen::{plain, tell};

/// Where a listener hears: where messages come to, or a server that says so.
#[derive(Debug, Clone)]
pub enum Origin {
    /// Messages come there.
    There(broker::Url),
    /// It says where.
    Server(ServerUrl),
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match ["opc.tcp://", "opc.wss://", "opc.https://"]
            .iter()
            .any(|it| text.starts_with(it))
        {
            true => text
                .parse()
                .map(Self::Server)
                .map_err(|error| format!("{error}")),
            false => text.parse().map(Self::There),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::There(it) => it.fmt(f),
            Self::Server(it) => it.fmt(f),
        }
    }
}

/// What a server publishes.
pub struct Publishes {
    /// Where datagrams come to.
    pub at: Address,
    /// What all that comes there is secured with at least, as the server says.
    pub security: Option<Mode>,
    /// All of it.
    pub connections: Vec<PubSubConnection>,
    /// Keys for what is secured, if the server has a key service for them.
    pub supply: Option<KeySupply>,
}

/// Asks a server what it publishes, and where.
pub fn ask(
    url: &ServerUrl,
    service: &keys::Args,
    trusting: &Trusting,
    has_keys: bool,
    global: &Global,
) -> anyhow::Result<Publishes> {
    let secret = service.secret()?;
    let mut access = service.access(url, &secret, trusting, global)?;
    if !service.has_user() {
        // What is published is no secret: what is not encrypted will do.
        access.security = Security::Unasked;
    }
    let connections = read(&access)?;
    let at = place(url, &connections)?;
    let security = security(&connections, at);
    let names = security_groups(&connections, at);
    if let [first, others @ ..] = names.as_slice()
        && !others.is_empty()
        && !has_keys
    {
        tell!(
            "messages are secured with keys of {}; only those of {} are asked for, name others with --keys FILE",
            plain(&names.join(", ")),
            plain(first)
        );
    }
    let supply = match names.first() {
        Some(group) if !has_keys => {
            Some(service.supply_of(group, url, &secret, trusting, true, global)?)
        }
        _ => None,
    };
    Ok(Publishes {
        at,
        security,
        connections,
        supply,
    })
}

/// The writer groups that send there.
fn groups(
    connections: &[PubSubConnection],
    at: Address,
) -> impl Iterator<Item = &load::pubsub::PubSubGroup> {
    let there = move |it: &&PubSubConnection| it.url.parse() == Ok(at);
    connections.iter().filter(there).flat_map(|it| &it.groups)
}

fn security(connections: &[PubSubConnection], at: Address) -> Option<Mode> {
    // Of whom it is not told nothing can be asked for.
    let modes = groups(connections, at).map(|it| it.security.as_deref().and_then(message::mode));
    modes.min().flatten()
}

/// Whose keys they are secured with.
fn security_groups(connections: &[PubSubConnection], at: Address) -> Vec<&str> {
    let secured = groups(connections, at).filter(|it| it.security.as_deref() != Some("none"));
    let names: BTreeSet<&str> = secured
        .filter_map(|it| it.security_group.as_deref())
        .collect();
    names.into_iter().collect()
}

fn read(access: &Access) -> anyhow::Result<Vec<PubSubConnection>> {
    let failed = |error| advice::on(&error, access);
    let opening = access.discover().map_err(failed)?;
    let mut session = access.open(&opening, &mut Steps::new()).map_err(failed)?;
    let connections = pubsub_connections(&mut session);
    session.leave();
    connections.map_err(|error| {
        Failure::new(format!("{}: {error}", access.url))
            .hint("does it have a PublishSubscribe object? name the address that it publishes to")
            .into()
    })
}

/// The only address that datagrams are sent to.
fn place(url: &ServerUrl, connections: &[PubSubConnection]) -> Result<Address, Failure> {
    let mut all: Vec<Address> = connections
        .iter()
        .filter_map(|it| it.url.parse().ok())
        .collect();
    all.sort_by_key(|it| it.0);
    all.dedup_by_key(|it| it.to_string());
    match all.as_slice() {
        [only] => Ok(*only),
        [] => {
            let urls: Vec<&str> = connections.iter().map(|it| it.url.as_str()).collect();
            let failure = Failure::new(match urls.is_empty() {
                true => format!("{url} publishes nothing that it tells of"),
                false => {
                    let urls = plain(&urls.join(", "));
                    format!("{url} publishes to {urls}, not over UDP")
                }
            });
            let begins = |with: &str| urls.iter().find(|it| it.starts_with(with));
            Err(match (begins("mqtt"), begins("opc.eth://")) {
                (Some(broker), _) => failure.hint(format!("uaperf listen {}/#", plain(broker))),
                (_, Some(frames)) => failure.hint(format!(
                    "uaperf listen {} --interface NAME, at an interface that its frames come to",
                    plain(frames)
                )),
                _ => failure.hint("name the address that it publishes to"),
            })
        }
        several => {
            let urls: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(
                Failure::new(format!("{url} publishes to {}", urls.join(", ")))
                    .hint(format!("name one: uaperf listen {}", several[0])),
            )
        }
    }
}

/// What it says, in a few lines.
pub fn write(out: &mut String, connections: &[PubSubConnection]) -> fmt::Result {
    for connection in connections {
        write!(out, "  the server publishes to {}", plain(&connection.url))?;
        if let Some(id) = &connection.publisher_id {
            write!(out, " as publisher {}", plain(id))?;
        }
        match &connection.state {
            Some(state) => writeln!(out, ": {state}")?,
            None => writeln!(out)?,
        }
        for group in &connection.groups {
            let each = group
                .interval_ms
                .map(|ms| Duration::try_from_secs_f64(ms / 1e3));
            write!(
                out,
                "    group {} ({}) each {}, security {}",
                group.id,
                plain(&group.name),
                each.and_then(Result::ok)
                    .map_or_else(|| "n/a".to_owned(), show),
                group.security.as_deref().unwrap_or("n/a")
            )?;
            if let Some(keys) = &group.security_group {
                write!(out, " of {}", plain(keys))?;
            }
            if let Some(sent) = group.sent {
                write!(out, ", {sent} messages sent")?;
            }
            if let Some(failed @ 1..) = group.failed {
                write!(out, ", {failed} failed")?;
            }
            writeln!(out)?;
            for writer in &group.writers {
                write!(out, "      writer {} ({})", writer.id, plain(&writer.name))?;
                if let (Some(set), Some(fields)) = (&writer.data_set, writer.fields) {
                    write!(out, ": {} of {fields} fields", plain(set))?;
                }
                writeln!(
                    out,
                    ", {}",
                    writer.encoding.as_deref().unwrap_or("encoding n/a")
                )?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::pubsub::PubSubGroup;
    use serde_json::json;

    fn connections() -> Vec<PubSubConnection> {
        let group = |security: &str, keys: &str| {
            json!({
                "name": "\u{1b}]0;lines\u{7}", "id": 1, "security": security, "security_group": keys,
                "interval_ms": 5.0, "sent": 1, "failed": 2, "writers": [],
            })
        };
        let of = |url: &str, groups: Vec<serde_json::Value>| {
            json!({
                "name": "c", "profile": "", "url": url, "interface": null, "publisher_id": "7",
                "state": null, "groups": groups,
            })
        };
        let all = json!([
            of(
                "opc.udp://127.0.0.1:4841",
                vec![group("sign", "b"), group("sign-and-encrypt", "a")]
            ),
            of("mqtt://127.0.0.1", vec![group("none", "c")]),
        ]);
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn what_is_secured_less_than_the_server_says_is_refused() {
        let all = connections();
        let at: Address = "opc.udp://127.0.0.1:4841".parse().unwrap();
        assert_eq!(security(&all, at), Some(Mode::Sign));
        assert_eq!(security_groups(&all, at), ["a", "b"]);
        let groups: Vec<&PubSubGroup> = groups(&all, at).collect();
        assert_eq!(groups.len(), 2);
    }

    #[test]
    fn what_a_server_does_not_tell_is_not_known() {
        let mut all = connections();
        let at: Address = "opc.udp://127.0.0.1:4841".parse().unwrap();
        let group = &mut all[0].groups[0];
        (group.security, group.interval_ms) = (None, None);
        // Nobody is refused for it, and keys may be needed.
        assert_eq!(security(&all, at), None);
        assert_eq!(security_groups(&all, at), ["a", "b"]);
        let mut out = String::new();
        write(&mut out, &all).unwrap();
        assert!(out.contains("each n/a, security n/a of b"), "{out}");
    }

    #[test]
    fn names_of_a_server_are_text_and_no_commands_of_a_terminal() {
        let mut out = String::new();
        write(&mut out, &connections()).unwrap();
        assert!(!out.contains(['\u{1b}', '\u{7}']), "{out}");
        assert!(out.contains("( ]0;lines )"), "{out}");
        assert!(out.contains("1 messages sent, 2 failed"), "{out}");
    }
}
