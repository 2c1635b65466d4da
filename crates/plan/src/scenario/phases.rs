//! The phases of a point, with what they have from their groups and the defaults.

use super::complaint::{Wrong, unknown};
use super::hosts::MadeBy;
use super::tree::{Entry, Item, Node};
use super::values::{one, refused, setting, table, thresholds};
use super::vocabulary::{Key, Setting, Vocabulary};
use super::{Group, ScenarioPhase, hosts, keys, weights};
use crate::phase::Phase;
use crate::threshold::Threshold;

/// What phases have that do not say it themselves.
pub struct Inherited<'a> {
    pub defaults: Option<&'a Entry>,
    pub groups: Option<&'a Entry>,
    pub slo: Option<&'a Entry>,
    pub stop_when: Option<&'a Entry>,
    /// Who shares their load, the agents first; none where nobody does.
    pub fleet: Vec<Setting>,
}

/// A phase before it is one.
struct Sketch<'a> {
    field: String,
    item: &'a Item,
    service: String,
    keys: Vec<Key>,
    name: Option<String>,
    group: Option<String>,
    weight: Option<u32>,
    /// Who makes its load.
    made_by: MadeBy,
    settings: Vec<Setting>,
    slo: Vec<Threshold>,
    stop_when: Vec<Threshold>,
}

/// The phases, those that run at the same time together.
pub fn read(
    phases: Option<&Entry>,
    inherited: &Inherited<'_>,
    servers: usize,
    vocabulary: &dyn Vocabulary,
) -> Result<Vec<Group>, Wrong> {
    let items = match phases.map(|entry| (&entry.item.node, entry)) {
        Some((Node::List(items), _)) if !items.is_empty() => items,
        Some((_, entry)) => {
            let what = "is no list of phases (want [[phase]], once for each)";
            return Err(Wrong::new(&entry.key_at, "phase", what));
        }
        None => {
            let what = "there is none (want [[phase]] with a service, once or more)";
            return Err(Wrong::new(&(0..0), "phase", what));
        }
    };
    let mut sketches = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        sketches.push(sketch(item, format!("phase[{n}]"), inherited, vocabulary)?);
    }
    inherit(&mut sketches, inherited)?;
    share(&mut sketches, &inherited.fleet, vocabulary)?;
    let mut groups: Vec<(Option<String>, Vec<ScenarioPhase>)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for sketch in sketches {
        let phase = vocabulary
            .phase(&sketch.service, &sketch.settings, servers)
            .map_err(|refusal| refused(refusal, &sketch.settings, sketch.item, &sketch.field))?;
        let name = distinct(
            sketch.name.unwrap_or_else(|| sketch.service.clone()),
            &names,
        );
        names.push(name.clone());
        let step = ScenarioPhase {
            phase: Phase {
                name: Some(name.clone()),
                ..phase
            },
            name,
            service: sketch.service,
            settings: sketch.settings,
            slo: sketch.slo,
            stop_when: sketch.stop_when,
        };
        match groups.last_mut() {
            Some((group, steps)) if group.is_some() && *group == sketch.group => steps.push(step),
            _ => groups.push((sketch.group, vec![step])),
        }
    }
    Ok(groups
        .into_iter()
        .map(|(_, steps)| Group { steps })
        .collect())
}

/// A name that no other phase has.
fn distinct(name: String, taken: &[String]) -> String {
    if !taken.contains(&name) {
        return name;
    }
    let numbered = (2..).map(|n| format!("{name} {n}"));
    let mut free = numbered.filter(|name| !taken.contains(name));
    free.next().unwrap_or_default()
}

fn sketch<'a>(
    item: &'a Item,
    field: String,
    inherited: &Inherited<'_>,
    vocabulary: &dyn Vocabulary,
) -> Result<Sketch<'a>, Wrong> {
    let entries = table(item, &field)?;
    let get = |key: &str| entries.iter().find(|entry| entry.key == key);
    let services = vocabulary.services();
    let service = match get("service") {
        Some(entry) => {
            let service = entry.item.to_string();
            if !services.contains(&service) {
                let what = unknown(&service, "service", services.iter().map(String::as_str));
                let field = format!("{field}.service");
                return Err(Wrong::new(
                    &entry.item.at,
                    field,
                    format!("{service:?}: {what}"),
                ));
            }
            service
        }
        None => {
            let what = format!(
                "names no service (want service = one of {})",
                services.join(", ")
            );
            return Err(Wrong::new(&item.at, field, what));
        }
    };
    let text = |key: &str| match get(key) {
        Some(entry) => one::<String>(&entry.item, &format!("{field}.{key}"), "a text").map(Some),
        None => Ok(None),
    };
    let conditions = |key: &str, above: Option<&Entry>| match (get(key), above) {
        (Some(entry), _) => thresholds(&entry.item, &format!("{field}.{key}")),
        (None, Some(entry)) => thresholds(&entry.item, key),
        (None, None) => Ok(Vec::new()),
    };
    let keys = vocabulary.keys(&service);
    let own = keys::phase_keys();
    let mut settings: Vec<Setting> = Vec::new();
    for entry in entries {
        if own.iter().any(|key| key.is(&entry.key)) {
            continue;
        }
        let setting = setting(entry, &field, &keys, &own)?;
        if settings.iter().any(|other| other.option == setting.option) {
            let what = "is there twice, under two names (want it once)";
            return Err(Wrong::new(&entry.key_at, setting.field, what));
        }
        settings.push(setting);
    }
    Ok(Sketch {
        name: text("name")?,
        group: text("group")?,
        weight: match get("weight") {
            Some(entry) => {
                let field = format!("{field}.weight");
                let want = "a whole number from 1 to 1000000";
                let weight: u32 = one(&entry.item, &field, want)?;
                if !(1..=1_000_000).contains(&weight) {
                    return Err(Wrong::new(
                        &entry.item.at,
                        field,
                        format!("{weight} (want {want})"),
                    ));
                }
                Some(weight)
            }
            None => None,
        },
        made_by: match get(hosts::OPTION) {
            Some(entry) => hosts::of_phase(entry, &format!("{field}.fleet"))?,
            None => MadeBy::Fleet,
        },
        slo: conditions("slo", inherited.slo)?,
        stop_when: conditions("stop_when", inherited.stop_when)?,
        keys,
        service,
        settings,
        item,
        field,
    })
}

/// Gives phases what their group and the defaults say and they do not.
fn inherit(sketches: &mut [Sketch<'_>], inherited: &Inherited<'_>) -> Result<(), Wrong> {
    if let Some(groups) = inherited.groups {
        for group in table(&groups.item, "group")? {
            let field = format!("group.{}", group.key);
            let entries = table(&group.item, &field)?;
            let mut members: Vec<&mut Sketch<'_>> = sketches
                .iter_mut()
                .filter(|sketch| sketch.group.as_deref() == Some(&group.key))
                .collect();
            if members.is_empty() {
                let what = format!("no phase is in it (want group = {:?} in some)", group.key);
                return Err(Wrong::new(&group.key_at, field, what));
            }
            let weighed: Vec<Option<u32>> = members.iter().map(|it| it.weight).collect();
            for entry in entries {
                let key = common(entry, &field, &members)?;
                let parts = match weights::divides(&key.option) {
                    true if weighed.iter().any(Option::is_some) => {
                        let setting = setting(entry, &field, &[key], &[])?;
                        Some(weights::divide(&setting, &weighed)?)
                    }
                    _ => None,
                };
                give(entry, &field, &mut members, parts)?;
            }
        }
    }
    for sketch in sketches.iter() {
        let shared = |group: &str| {
            let groups = inherited
                .groups
                .and_then(|it| table(&it.item, "group").ok());
            let table = groups.and_then(|all| all.iter().find(|it| it.key == group));
            let entries = table.and_then(|it| self::table(&it.item, "").ok());
            entries.is_some_and(|entries| {
                entries
                    .iter()
                    .any(|it| weights::divides(&it.key.replace('_', "-")))
            })
        };
        if sketch.weight.is_some() && !sketch.group.as_deref().is_some_and(shared) {
            let what = "divides nothing (want a group, and in its table [group.NAME] sessions, rate_total \
                        or requests)";
            return Err(Wrong::new(
                &sketch.item.at,
                format!("{}.weight", sketch.field),
                what,
            ));
        }
    }
    if let Some(defaults) = inherited.defaults {
        let mut members: Vec<&mut Sketch<'_>> = sketches.iter_mut().collect();
        for entry in table(&defaults.item, "defaults")? {
            common(entry, "defaults", &members)?;
            give(entry, "defaults", &mut members, None)?;
        }
    }
    Ok(())
}

/// Gives the agents to the phases that they share.
fn share(
    sketches: &mut [Sketch<'_>],
    fleet: &[Setting],
    vocabulary: &dyn Vocabulary,
) -> Result<(), Wrong> {
    let can = vocabulary.shared();
    let of_fleet = |it: &Sketch<'_>| matches!(it.made_by, MadeBy::Fleet);
    if let [agents, ..] = fleet
        && !sketches.iter().any(of_fleet)
    {
        let what = "no phase is shared by them (want one without a fleet of its own)";
        return Err(Wrong::new(&agents.at, hosts::OPTION, what));
    }
    for sketch in sketches {
        let settings = match &sketch.made_by {
            MadeBy::Here => continue,
            MadeBy::Fleet => fleet.to_vec(),
            // How long agents go on alone holds for all of them.
            MadeBy::Own(agents) => {
                let rest = fleet.iter().skip(1).cloned();
                std::iter::once(agents.clone()).chain(rest).collect()
            }
        };
        if settings.is_empty() {
            continue;
        }
        if !can.contains(&sketch.service) {
            let what = format!(
                "agents do not carry out {} yet (want {}, or fleet = false: its load is made here)",
                sketch.service,
                can.join(", ")
            );
            let field = format!("{}.service", sketch.field);
            return Err(Wrong::new(&sketch.item.at, field, what));
        }
        sketch.settings.extend(settings);
    }
    Ok(())
}

/// The key that an entry is for at least one of the phases.
fn common(entry: &Entry, field: &str, members: &[&mut Sketch<'_>]) -> Result<Key, Wrong> {
    let mut all = members.iter().flat_map(|it| &it.keys);
    match all.find(|key| key.is(&entry.key)) {
        Some(key) => Ok(key.clone()),
        None => {
            let known = members.iter().flat_map(|it| &it.keys);
            let mut known: Vec<&str> = known.map(|key| key.name.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            let what = unknown(&entry.key, "key", known);
            Err(Wrong::new(
                &entry.key_at,
                format!("{field}.{}", entry.key),
                what,
            ))
        }
    }
}

/// Gives an entry to the phases that know its key and have none of their own.
fn give(
    entry: &Entry,
    field: &str,
    members: &mut [&mut Sketch<'_>],
    parts: Option<Vec<Setting>>,
) -> Result<(), Wrong> {
    let mut parts = parts.map(Vec::into_iter);
    for sketch in members {
        let part = parts.as_mut().and_then(Iterator::next);
        let Some(key) = sketch.keys.iter().find(|key| key.is(&entry.key)) else {
            continue;
        };
        if sketch.settings.iter().any(|it| it.option == key.option) {
            continue;
        }
        let setting = match part {
            Some(part) => part,
            None => setting(entry, field, std::slice::from_ref(key), &[])?,
        };
        sketch.settings.push(setting);
    }
    Ok(())
}
