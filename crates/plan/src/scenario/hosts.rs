//! `[fleet]`: the agents that make the load of phases.

use super::complaint::{Wrong, unknown};
use super::tree::{Entry, Item, Scalar};
use super::values::{one, table, texts, word};
use super::vocabulary::{Setting, Shape};
use super::{Given, keys};

/// The option that names agents.
pub const OPTION: &str = "fleet";

/// The option that says for how long agents go on alone.
const ORPHAN: &str = "orphan";

/// What an agent's share is measured by, where it does not say so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shares {
    /// Alike.
    Weight,
    /// Its processors.
    Cores,
}

/// Who makes the load of a phase.
pub enum MadeBy {
    /// The agents of `[fleet]`, if there are any.
    Fleet,
    /// This process.
    Here,
    /// Agents of its own.
    Own(Setting),
}

/// What a phase says of it: `true`, `false`, or agents.
pub fn of_phase(entry: &Entry, field: &str) -> Result<MadeBy, Wrong> {
    let all = names(&entry.item, field)?;
    Ok(match all.as_slice() {
        [it] if it == "true" => MadeBy::Fleet,
        [it] if it == "false" => MadeBy::Here,
        [] => {
            let what = "names no agents (want false, or such as [\"ssh:user@host\"])";
            return Err(Wrong::new(&entry.item.at, field, what));
        }
        _ => MadeBy::Own(Setting {
            option: OPTION.to_owned(),
            shape: Shape::Many,
            values: all.into_iter().map(Scalar::Text).collect(),
            at: entry.item.at.clone(),
            field: field.to_owned(),
        }),
    })
}

fn names(item: &Item, field: &str) -> Result<Vec<String>, Wrong> {
    let texts = texts(item, field)?;
    let each = texts.iter().flat_map(|(text, _)| text.split(','));
    Ok(each.map(|host| host.trim().to_owned()).collect())
}

/// The agents, as settings of each phase that they share, the first with their names; none without agents. Others may be
/// given instead of those of the table.
pub fn read(entry: Option<&Entry>, given: &Given) -> Result<Vec<Setting>, Wrong> {
    let setting = |option: &str, values: Vec<String>, at, field: &str| Setting {
        option: option.to_owned(),
        shape: Shape::Many,
        values: values.into_iter().map(Scalar::Text).collect(),
        at,
        field: field.to_owned(),
    };
    let alone = |text: &String| setting(ORPHAN, vec![text.clone()], 0..0, "--orphan");
    let mut orphan: Vec<Setting> = given.orphan.iter().map(alone).collect();
    if !given.fleet.is_empty() {
        let hosts = setting(OPTION, given.fleet.clone(), 0..0, "--fleet");
        return Ok([vec![hosts], orphan].concat());
    }
    let Some(entry) = entry else {
        return Ok(Vec::new());
    };
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
    let all = names(&hosts.item, "fleet.hosts")?;
    let all: Vec<String> = all.iter().map(|host| by(host)).collect();
    if all.is_empty() {
        return Err(Wrong::new(&hosts.item.at, "fleet.hosts", none()));
    }
    if let (true, Some(entry)) = (orphan.is_empty(), get(ORPHAN)) {
        let text: String = one(&entry.item, "fleet.orphan", "a duration such as 30s")?;
        let at = entry.item.at.clone();
        orphan.push(setting(ORPHAN, vec![text], at, "fleet.orphan"));
    }
    let hosts = setting(OPTION, all, hosts.item.at.clone(), "fleet.hosts");
    Ok([vec![hosts], orphan].concat())
}
