//! What happens to devices, and when.

use std::time::Duration;

use plan::unit::duration;
use plant::Fault;
use plant::file::{Complaint, Read};
use serde::Deserialize;
use toml::Spanned;

use crate::fleet::pattern::matches;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTable {
    at: Spanned<String>,
    devices: Spanned<String>,
    action: Spanned<String>,
    #[serde(rename = "for")]
    lasts: Option<Spanned<String>>,
    by: Option<Spanned<String>>,
    fault: Option<Spanned<String>>,
}

/// Something that happens to devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, since all devices were there.
    pub at: Duration,
    /// Whom it happens to, as it was typed.
    pub pattern: String,
    /// Whom it happens to, by their places, in order.
    pub devices: Vec<usize>,
    /// What, as it was typed.
    pub action: String,
    /// What that is for each of them.
    pub fault: Fault,
    /// For how long it takes them away, if it does.
    pub away: Option<Duration>,
}

impl Event {
    /// Whether it happens to a device.
    pub fn hits(&self, place: usize) -> bool {
        self.devices.binary_search(&place).is_ok()
    }
}

/// A device that restarts and does not say for how long.
const RESTART: &str = "1s";
/// Longer than anybody serves.
const FOR_GOOD: &str = "87600h";

/// All of them, in the order of time.
pub fn events(tables: &[Spanned<EventTable>], names: &[&str]) -> Read<Vec<Event>> {
    let mut events = Vec::new();
    let mut sorted: Vec<(Duration, &EventTable)> = Vec::new();
    for table in tables {
        sorted.push((time(&table.get_ref().at)?, table.get_ref()));
    }
    sorted.sort_by_key(|(at, _)| *at);
    for (at, table) in sorted {
        let pattern = table.devices.get_ref();
        let hit = |(n, name): (usize, &&str)| matches(pattern, name).then_some(n);
        let devices: Vec<usize> = names.iter().enumerate().filter_map(hit).collect();
        if devices.is_empty() {
            let what =
                format!("{pattern:?} is no device (want a name or a pattern such as line1-*)");
            return Err(Complaint::about(&table.devices, what));
        }
        let (fault, away) = what(table)?;
        events.push(Event {
            at,
            pattern: pattern.clone(),
            devices,
            action: table.action.get_ref().clone(),
            fault,
            away,
        });
    }
    Ok(events)
}

/// The fault of an event, and for how long it takes a device away.
fn what(table: &EventTable) -> Read<(Fault, Option<Duration>)> {
    let action = &table.action;
    let lasts = table.lasts.as_ref();
    let only = |of: &Option<Spanned<String>>, what: &str| match of {
        Some(text) => Err(Complaint::about(text, format!("is {what}"))),
        None => Ok(()),
    };
    let name = action.get_ref().as_str();
    if name != "slow" {
        only(&table.by, "for action = \"slow\" only")?;
    }
    if name != "fault" {
        only(&table.fault, "for action = \"fault\" only")?;
    }
    let leave = |unless: &str| {
        let typed = lasts.map_or(unless, |it| it.get_ref());
        if let Some(lasts) = lasts {
            time(lasts)?;
        }
        let fault = fault(
            lasts.unwrap_or(action),
            &format!("restart={typed},on=server"),
        )?;
        let leaves = duration::parse(typed).ok();
        Ok((fault, leaves))
    };
    match name {
        "down" => leave(FOR_GOOD),
        "restart" => leave(RESTART),
        "slow" => {
            let by = table.by.as_ref().ok_or_else(|| {
                Complaint::about(action, "by how much? (want by = \"50ms\" beside it)")
            })?;
            time(by)?;
            let mut text = format!("delay={},on=request", by.get_ref());
            if let Some(lasts) = lasts {
                time(lasts)?;
                text += &format!(",for={}", lasts.get_ref());
            }
            Ok((fault(by, &text)?, None))
        }
        "fault" => {
            if let Some(lasts) = lasts {
                let what = "stands in the fault itself: fault = \"delay=2ms,on=read,for=10s\"";
                return Err(Complaint::about(lasts, what));
            }
            let text = table.fault.as_ref().ok_or_else(|| {
                let what = "which? (want fault = \"delay=2ms,on=read,share=1%\" beside it)";
                Complaint::about(action, what)
            })?;
            Ok((fault(text, text.get_ref())?, None))
        }
        other => {
            let what = format!("{other:?} (want one of down, restart, slow, fault)");
            Err(Complaint::about(action, what))
        }
    }
}

fn fault(about: &Spanned<String>, text: &str) -> Read<Fault> {
    text.parse()
        .map_err(|error| Complaint::about(about, format!("{error}")))
}

/// A duration as it is typed.
pub fn time(text: &Spanned<String>) -> Read<Duration> {
    duration::parse(text.get_ref()).map_err(|error| Complaint::about(text, error.to_string()))
}
