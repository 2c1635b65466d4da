//! Where an item is, as tables name it.

use record::run::{Place, Run};

pub(super) fn place(run: &Run, place: &Place) -> String {
    let target = match run.targets.get(place.target as usize) {
        Some(target) if run.targets.len() > 1 => format!("{}, ", target.url),
        _ => String::new(),
    };
    let item = place
        .item
        .map_or_else(String::new, |item| format!(", item {item}"));
    let node = place
        .node
        .as_ref()
        .map_or_else(String::new, |node| format!(" ({node})"));
    format!(
        "{target}session {}, subscription {}{item}{node}",
        place.session, place.subscription
    )
}
