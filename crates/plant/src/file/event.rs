//! Sources of events in a plant file: whether type, rate, severity and limits go together.

use std::ops::Range;

use plan::unit::{Rate, duration};
use serde::Deserialize;
use toml::Spanned;

use super::common::{self, path};
use super::error::{Complaint, Read};
use crate::describe::EventSources;
use crate::space::event::source::LIMITS;
use crate::space::event::{Beat, EventKind};
use crate::terms::{Ids, Template};

/// Sources of one group at most: each is an object, and a condition some thirty nodes more.
const MOST: u64 = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsTable {
    pub folder: Option<Spanned<String>>,
    pub count: Option<Spanned<u64>>,
    pub first: Option<u64>,
    pub name: Spanned<Template>,
    pub ids: Option<Spanned<Ids>>,
    #[serde(rename = "type")]
    pub kind: Option<Spanned<EventKind>>,
    pub rate: Option<Spanned<String>>,
    pub burst: Option<Spanned<String>>,
    pub severity: Option<Spanned<Severity>>,
    pub message: Option<Template>,
    pub limits: Option<Spanned<LimitsOfAlarm>>,
}

/// One severity, or the lowest and the highest.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Severity {
    One(u16),
    Between([u16; 2]),
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsOfAlarm {
    high_high: Option<f64>,
    high: Option<f64>,
    low: Option<f64>,
    low_low: Option<f64>,
}

pub fn sources(table: EventsTable, span: Range<usize>) -> Read<EventSources> {
    let kind = table.kind.as_ref();
    let kind = kind.map_or(EventKind::BaseEventType, |kind| *kind.get_ref());
    let name = table.name.get_ref().clone();
    let (count, ids) = match (&table.count, &table.ids) {
        (count, None) => {
            let ids = Spanned::new(table.name.span(), Ids::Texts(name.clone()));
            common::count(count.clone(), Some(&ids), &span)?
        }
        (count, Some(ids)) => common::count(count.clone(), Some(ids), &span)?,
    };
    let ids = ids.unwrap_or_else(|| Ids::Texts(name.clone()));
    if count > MOST {
        let what = format!("{count} sources are too many (want {MOST} at most)");
        return Err(Complaint { span, what });
    }
    if let Ids::Texts(text) = &ids
        && count > 1
        && !text.has_number()
    {
        let what =
            format!("{count} sources need different ids (want {{n}} in the name or in the ids)");
        return Err(Complaint { span, what });
    }
    let first = match &ids {
        Ids::Numbers { first, .. } => u64::from(*first),
        _ => table.first.unwrap_or(0),
    };
    Ok(EventSources {
        folder: path(table.folder)?,
        count,
        first,
        ids,
        name,
        kind,
        beat: beat(table.rate, table.burst, &span)?,
        severity: severity(table.severity)?,
        message: table.message,
        limits: limits(kind, table.limits, &span)?,
    })
}

fn beat(
    rate: Option<Spanned<String>>,
    burst: Option<Spanned<String>>,
    span: &Range<usize>,
) -> Read<Beat> {
    match (rate, burst) {
        (Some(rate), None) => {
            let parsed: Result<Rate, _> = rate.get_ref().parse();
            parsed
                .map(Beat::Even)
                .map_err(|error| Complaint::about(&rate, error.to_string()))
        }
        (None, Some(burst)) => {
            let text = burst.get_ref();
            let wrong = || {
                let what = format!(
                    "{text:?} is no burst (want so many events and a period of 1ms or more, as \"500/250ms\")"
                );
                Complaint::about(&burst, what)
            };
            let (count, period) = text.split_once('/').ok_or_else(wrong)?;
            let count: u64 = count.trim().parse().map_err(|_| wrong())?;
            let period = duration::parse(period.trim()).map_err(|_| wrong())?;
            match count > 0 && count <= 1_000_000 && period.as_millis() > 0 {
                true => Ok(Beat::Burst { count, period }),
                false => Err(wrong()),
            }
        }
        (None, None) => Err(Complaint {
            span: span.clone(),
            what: "has neither rate nor burst (want rate = \"100/s\" or burst = \"500/1s\")".into(),
        }),
        (Some(_), Some(burst)) => {
            let what = "stands beside a rate (want one of them; another table has the other)";
            Err(Complaint::about(&burst, what))
        }
    }
}

/// Part 5, 6.4.2: severities are 1 to 1000.
fn severity(asked: Option<Spanned<Severity>>) -> Read<(u16, u16)> {
    let Some(asked) = asked else {
        return Ok((500, 500));
    };
    let (low, high) = match *asked.get_ref() {
        Severity::One(one) => (one, one),
        Severity::Between([low, high]) => (low, high),
    };
    match low >= 1 && low <= high && high <= 1000 {
        true => Ok((low, high)),
        false => {
            let what = format!("is {low} to {high} (want 1 to 1000, the lower end first)");
            Err(Complaint::about(&asked, what))
        }
    }
}

fn limits(
    kind: EventKind,
    asked: Option<Spanned<LimitsOfAlarm>>,
    span: &Range<usize>,
) -> Read<[Option<f64>; 4]> {
    let Some(asked) = asked else {
        return match kind.has_limits() {
            false => Ok([None; 4]),
            true => Err(Complaint {
                span: span.clone(),
                what: "has no limits, which its type needs (want limits = { high = 90, low = 10 }, with high_high and low_low if wanted)".into(),
            }),
        };
    };
    if !kind.has_limits() {
        let what = format!("belong to limit alarms, and this is a {kind:?} (leave them out)");
        return Err(Complaint::about(&asked, what));
    }
    let of = asked.get_ref();
    let all = [of.high_high, of.high, of.low, of.low_low];
    let there = all.iter().flatten();
    let there: Vec<f64> = there.copied().collect();
    let falling = there.is_sorted_by(|above, below| above > below);
    match !there.is_empty() && falling && there.iter().all(|limit| limit.is_finite()) {
        true => Ok(all),
        false => {
            let what = format!(
                "are {there:?} (want at least one, and {} falling)",
                LIMITS.join(", ")
            );
            Err(Complaint::about(&asked, what))
        }
    }
}
