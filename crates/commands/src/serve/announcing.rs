//! A server that says on this network that it is there (Part 12, Annex C).

use load::lan::{Announced, Announcement, LanError};
use plant::Server;
use wire::url::Url;

use crate::failure::Failure;
use crate::place;

/// Prepares to announce servers. Several have their ports in their names, so that each has one of its own.
pub fn open(servers: &[Server], capabilities: &[String]) -> anyhow::Result<Announcement> {
    let several = servers.len() > 1;
    let announced: Vec<_> = servers
        .iter()
        .map(|it| announced(it, several, capabilities))
        .collect();
    let opened = Announcement::open(&announced, &place::host_name());
    Ok(opened.map_err(|error| {
        let told = Failure::new(format!("cannot announce: {error}"));
        match error {
            LanError::Silent { .. } => told.hint(
                "another program may keep UDP port 5353 for itself; serve without --announce",
            ),
            LanError::NoInterface(_) => told.hint(
                "--listen an address of an interface that is up, or serve without --announce",
            ),
            _ => told,
        }
    })?)
}

fn announced(server: &Server, several: bool, capabilities: &[String]) -> Announced {
    let name = &server.config().name;
    let address = server.address();
    let urls = server.urls().filter_map(|(_, url)| url.parse::<Url>().ok());
    Announced {
        name: match several {
            true => format!("{name} {}", address.port()),
            false => name.clone(),
        },
        listens: address.ip(),
        urls: urls.collect(),
        capabilities: capabilities.to_vec(),
    }
}
