//! What several tables of a file have: paths and counts.

use std::ops::Range;

use toml::Spanned;

use super::error::{Complaint, Read};
use crate::terms::Ids;

/// As many as a server can find by an index and still have room for aliases.
const MOST: u64 = 100_000_000;

/// The path of a folder: names with slashes between them.
pub fn path(path: Option<Spanned<String>>) -> Read<String> {
    let Some(path) = path else {
        return Ok(String::new());
    };
    if path.get_ref().split('/').any(str::is_empty) {
        let what = format!(
            "{:?} is no path (want names with / between them)",
            path.get_ref()
        );
        return Err(Complaint::about(&path, what));
    }
    Ok(path.into_inner())
}

/// How many there are, and their ids.
pub fn count(
    asked: Option<Spanned<u64>>,
    ids: Option<&Spanned<Ids>>,
    span: &Range<usize>,
) -> Read<(u64, Option<Ids>)> {
    if let Some(count) = asked
        .as_ref()
        .filter(|count| !(1..=MOST).contains(count.get_ref()))
    {
        let what = format!("is {} (want 1 to {MOST})", count.get_ref());
        return Err(Complaint::about(count, what));
    }
    let count = asked.as_ref().map(|count| *count.get_ref());
    let Some(ids) = ids else {
        return Ok((count.unwrap_or(1), None));
    };
    let enough = match ids.get_ref() {
        Ids::Numbers {
            first,
            last: Some(last),
        } => Some(u64::from(last - first) + 1),
        Ids::One(_) => Some(1),
        Ids::Numbers { first, last: None } => {
            let Some(count) = count else {
                let what = "do not end (want count, too, or the last as in \"i=1000..1499\")";
                return Err(Complaint::about(ids, what));
            };
            if count > u64::from(u32::MAX - first) {
                return Err(Complaint::about(
                    ids,
                    "go beyond the largest id (want smaller ones)",
                ));
            }
            None
        }
        Ids::Texts(_) => None,
    };
    let count = match (enough, count) {
        (Some(enough), Some(count)) if enough != count => {
            let what =
                format!("{count} signals have {enough} ids (leave count out, or make them equal)");
            let span = asked.map_or(span.clone(), |count| count.span());
            return Err(Complaint { span, what });
        }
        (Some(enough), _) => enough,
        (None, count) => count.unwrap_or(1),
    };
    Ok((count, Some(ids.get_ref().clone())))
}
