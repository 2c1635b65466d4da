//! What servers counted themselves, beside what we counted.

use record::run::{CountComparison, Diagnostics};

use crate::page::{Page, grouped};

/// One row where both sides agree; one more for each thing in which they differ. Nothing where a server tells
/// nothing: that most do not is no news.
pub(crate) fn row(page: &mut Page, told: &Diagnostics) {
    let whose = match told.targets.len() {
        1 => "the server's own counters",
        _ => "the servers' own counters",
    };
    let (agree, differ): (Vec<&CountComparison>, Vec<&CountComparison>) =
        told.beside.iter().partition(|it| it.agrees());
    let named = |it: &CountComparison| several(it.server, &it.what);
    let agree: Vec<String> = agree.into_iter().map(named).collect();
    let mut label = "diagnostics";
    if !agree.is_empty() {
        page.row(label, &format!("{whose} agree: {}", agree.join(", ")));
        label = "";
    }
    for it in differ {
        let why = it.because.as_ref().map(|why| format!(" ({why})"));
        let text = format!(
            "{whose} differ: {}, {} by us{}",
            several(it.server, &it.what),
            grouped(it.client),
            why.unwrap_or_default()
        );
        page.row(label, &text);
        label = "";
    }
}

/// `1 subscription`, `2 subscriptions`; `1 publish request answered`.
fn several(count: u64, what: &str) -> String {
    // What is counted comes first; how, behind it.
    let whole = [" answered", " with "]
        .iter()
        .find_map(|behind| Some(what.split_at(what.find(behind)?)));
    let (things, how) = whole.unwrap_or((what, ""));
    let things = match count {
        1 => things.strip_suffix('s').unwrap_or(things),
        _ => things,
    };
    format!("{} {things}{how}", grouped(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_told_as_one() {
        assert_eq!(several(1, "subscriptions"), "1 subscription");
        assert_eq!(several(0, "subscriptions"), "0 subscriptions");
        assert_eq!(
            several(1, "publish requests answered"),
            "1 publish request answered"
        );
        assert_eq!(several(1, "messages with values"), "1 message with values");
        assert_eq!(several(2000, "values"), "2,000 values");
    }
}
