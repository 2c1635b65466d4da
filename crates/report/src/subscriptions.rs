//! What subscriptions brought: was anything lost, of which cause, where first, how late was it.

use plan::unit::duration::show_ns;
use plan::unit::{Bytes, Rate, share};
use record::run::{EventsHeard, Figure, First, Incident, Outcome, Phase, Subscriptions};

use crate::page::{Page, counted, grouped};
use crate::steps;
use crate::style::TextStyle;
use crate::table;

/// The first word of the accounting, and what became of what did not come.
pub(crate) fn accounting(page: &mut Page, told: &Subscriptions) {
    let ink = match told.outcome {
        Outcome::Lossless => TextStyle::Good,
        Outcome::NothingMissing => TextStyle::Bold,
        Outcome::Stalled | Outcome::Lost => TextStyle::Bad,
    };
    page.inked_row(told.outcome.name(), ink, &said(told));
    for found in told.causes.iter().filter(|found| is_loss(found)) {
        page.row("", &cause(found, told));
    }
    let rest: Vec<String> = told
        .causes
        .iter()
        .filter(|found| !is_loss(found))
        .map(|found| cause(found, told))
        .collect();
    for (at, text) in rest.iter().enumerate() {
        page.row(if at == 0 { "besides" } else { "" }, text);
    }
}

fn is_loss(found: &Incident) -> bool {
    matches!(
        found.cause.as_str(),
        "missing" | "lost_message" | "overflowed" | "stalled" | "outage" | "ended"
    )
}

/// The sentence behind the first word.
fn said(told: &Subscriptions) -> String {
    if let Some(why) = told.held.as_ref().filter(|_| told.lost == 0) {
        return format!("nothing was to be reported: {why}");
    }
    let rests = told.rests_on.join(", ");
    let delivered = told.delivered();
    match told.outcome {
        Outcome::Lossless => format!(
            "all {} that {} promised came, nothing is missing ({rests})",
            of(told, delivered),
            if delivered == 1 { "was" } else { "were" },
        ),
        Outcome::NothingMissing => {
            let mut text = format!("in {} ({rests})", of(told, delivered));
            text.push_str(if told.counters < told.items && told.events.is_some() {
                "; whether the server left out any before, only EventIds that count and no --where would tell"
            } else if told.counters < told.items {
                "; whether the server left out any before, counters of a plant, --change-rate or \
                 --writer would tell"
            } else {
                "; not all items reported to the end"
            });
            text
        }
        Outcome::Stalled => format!(
            "the generator itself did not run for a while: what the server could not keep meanwhile did not come, \
             of {} that came ({rests})",
            of(told, delivered)
        ),
        Outcome::Lost if told.lost == 0 => {
            format!(
                "no {} that can be counted, of {} that came",
                word(told),
                grouped(delivered)
            )
        }
        Outcome::Lost => {
            let share = told.loss_share().unwrap_or(0.0) * 100.0;
            let share = match share {
                s if s > 0.0 && s < 0.001 => "less than 0.001 %".to_owned(),
                s => format!("{s:.3} %"),
            };
            let lost = of(told, told.lost);
            format!("{lost}, {share} of what was promised ({rests})")
        }
    }
}

/// What is counted: values, or events.
fn word(told: &Subscriptions) -> &'static str {
    match told.events {
        Some(_) => "event",
        None => "value",
    }
}

/// So many values, or events.
fn of(told: &Subscriptions, count: u64) -> String {
    match told.events {
        Some(_) => counted(count, "event", "events"),
        None => counted(count, "value", "values"),
    }
}

/// `overflowed 12, first at 3.20 s: ns=2;s=X of subscription 1, before message 33`.
fn cause(found: &Incident, told: &Subscriptions) -> String {
    let count = grouped(found.count);
    let mut text = match found.cause.as_str() {
        "missing" => format!("{count} missing though promised, and nothing tells why"),
        "lost_message" if told.counters == 0 => format!("{count} messages never came"),
        "lost_message" => format!("{count} in messages that never came"),
        "overflowed" if told.events.is_some() && told.counters == 0 => {
            format!("queues overflowed {count} times, and nobody knows how much they lost")
        }
        "overflowed" => format!("{count} overflowed the server's queue"),
        "stalled" => format!("{count} overflowed while the generator itself did not run"),
        "outage" => format!("{count} passed while there was no subscription"),
        "overwritten" => format!("{count} overwritten in queues of one: --queue keeps more"),
        "sampled_away" => format!("{count} sampled away: --sampling is slower than the changes"),
        "repeated" => format!("{count} came again"),
        "out_of_order" => format!("{count} out of order"),
        "recovered" => format!("{count} recovered by Republish"),
        "late" => format!("{count} late by more than a publishing interval"),
        "stray" => format!("{count} of no item of their subscription"),
        "overflow_alone" => format!("{count} with an overflow bit, and nothing missing"),
        "ended" => {
            let why = told.ended.iter().find(|it| it.what == "ended");
            let why = why.map_or_else(String::new, |it| format!(": {}", it.status.name));
            let what = counted(found.count, "subscription", "subscriptions");
            format!("{what} ended by the server{why}")
        }
        other => format!("{count} {other}"),
    };
    if let Some(first) = &found.first {
        text.push_str(&format!("; first {}", place(first)));
    }
    text
}

fn place(first: &First) -> String {
    let at = match first.at_ns {
        at if at < 0 => format!("{} before the start", show_ns(at.unsigned_abs())),
        at => format!("at {}", show_ns(at.unsigned_abs())),
    };
    let place = &first.place;
    let mut text = format!("{at} in subscription {}", place.subscription);
    if place.session > 0 {
        text.push_str(&format!(" of session {}", place.session));
    }
    match (&place.node, place.item) {
        (Some(node), _) => text.push_str(&format!(", {node}")),
        (None, Some(item)) => text.push_str(&format!(", item {item}")),
        (None, None) => {}
    }
    if let Some(sequence) = first.sequence {
        text.push_str(&format!(", message {sequence}"));
    }
    text
}

/// What came, how evenly, and what it took to set up.
pub(crate) fn details(page: &mut Page, phase: &Phase, told: &Subscriptions) {
    page.row("rate", &rate(phase, told));
    page.row("delay", &delay(phase, told));
    page.row("came", &came(phase, told));
    if let Some(events) = &told.events {
        for (at, row) in heard(events).iter().enumerate() {
            page.row(if at == 0 { "events" } else { "" }, row);
        }
    }
    page.row("publish", &publish(told));
    if told.count("gaps") > 0 {
        page.row("gaps", &gaps(told));
    }
    if !told.outages.is_empty() || told.count("cut") > 0 {
        page.row("outages", &outages(told));
    }
    page.row("each", &each(told));
    for (label, row) in steps::rows(told) {
        page.row(label, &row);
    }
    for (at, row) in beside(told).iter().enumerate() {
        page.row(if at == 0 { "server says" } else { "" }, row);
    }
}

/// What came while it was measured.
fn rate(phase: &Phase, told: &Subscriptions) -> String {
    let (Some(values), Some(messages)) = (phase.values_per_s(), phase.messages_per_s()) else {
        return "n/a: nothing was measured".to_owned();
    };
    format!(
        "{} {}s in {} messages",
        Rate::show(values),
        word(told),
        Rate::show(messages)
    )
}

/// Of what the delay is made, and how far clocks can be trusted.
fn delay(phase: &Phase, told: &Subscriptions) -> String {
    let sum = |name: &str| phase.total.histogram(name).sum() as f64;
    let all = sum("delay");
    if all == 0.0 {
        return match told.events {
            Some(_) => "n/a: no event had a Time".to_owned(),
            None => "n/a: no value had a source timestamp".to_owned(),
        };
    }
    let of_it = |name: &str| share::show(sum(name) / all);
    let mut text = format!(
        "{} of it is phase (sampling and publishing), {} queueing in the server, {} transport",
        of_it("phase"),
        of_it("queueing"),
        of_it("transport")
    );
    match &told.clock.error_ns {
        Figure::Known(0) => text.push_str("; both sides read the same clock"),
        Figure::Known(error) => text.push_str(&format!("; clocks agree to {}", show_ns(*error))),
        Figure::Missing { .. } => text.push_str("; how far clocks agree is not known"),
    }
    text
}

/// What came in the measured window, and how much did not.
fn came(phase: &Phase, told: &Subscriptions) -> String {
    let (all, messages) = (told.count("received"), told.count("notifications"));
    let inside = phase.values_in_window().unwrap_or(all);
    let mut text = format!(
        "{} in {}, {}",
        of(told, inside),
        counted(
            phase.messages_in_window().unwrap_or(messages),
            "message",
            "messages"
        ),
        counted(told.count("keep_alives"), "keep-alive", "keep-alives"),
    );
    if let Some(bytes) = told.bytes_per_value {
        text.push_str(&format!(
            ", {} {}",
            Bytes::show(bytes),
            match told.events {
                Some(_) => "an event",
                None => "a value",
            }
        ));
    }
    for (name, what) in [
        ("bursts", "bursts of several messages"),
        ("overflow_bits", "overflow bits"),
        ("bad", "Bad values"),
    ] {
        if told.count(name) > 0 {
            text.push_str(&format!(", {} {what}", grouped(told.count(name))));
        }
    }
    if all > inside {
        let more = grouped(all - inside);
        text.push_str(&format!("; {more} more outside of the measured window"));
    }
    if told.silent > 0 {
        text.push_str(&format!(
            "; {} of {} never reported",
            grouped(told.silent),
            counted(told.items, "item", "items")
        ));
    }
    text
}

/// Types and what tells of the subscription itself.
fn heard(events: &EventsHeard) -> Vec<String> {
    let mut kinds: Vec<_> = events.kinds.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut named: Vec<String> = kinds
        .iter()
        .take(KINDS)
        .map(|(kind, count)| format!("{} {kind}", grouped(**count)))
        .collect();
    if kinds.len() > KINDS {
        named.push(format!("{} more types", kinds.len() - KINDS));
    }
    let mut rows = Vec::new();
    if !named.is_empty() {
        rows.push(named.join(", "));
    }
    let count = |name: &str| events.count(name);
    if count("refresh_starts") + count("refresh_ends") > 0 {
        let mut text = format!(
            "{} begun and {} ended, with {} between",
            counted(count("refresh_starts"), "refresh", "refreshes"),
            grouped(count("refresh_ends")),
            counted(count("refreshed"), "state", "states"),
        );
        if let (Some(mean), Some(max)) = (events.refreshes.mean(), events.refreshes.max())
            && max > 0
        {
            text.push_str(&format!(
                ", each told in {} (at most {})",
                table::time(Some(mean)),
                show_ns(max)
            ));
        }
        rows.push(text);
    }
    if count("refresh_required") > 0 {
        rows.push(format!(
            "the server asked for a refresh {} times",
            grouped(count("refresh_required"))
        ));
    }
    if count("unidentified") > 0 {
        rows.push(format!(
            "{} without an EventId: those that come twice are not known",
            grouped(count("unidentified"))
        ));
    }
    rows
}

/// Types of events that are named.
const KINDS: usize = 5;

fn publish(told: &Subscriptions) -> String {
    let mut text = format!(
        "{} sent, {} answered",
        counted(told.count("publish_sent"), "request", "requests"),
        grouped(told.count("publish_answered")),
    );
    for ended in told.ended.iter().filter(|it| it.what == "publish") {
        let status = &ended.status;
        text.push_str(&format!(", {} {}", grouped(status.count), status.name));
    }
    for ended in told.ended.iter().filter(|it| it.what == "refresh") {
        let status = &ended.status;
        let (count, name) = (grouped(status.count), &status.name);
        text.push_str(&format!(", {count} ConditionRefresh {name}"));
    }
    text
}

fn gaps(told: &Subscriptions) -> String {
    let mut text = format!(
        "{} with {} missing, republish asked {}, answered {}, refused {}",
        grouped(told.count("gaps")),
        counted(told.count("missing_messages"), "message", "messages"),
        grouped(told.count("republish_asked")),
        grouped(told.count("republish_answered")),
        grouped(told.count("republish_refused")),
    );
    if told.count("returned") > 0 {
        text.push_str(&format!(
            ", {} came by themselves",
            grouped(told.count("returned"))
        ));
    }
    if let (Some(mean), Some(max)) = (told.recovery.mean(), told.recovery.max()) {
        text.push_str(&format!(
            "; mended after {} (at most {})",
            table::time(Some(mean)),
            show_ns(max)
        ));
    }
    text
}

fn outages(told: &Subscriptions) -> String {
    let mut text = format!(
        "{} cut, {} went on, {} made again",
        counted(told.count("cut"), "subscription", "subscriptions"),
        grouped(told.count("resumed")),
        grouped(told.count("recreated")),
    );
    if let (Some(mean), Some(max)) = (told.outages.mean(), told.outages.max()) {
        text.push_str(&format!(
            "; back after {} (at most {})",
            table::time(Some(mean)),
            show_ns(max)
        ));
    }
    text
}

/// Subscriptions and items beside each other.
fn each(told: &Subscriptions) -> String {
    let mut text = format!(
        "{} with {}",
        counted(told.subscriptions, "subscription", "subscriptions"),
        counted(told.items, "item", "items"),
    );
    let fair = &told.fairness;
    if let (Some(min), Some(max)) = (fair.min_messages_per_s, fair.max_messages_per_s) {
        let each = range(format!("{min:.2}/s"), format!("{max:.2}/s"));
        text.push_str(&format!(": {each} messages each"));
    }
    if let (Some(min), Some(max), Some(jain)) = (
        fair.min_values_per_item,
        fair.max_values_per_item,
        fair.jain,
    ) {
        let each = range(format!("{min:.1}"), format!("{max:.1}"));
        text.push_str(&format!(
            ", {each} {}s an item (Jain's index {jain:.3})",
            word(told)
        ));
    }
    if let Some(max) = fair.max_jitter_ns {
        text.push_str(&format!(", jitter up to {}", table::time(Some(max))));
    }
    if let (Some(min), Some(max)) = (told.item_delay.min(), told.item_delay.max()) {
        let each = range(show_ns(min), show_ns(max));
        text.push_str(&format!("; mean delay of an item {each}"));
        let slowest = told.slowest.first().and_then(|it| it.place.node.clone());
        if let Some(node) = slowest.filter(|_| min < max) {
            text.push_str(&format!(" ({node})"));
        }
    }
    text
}

/// From one to the other, unless both are the same.
fn range(low: String, high: String) -> String {
    match low == high {
        true => low,
        false => format!("{low} to {high}"),
    }
}

fn beside(told: &Subscriptions) -> Vec<String> {
    let agree = told.beside.iter().filter(|it| it.agrees());
    let agree: Vec<String> = agree
        .map(|it| format!("{} {}", it.what, grouped(it.server)))
        .collect();
    let mut rows = Vec::new();
    if !agree.is_empty() {
        rows.push(format!("the same: {}", agree.join(", ")));
    }
    for it in told.beside.iter().filter(|it| !it.agrees()) {
        let because = it.because.as_ref().map(|why| format!(" ({why})"));
        rows.push(format!(
            "{}: {}, we {}{}",
            it.what,
            grouped(it.server),
            grouped(it.client),
            because.unwrap_or_default()
        ));
    }
    rows
}
