//! What was published and heard, on a screen.

use std::time::Duration;

use judge::compare::Metric;
use plan::unit::{Bytes, Rate, duration};
use record::run::{Figure, Listener, Phase, PubSub, Published};

use crate::page::{Page, clean, counted, grouped};

/// The rows of a phase.
pub(crate) fn details(page: &mut Page, phase: &Phase, told: &PubSub) {
    let listeners = told.listeners.len() as u64;
    page.row("rate", &rate(phase, told));
    if let Some(sent) = &told.published {
        page.row("published", &published(sent, told));
    }
    if let Some(text) = broker(told) {
        page.row("broker", &text);
    }
    page.row("heard", &heard(told));
    if let Some(text) = keys(told) {
        page.row("keys", &text);
    }
    if let Some(text) = clocks(told) {
        page.row("clocks", &text);
    }
    page.row("lost", &lost(told));
    page.row("a value", &each(phase));
    if listeners > 1 && !told.is_brokered() {
        let cost = "each listener on this host costs the publisher time: the kernel delivers while it sends";
        page.row("", cost);
    }
}

fn rate(phase: &Phase, told: &PubSub) -> String {
    let listeners = told.listeners.len() as u64;
    let (Some(values), Some(datagrams)) = (phase.values_per_s(), phase.total.rate_per_s) else {
        return "n/a: nothing was measured".to_owned();
    };
    let datagrams = datagrams / listeners.max(1) as f64;
    let text = format!(
        "{} values in {} {}",
        Rate::show(values),
        Rate::show(datagrams),
        told.counted().1
    );
    match listeners {
        1 => text,
        n => format!("{text}, at each of {n} listeners on average"),
    }
}

fn published(it: &Published, told: &PubSub) -> String {
    let (one, several) = told.counted();
    let mut text = grouped(it.cycles);
    if let Some(planned) = it.planned_cycles.filter(|planned| *planned != it.cycles) {
        text.push_str(&format!(" of {}", grouped(planned)));
    }
    text.push_str(" cycles");
    if let Some(interval) = it.interval_ns {
        let interval = duration::show_ns(interval);
        text.push_str(&format!(", one each {interval}"));
    }
    text.push_str(&format!(
        ": {} of {}, {} values",
        counted(it.datagrams, one, several),
        Bytes::show(it.datagram_bytes as f64),
        grouped(it.values)
    ));
    if it.refused > 0 && it.broker.is_none() {
        text.push_str(&format!(", {} refused by the kernel", grouped(it.refused)));
    }
    text
}

/// What a broker did with it.
pub(crate) fn broker(told: &PubSub) -> Option<String> {
    let sent = told.published.as_ref().and_then(|it| it.broker.as_ref());
    let listener = told.listeners.iter().find_map(|it| it.broker.as_ref());
    let (version, tls, qos) = match (sent, listener) {
        (Some(it), _) => (&it.version, &it.tls, it.qos),
        (None, Some(it)) => (&it.version, &it.tls, it.qos),
        (None, None) => return None,
    };
    let mut text = format!("MQTT {version}");
    if let Some(tls) = tls {
        text.push_str(&format!(" over {tls}"));
    }
    text.push_str(&format!(", QoS {qos}"));
    let Some(it) = sent else { return Some(text) };
    if it.qos > 0 {
        text.push_str(&format!(": {} acknowledged", grouped(it.acknowledged)));
        let time = |q| it.acknowledgement.quantile(q).map(Duration::from_nanos);
        if let (Some(half), Some(most)) = (time(0.5), time(0.99)) {
            let (half, most) = (duration::show(half), duration::show(most));
            text.push_str(&format!(" (p50 {half}, p99 {most})"));
        }
    }
    for (count, what) in [
        (it.unacknowledged, "not acknowledged"),
        (it.refused, "refused"),
        (it.not_connected, "not sent without a connection"),
        (it.window_full, "not sent with too many unacknowledged"),
        (it.socket_full, "not sent with a full socket"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", grouped(count)));
        }
    }
    Some(text)
}

fn heard(told: &PubSub) -> String {
    let (one, several) = told.counted();
    let sum = |of: fn(&Listener) -> u64| told.sum(of);
    let mut text = format!(
        "{} by {}, {} values",
        counted(sum(|it| it.datagrams), one, several),
        counted(told.listeners.len() as u64, "listener", "listeners"),
        grouped(sum(|it| it.values))
    );
    let mut kinds: Vec<&str> = told
        .listeners
        .iter()
        .flat_map(|it| it.encodings.iter().chain(&it.security))
        .map(String::as_str)
        .filter(|it| *it != "none")
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        text.push_str(&format!(", {}", kinds.join(", ")));
    }
    for (count, what) in [
        (sum(|it| it.repeated), "repeated"),
        (sum(|it| it.late), "late"),
        (sum(|it| it.restarts), "times begun anew"),
        (sum(Listener::unreadable), "not readable"),
        (sum(|it| it.discovery), "probes and announcements"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", grouped(count)));
        }
    }
    text
}

/// Which keys there were, at the publisher of ours or else at the first listener.
pub(crate) fn keys(told: &PubSub) -> Option<String> {
    let sent = told.published.as_ref().and_then(|it| it.keys.as_ref());
    let heard = told.listeners.iter().find_map(|it| it.keys.as_ref());
    let it = sent.or(heard)?;
    let mut text = match it.tokens.as_slice() {
        [] => "none used".to_owned(),
        [one] => format!("token {}", one.token),
        [first, .., last] => format!(
            "{} tokens, {} to {}",
            it.tokens.len(),
            first.token,
            last.token
        ),
    };
    if it.asked > 0 {
        let answered = counted(it.asked, "time", "times");
        text.push_str(&format!("; the key service answered {answered}"));
    }
    if let Some(why) = &it.last_error {
        let failed = counted(it.failed, "request", "requests");
        text.push_str(&format!(", {failed} failed: {why}"));
    }
    if it.expired > 0 {
        let expired = grouped(it.expired);
        text.push_str(&format!(", {expired} with a key whose time was over"));
    }
    Some(text)
}

/// How far the clocks of both sides agree, where they are on hosts that were named.
pub(crate) fn clocks(told: &PubSub) -> Option<String> {
    let clock = told.clock.as_ref()?;
    let [sends, receives] = clock.between.as_slice() else {
        return None;
    };
    let whose = format!(
        "those of {} (publishes) and {}",
        clean(sends),
        clean(receives)
    );
    let mut text = match &clock.error_ns {
        Figure::Known(error) => {
            let error = duration::show_ns(*error);
            format!("{whose} agree to ±{error}, which every delay has")
        }
        Figure::Missing { not_available } => {
            format!("how far {whose} agree is not known: {not_available}")
        }
    };
    if clock.ahead > 0 {
        let ahead = counted(clock.ahead, "message", "messages");
        text.push_str(&format!(
            "; {ahead} came before they were sent, and count as 0"
        ));
    }
    Some(text)
}

fn lost(told: &PubSub) -> String {
    let Some(lost) = told.lost() else {
        return "unknown: messages have no sequence numbers".to_owned();
    };
    let mut text = grouped(lost);
    if lost > 0 {
        let share = told.loss_share().unwrap_or(0.0) * 100.0;
        text.push_str(&format!(" ({share:.3} %)"));
        let longest = told.listeners.iter().map(|it| it.longest_gap).max();
        let gaps = counted(told.sum(|it| it.gaps), "gap", "gaps");
        text.push_str(&format!(
            " in {gaps}, the longest of {}",
            longest.unwrap_or(0)
        ));
    }
    match told.socket_drops() {
        Some(drops) => text.push_str(&format!(
            "; dropped by sockets of this host: {}",
            grouped(drops)
        )),
        None if told.is_brokered() => {
            text.push_str("; what the broker dropped is among them, it does not say it");
        }
        None => text.push_str("; this system does not tell what its sockets dropped"),
    }
    text
}

/// What a value costs.
fn each(phase: &Phase) -> String {
    let time = |metric: Metric| {
        let each = metric.of(phase).map(duration::show_nanos);
        each.unwrap_or_else(|| "n/a".to_owned())
    };
    let bytes = Metric::BytesPerValue.of(phase).map(Bytes::show);
    format!(
        "{}; CPU {} at its sender, {} at a listener",
        bytes.unwrap_or_else(|| "n/a: no value was counted".to_owned()),
        time(Metric::CpuPerValue),
        time(Metric::ReceiverCpuPerValue)
    )
}
