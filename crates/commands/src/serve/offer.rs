//! What a server has on offer, for people.

use plan::unit::Bytes;
use plant::{Config, Server};
use wire::channel::Protection;
use wire::policy::Policy;

/// Endpoints, users, files of nodes and faults, before it is ready.
pub fn text(server: &Server, count: usize) -> String {
    let config = server.config();
    let more = match count {
        0 | 1 => String::new(),
        n => format!(" and {} more alike", n - 1),
    };
    let fixed = config.advertise.is_some() || config.host.is_some();
    let everywhere = match server.address().ip().is_unspecified() && !fixed {
        true => " and at every other address of this machine",
        false => "",
    };
    let (name, url) = (&config.name, server.url());
    let mut text = format!("{name} at {url}{everywhere}{more}\n");
    for (_, url) in server.urls().skip(1) {
        text += &format!("  also at   {url}\n");
    }
    let mut policies: Vec<Policy> = Vec::new();
    for protection in &config.protections {
        if !policies.contains(&protection.policy) {
            policies.push(protection.policy);
        }
    }
    for policy in policies {
        let of = |one: &&Protection| one.policy == policy && policy != Policy::None;
        let modes = config.protections.iter().filter(of);
        let modes: Vec<_> = modes.map(|one| one.mode.to_string()).collect();
        text += match modes.is_empty() {
            true => format!("  security  {policy}\n"),
            false => format!("  security  {policy}: {}\n", modes.join(", ")),
        }
        .as_str();
    }
    text += &format!("  users     {}\n", users(config));
    let memory = Bytes(config.memory.limit() as u64);
    text += &format!("  memory    {memory} for clients\n");
    for set in &config.nodesets {
        let (nodes, file) = (set.loaded().nodes, set.file().display());
        text += &format!("  nodes     {nodes} of {file}\n");
    }
    for fault in &config.faults {
        text += &format!("  fault     {fault}\n");
    }
    text
}

fn users(config: &Config) -> String {
    let users = &config.users;
    let mut all: Vec<String> = Vec::new();
    if users.anonymous {
        all.push("anonymous".into());
    }
    let named = users.passwords.iter();
    all.extend(named.map(|(name, _)| format!("{name} (password)")));
    let tokens = users.tokens.iter();
    all.extend(tokens.map(|(name, _)| format!("{name} (issued token)")));
    if users.certificates.is_some() {
        all.push("certificates that are trusted".into());
    }
    match all.is_empty() {
        true => "nobody".into(),
        false => all.join(", "),
    }
}
