//! `[fleet]`: the agents that make the load of phases.

use super::complaint::{Wrong, unknown};
use super::keys;
use super::tree::{Entry, Scalar};
use super::values::{table, texts, word};
use super::vocabulary::{Setting, Shape};

/// The option that names agents.
pub const OPTION: &str = "fleet";

/// What an agent's share is measured by, where it does not say so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shares {
    /// Alike.
    Weight,
    /// Its processors.
    Cores,
}

/// The agents, as a setting of each phase that they share; `instead` of those of the table others may be given.
pub fn read(entry: Option<&Entry>, instead: &[String]) -> Result<Option<Setting>, Wrong> {
    let setting = |hosts: Vec<String>, at, field: &str| Setting {
        option: OPTION.to_owned(),
        shape: Shape::Many,
        values: hosts.into_iter().map(Scalar::Text).collect(),
        at,
        field: field.to_owned(),
    };
    if !instead.is_empty() {
        return Ok(Some(setting(instead.to_vec(), 0..0, "--fleet")));
    }
    let Some(entry) = entry else { return Ok(None) };
    let entries = table(&entry.item, OPTION)?;
    let own = keys::fleet_keys();
    if let Some(other) = entries
        .iter()
        .find(|it| !own.iter().any(|key| key.is(&it.key)))
    {
        let what = unknown(&other.key, "key", own.iter().map(|key| key.name.as_str()));
        let field = format!("{OPTION}.{}", other.key);
        return Err(Wrong::new(&other.key_at, field, what));
    }
    let get = |key: &str| entries.iter().find(|it| it.key == key);
    let shares = match get("shares") {
        Some(entry) => word(
            &entry.item,
            "fleet.shares",
            &[("weight", Shares::Weight), ("cores", Shares::Cores)],
        )?,
        None => Shares::Weight,
    };
    let none = || "names no agents (want hosts = [\"local:2\"] or [\"ssh:user@host\"])";
    let hosts = get("hosts").ok_or_else(|| Wrong::new(&entry.item.at, OPTION, none()))?;
    let by = |host: &str| match shares {
        Shares::Cores if !host.contains('*') => format!("{host}*cores"),
        _ => host.to_owned(),
    };
    let texts = texts(&hosts.item, "fleet.hosts")?;
    let each = texts.iter().flat_map(|(text, _)| text.split(','));
    let all: Vec<String> = each.map(|host| by(host.trim())).collect();
    if all.is_empty() {
        return Err(Wrong::new(&hosts.item.at, "fleet.hosts", none()));
    }
    Ok(Some(setting(all, hosts.item.at.clone(), "fleet.hosts")))
}
