//! Rows out of result files.

use plan::{Plan, Publish, Sampling, Spread, Subscribe, Work};
use record::Run;
use record::run::{Kind, Phase};

use crate::cost::PERCENT;
use crate::row::Row;
use crate::workload::{Security, Workload};

/// The rows of a run, one for each phase; of phases that are none, the reason.
pub fn rows(name: &str, run: &Run) -> Vec<Result<Row, String>> {
    let plan: Plan = match Plan::from_value(&run.plan) {
        Ok(plan) => plan,
        Err(error) => return vec![Err(format!("{name}: its plan cannot be read: {error}"))],
    };
    // What was left out of a run that ended early stands at the end of its plan.
    let phases = std::iter::zip(&plan.phases, &run.phases);
    phases
        .map(|(planned, measured)| {
            let name = match run.phases.len() {
                1 => name.to_owned(),
                _ => format!("{name} {}", measured.name),
            };
            row(&name, run, planned, measured).map_err(|why| format!("{name}: {why}"))
        })
        .collect()
}

fn row(name: &str, run: &Run, planned: &plan::Phase, measured: &Phase) -> Result<Row, String> {
    if run.is_simulated() {
        return Err(
            "it is simulated: a model is not to learn from what a model computed".to_owned(),
        );
    }
    if let kind @ (Kind::Failed | Kind::Incomplete) = measured.verdict.kind {
        return Err(format!("it is {}", kind.name()));
    }
    let [target] = &run.targets[..] else {
        return Err("it has several targets, whose costs are not told apart".to_owned());
    };
    if !measured.by_hand.is_empty() {
        return Err("its load was changed by hand".to_owned());
    }
    let window_s = measured.to_ns.saturating_sub(measured.from_ns) as f64 / 1e9;
    let mut servers = measured.resources.iter().filter(|it| it.who == "server");
    let usage = match (servers.next(), servers.next()) {
        (Some(usage), None) => &usage.window,
        (None, _) => {
            return Err(
                "the server's CPU is not in it (it has to run on the generator's machine, or be named with --server-pid)"
                    .to_owned(),
            );
        }
        _ => return Err("it has several servers, whose costs are not told apart".to_owned()),
    };
    let cpu_ns = match &usage.cpu_ns {
        record::run::Figure::Known(ns) => *ns as f64,
        record::run::Figure::Missing { not_available } => {
            return Err(format!("the server's CPU: {not_available}"));
        }
    };
    if window_s <= 0.0 {
        return Err("its window is empty".to_owned());
    }
    let security: Security = target
        .security
        .parse()
        .map_err(|error| format!("{error}"))?;
    let values_per_s = came_per_s(measured, window_s);
    let sessions = f64::from(planned.sessions);
    let asked = match &planned.work {
        Work::Subscribe(work) if planned.beside.is_empty() => {
            subscribed(planned, work, measured, values_per_s)?
        }
        Work::Read(_) => requests(sessions, measured, Kinds::Reads)?,
        Work::Write(_) => requests(sessions, measured, Kinds::Writes)?,
        Work::Publish(work) => published(work)?,
        other => {
            return Err(format!(
                "{}: models know subscriptions, reads, writes and what is published",
                other.name()
            ));
        }
    };
    let workload = Workload { security, ..asked };
    Ok(Row {
        run: name.to_owned(),
        workload,
        // Nanoseconds in a window, as percent of a core.
        cpu_percent: cpu_ns / 1e3 / window_s / PERCENT,
        values_per_s: values_per_s
            .filter(|_| matches!(planned.work, Work::Subscribe(_) | Work::Publish(_))),
        rss_bytes: usage.rss_peak_bytes.known().map(|&it| it as f64),
        window_s: Some(window_s),
        bytes_per_s: bytes_per_s(planned, measured, values_per_s, window_s),
    })
}

/// Values per second that were published, or that subscriptions brought in the window: those that carry a time, which is
/// what is asked for unless timestamps are not.
fn came_per_s(measured: &Phase, window_s: f64) -> Option<f64> {
    if let Some(told) = &measured.pubsub {
        // Cycles that are late follow each other: a publisher that is too slow takes longer than was asked for.
        let sent = told.published.as_ref()?;
        // Without an interval nothing is due but by the time that it took.
        let due_ns = sent.interval_ns.unwrap_or(0).saturating_mul(sent.cycles);
        let ns = due_ns.max(sent.elapsed_ns);
        return (ns > 0).then(|| sent.values as f64 * 1e9 / ns as f64);
    }
    let delays = measured.total.histograms.get("delay")?;
    (window_s > 0.0).then(|| delays.count() as f64 / window_s)
}

/// Bytes per second of messages to clients: what values took with their share of messages, or the answers of requests.
fn bytes_per_s(
    planned: &plan::Phase,
    measured: &Phase,
    values_per_s: Option<f64>,
    window_s: f64,
) -> Option<f64> {
    let bytes = match planned.work {
        Work::Subscribe(_) => measured.bytes_per_value()? * values_per_s?,
        Work::Publish(_) => {
            let sent = measured.pubsub.as_ref()?.published.as_ref()?;
            sent.bytes as f64 / sent.values.max(1) as f64 * values_per_s?
        }
        _ => measured.total.responses.total_bytes as f64 / window_s,
    };
    Some(bytes).filter(|it| *it > 0.0)
}

fn subscribed(
    planned: &plan::Phase,
    work: &Subscribe,
    measured: &Phase,
    came_per_s: Option<f64>,
) -> Result<Workload, String> {
    let Some(told) = &measured.subscriptions else {
        return Err("nothing is known of its subscriptions".to_owned());
    };
    if work.publishing_off || !work.churn.is_empty() || work.writer.is_some() {
        return Err("its subscriptions were changed or written to meanwhile".to_owned());
    }
    let ms = |it: std::time::Duration| it.as_secs_f64() * 1e3;
    let subscriptions = f64::from(planned.sessions) * f64::from(work.subscriptions);
    let items = told.items as f64;
    let publishing_ms = ms(work.publishing);
    let sampling_ms = match work.sampling {
        Sampling::Publishing => publishing_ms,
        Sampling::Every(it) => ms(it),
        Sampling::Fastest => {
            return Err("its sampling interval is the server's own (give one)".to_owned());
        }
    };
    let change_ms = match work.change_rate {
        Some(rate) => 1e3 / rate.as_f64(),
        // How often values change was not told: as often as they came.
        None => match came_per_s.filter(|it| *it > 0.0) {
            // Values that come at (nearly) each publishing change no more slowly.
            Some(came) if items / came * 1e3 <= publishing_ms.max(sampling_ms) * 1.05 => {
                publishing_ms.max(sampling_ms)
            }
            Some(came) => items / came * 1e3,
            None => 0.0,
        },
    };
    let variables = match planned.spread {
        Spread::Split => items,
        Spread::All => items / f64::from(planned.sessions.max(1)),
    };
    Ok(Workload {
        sessions: f64::from(planned.sessions),
        subscriptions: f64::from(work.subscriptions),
        items: if subscriptions > 0.0 {
            items / subscriptions
        } else {
            0.0
        },
        publishing_ms,
        sampling_ms,
        change_ms,
        queue: f64::from(work.queue),
        variables,
        ..Workload::idle()
    })
}

/// What a publisher sends, however many hear it.
fn published(work: &Publish) -> Result<Workload, String> {
    let Some(interval) = work.interval else {
        return Err("its cycles followed each other without a pause (give an interval)".to_owned());
    };
    // What is written, and by which way it goes, where that is another one than UDP.
    let mapping = Some(&work.mapping[..]).filter(|it| *it != "uadp");
    let way = work.to.split("://").next().filter(|it| *it != "opc.udp");
    let parts = mapping.into_iter().chain([&work.encoding[..]]).chain(way);
    let encoding = parts.collect::<Vec<_>>().join(" ");
    let (messages, sets) = (f64::from(work.groups), f64::from(work.writers));
    let ms = interval.as_secs_f64() * 1e3;
    Ok(Workload {
        subscriptions: sets,
        payload_bytes: match &work.kind[..] {
            "byte" => 1.0,
            "uint16" => 2.0,
            "int32" | "uint32" | "float" => 4.0,
            _ => 8.0,
        },
        ..Workload::of_publisher(&encoding, messages, f64::from(work.signals), ms)
    })
}

/// What requests do.
enum Kinds {
    Reads,
    Writes,
}

/// Requests as many as came; a closed loop tells no rate before it runs.
fn requests(sessions: f64, measured: &Phase, kinds: Kinds) -> Result<Workload, String> {
    let rate = measured.total.rate_per_s.filter(|it| *it > 0.0);
    let rate = rate.ok_or("nothing was answered")?;
    let values = measured.total.values as f64;
    let batch = (values / measured.total.completed.max(1) as f64).max(1.0);
    let mut workload = Workload {
        sessions,
        batch,
        ..Workload::idle()
    };
    match kinds {
        Kinds::Reads => workload.reads_per_s = rate,
        Kinds::Writes => workload.writes_per_s = rate,
    }
    Ok(workload)
}
