//! `uaperf listen opc.tcp://…`: what a server says that it publishes, and listening there.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use load::access::{Access, Security};
use load::pubsub::{Address, KeySupply, PubSubConnection, pubsub_connections};
use load::transport::Steps;
use plan::unit::duration::show;
use std::time::Duration;
use wire::url::Url as ServerUrl;

use super::broker;
use super::keys;
use crate::access::Trusting;
use crate::advice;
use crate::failure::Failure;
use crate::global::Global;

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
        match text.starts_with("opc.tcp://") || text.starts_with("opc.wss://") {
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
    let mut access = service.access(url, trusting, global)?;
    if !service.has_user() {
        // What is published is no secret: what is not encrypted will do.
        access.security = Security::Unasked;
    }
    let connections = read(&access)?;
    let at = place(url, &connections)?;
    let mut groups = connections.iter().flat_map(|it| &it.groups);
    let secured = groups.find(|it| it.security != "none" && it.security_group.is_some());
    let supply = match secured.and_then(|it| it.security_group.as_deref()) {
        Some(group) if !has_keys => Some(service.supply_of(group, url, trusting, true, global)?),
        _ => None,
    };
    Ok(Publishes {
        at,
        connections,
        supply,
    })
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
    all.dedup_by_key(|it| it.to_string());
    match all.as_slice() {
        [only] => Ok(*only),
        [] => {
            let urls: Vec<&str> = connections.iter().map(|it| it.url.as_str()).collect();
            let failure = Failure::new(match urls.is_empty() {
                true => format!("{url} publishes nothing that it tells of"),
                false => format!("{url} publishes to {}, not over UDP", urls.join(", ")),
            });
            Err(match urls.iter().find(|it| it.starts_with("mqtt")) {
                Some(broker) => failure.hint(format!("uaperf listen {broker}/#")),
                None => failure.hint("name the address that it publishes to"),
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
        write!(out, "  the server publishes to {}", connection.url)?;
        if let Some(id) = &connection.publisher_id {
            write!(out, " as publisher {id}")?;
        }
        match &connection.state {
            Some(state) => writeln!(out, ": {state}")?,
            None => writeln!(out)?,
        }
        for group in &connection.groups {
            let each = Duration::try_from_secs_f64(group.interval_ms / 1e3).unwrap_or_default();
            write!(
                out,
                "    group {} ({}) each {}, security {}",
                group.id,
                group.name,
                show(each),
                group.security
            )?;
            if let Some(keys) = &group.security_group {
                write!(out, " of {keys}")?;
            }
            if let Some(sent) = group.sent {
                write!(out, ", {sent} messages sent")?;
            }
            if let Some(failed @ 1..) = group.failed {
                write!(out, ", {failed} not")?;
            }
            writeln!(out)?;
            for writer in &group.writers {
                write!(out, "      writer {} ({})", writer.id, writer.name)?;
                if let (Some(set), Some(fields)) = (&writer.data_set, writer.fields) {
                    write!(out, ": {set} of {fields} fields")?;
                }
                writeln!(out, ", {}", writer.encoding)?;
            }
        }
    }
    Ok(())
}
