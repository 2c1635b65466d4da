//! What servers counted themselves, beside what we counted.

use record::run::{Beside, Diagnostics};

use crate::page::{Page, grouped};

/// One row where both sides agree; one more for each thing in which they differ. Nothing where a server tells
/// nothing: that most do not is no news.
pub(crate) fn row(page: &mut Page, told: &Diagnostics) {
    let whose = match told.targets.len() {
        1 => "the server's own counters",
        _ => "the servers' own counters",
    };
    let (agree, differ): (Vec<&Beside>, Vec<&Beside>) =
        told.beside.iter().partition(|it| it.agrees());
    let named = |it: &Beside| format!("{} {}", grouped(it.server), it.what);
    let agree: Vec<String> = agree.into_iter().map(named).collect();
    let mut label = "witness";
    if !agree.is_empty() {
        page.row(label, &format!("{whose} agree: {}", agree.join(", ")));
        label = "";
    }
    for it in differ {
        let why = it.because.as_ref().map(|why| format!(" ({why})"));
        let text = format!(
            "{whose} differ: {} {}, {} by us{}",
            grouped(it.server),
            it.what,
            grouped(it.client),
            why.unwrap_or_default()
        );
        page.row(label, &text);
        label = "";
    }
}
