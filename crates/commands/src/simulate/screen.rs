//! What a simulation says, on a screen and as JSON.

use std::fmt::{self, Write as _};

use model::plant::Plant;
use plan::unit::duration::show_ns;
use record::average::mean;
use record::{Histogram, Measure};
use serde::Serialize;
use simulate::{Act, On, Outcome};

use super::world::World;
use crate::model::wrapped;

/// Rows of the time line.
const ROWS: usize = 12;

/// What came of a plant.
#[derive(Debug, Serialize)]
pub struct Summary {
    simulated: bool,
    plant: String,
    about: String,
    costs: String,
    seed: u64,
    length_ns: u64,
    events: u64,
    notes: Vec<String>,
    kinds: Vec<OfKind>,
    links: Vec<OfLink>,
    limits: String,
    happened: Vec<Happened>,
    course: Vec<Row>,
}

/// A kind of servers.
#[derive(Debug, Serialize)]
struct OfKind {
    name: String,
    count: u32,
    cores: u32,
    clients: u32,
    cpu_percent: f64,
    busiest_percent: f64,
    peak_percent: f64,
    peak_at_ns: u64,
    limit_percent: f64,
    delay: Times,
    queueing: Times,
    transport: Times,
    /// Of requests, where there are any.
    response: Times,
    messages: u64,
    values: u64,
    overwritten: u64,
    missed: u64,
    skipped: u64,
    waited: u64,
    sent_again: u64,
    cut: u64,
    attempts: u64,
    given_up: u64,
    resumed: u64,
    renewed: u64,
    left_away: u64,
    longest_outage_ns: Option<u64>,
}

/// Percentiles.
#[derive(Debug, Default, Serialize)]
struct Times {
    p50_ns: Option<u64>,
    p95_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Times {
    fn of(it: &Histogram) -> Self {
        Self {
            p50_ns: it.quantile(0.5),
            p95_ns: it.quantile(0.95),
            p99_ns: it.quantile(0.99),
            max_ns: it.max(),
        }
    }
}

#[derive(Debug, Serialize)]
struct OfLink {
    name: String,
    copies: u32,
    /// Of the busiest one, down.
    share_percent: Option<f64>,
    peak_percent: Option<f64>,
    lost_packets: u64,
}

/// Something that happened, and what came of it.
#[derive(Debug, Serialize)]
struct Happened {
    at_ns: u64,
    lasts_ns: u64,
    what: String,
    clients: u64,
    fewest_connected: u64,
    /// When all were connected again, from the beginning on; none if they were not.
    all_back_after_ns: Option<u64>,
}

/// A part of the time line.
#[derive(Debug, Serialize)]
struct Row {
    from_ns: u64,
    to_ns: u64,
    connected: u64,
    messages: u64,
    delay_p95_ns: Option<u64>,
    /// Of each kind: of all its cores.
    cpu_percent: Vec<f64>,
}

impl Summary {
    /// What came of it.
    pub fn of(it: &World, plant: &Plant, outcome: &Outcome) -> Self {
        let world = &it.world;
        let kinds: Vec<OfKind> = (0..world.kinds.len())
            .map(|k| of_kind(it, plant, outcome, k))
            .collect();
        let percent = |it: Option<f64>| it.map(|share| share * 100.0);
        let links: Vec<OfLink> = std::iter::zip(&world.links, &outcome.links)
            .map(|(link, used)| OfLink {
                name: link.name.clone(),
                copies: used.copies,
                share_percent: percent(larger(used.share)),
                peak_percent: percent(larger(used.peak)),
                lost_packets: used.lost,
            })
            .collect();
        Self {
            simulated: true,
            plant: plant.name.clone(),
            about: plant.about.clone(),
            costs: it.costs.clone(),
            seed: world.seed,
            length_ns: outcome.length,
            events: outcome.events,
            notes: it.notes.clone(),
            limits: limits(&kinds, &links),
            happened: world
                .happenings
                .iter()
                .map(|h| happened(it, outcome, h))
                .collect(),
            course: course(it, outcome),
            kinds,
            links,
        }
    }
}

fn larger(of: [Option<f64>; 2]) -> Option<f64> {
    of.into_iter().flatten().fold(None, |most, it| {
        Some(most.map_or(it, |most: f64| most.max(it)))
    })
}

fn of_kind(it: &World, plant: &Plant, outcome: &Outcome, k: usize) -> OfKind {
    let kind = &it.world.kinds[k];
    let groups = || outcome.groups.iter().filter(|it| it.kind == k);
    let histogram = |measure| {
        let mut all = Histogram::default();
        groups().for_each(|it| all.merge(it.tally.whole().histogram(measure)));
        all
    };
    let count = |of: fn(&simulate::Totals) -> u64| groups().map(|it| of(&it.totals)).sum();
    let busy = &outcome.busy[k];
    let percent = |cores: f64| cores * 100.0;
    OfKind {
        name: kind.name.clone(),
        count: kind.count,
        cores: kind.cores,
        clients: kind.sessions,
        cpu_percent: percent(busy.mean_cores),
        busiest_percent: percent(busy.busiest_cores),
        peak_percent: percent(busy.peak_cores),
        peak_at_ns: busy.peak_at,
        limit_percent: plant.cpu_limit * f64::from(kind.cores),
        delay: Times::of(&histogram(Measure::Delay)),
        queueing: Times::of(&histogram(Measure::Queueing)),
        transport: Times::of(&histogram(Measure::Transport)),
        response: Times::of(&histogram(Measure::Response)),
        messages: count(|it| it.messages),
        values: count(|it| it.values),
        overwritten: count(|it| it.overwritten),
        missed: count(|it| it.missed),
        skipped: count(|it| it.skipped),
        waited: count(|it| it.waited),
        sent_again: count(|it| it.sent_again),
        cut: count(|it| it.cut),
        attempts: count(|it| it.attempts),
        given_up: count(|it| it.given_up),
        resumed: count(|it| it.resumed),
        renewed: count(|it| it.renewed),
        left_away: count(|it| it.left_away),
        longest_outage_ns: groups().filter_map(|it| it.outages.max()).max(),
    }
}

/// What is nearest to its limit.
fn limits(kinds: &[OfKind], links: &[OfLink]) -> String {
    let servers = kinds.iter().map(|it| {
        let share = it.busiest_percent / f64::from(it.cores);
        (
            share,
            format!("CPU of {}: {share:.0} % of its cores", it.name),
        )
    });
    let lines = links.iter().filter_map(|it| {
        let share = it.share_percent?;
        Some((share, format!("link {}: {share:.0} % of its rate", it.name)))
    });
    let most = servers.chain(lines).max_by(|a, b| a.0.total_cmp(&b.0));
    most.map_or_else(String::new, |it| it.1)
}

fn happened(it: &World, outcome: &Outcome, what: &simulate::Happening) -> Happened {
    let world = &it.world;
    let (name, which) = match what.on {
        On::Link(link, which) => (format!("link {}", world.links[link].name), which),
        On::Node(kind, which) => (world.kinds[kind].name.clone(), which),
    };
    let name = which.map_or(name.clone(), |n| format!("{name} {}", n + 1));
    let act = match what.act {
        Act::Down => "is down",
        Act::Restart => "restarts",
        Act::PowerOff => "has no power",
    };
    // Looks from here to the next thing that happens.
    let next = world
        .happenings
        .iter()
        .map(|it| it.at)
        .filter(|at| *at > what.at)
        .min();
    let first = (what.at / outcome.look_every) as usize;
    let until = next.map_or(usize::MAX, |at| (at / outcome.look_every) as usize);
    let looks = outcome.busy.first().map_or(0, |it| it.connected.len());
    let connected = |n: usize| outcome.busy.iter().map(|it| it.connected[n]).sum::<u64>();
    let all = world.sessions();
    let seen = (first..looks.min(until)).map(|n| (n, connected(n)));
    let fewest = seen.clone().min_by_key(|it| it.1);
    let back = fewest.and_then(|(low, _)| seen.clone().find(|(n, it)| *n >= low && *it == all));
    let back = back.map(|(n, _)| ((n as u64 + 1) * outcome.look_every).saturating_sub(what.at));
    Happened {
        at_ns: what.at,
        lasts_ns: what.lasts,
        what: format!("{name} {act} for {}", show_ns(what.lasts)),
        clients: all,
        fewest_connected: fewest.map_or(all, |it| it.1),
        all_back_after_ns: back,
    }
}

fn course(it: &World, outcome: &Outcome) -> Vec<Row> {
    let looks = outcome.busy.first().map_or(0, |it| it.cpu_cores.len());
    let each = looks.div_ceil(ROWS).max(1);
    let starts = (0..looks).step_by(each);
    let row = |first: usize| {
        let last = (first + each).min(looks);
        let from_ns = first as u64 * outcome.look_every;
        let to_ns = (last as u64 * outcome.look_every).min(outcome.length);
        let mut delay = Histogram::default();
        let mut messages = 0;
        for group in &outcome.groups {
            let width = group.tally.width_ns();
            let bins = group.tally.bins().iter().enumerate();
            for (_, bin) in bins.filter(|(n, _)| (from_ns..to_ns).contains(&(*n as u64 * width))) {
                delay.merge(bin.histogram(Measure::Delay));
                messages += bin.histogram(Measure::PublishDelay).count();
            }
        }
        let cpu = outcome
            .busy
            .iter()
            .zip(&it.world.kinds)
            .map(|(busy, kind)| {
                let rows = &busy.cpu_cores[first..last];
                let cores = f64::from(kind.cores) * f64::from(kind.count);
                mean(rows).unwrap_or(0.0) / cores * 100.0
            });
        Row {
            from_ns,
            to_ns,
            connected: outcome.busy.iter().map(|it| it.connected[last - 1]).sum(),
            messages,
            delay_p95_ns: delay.quantile(0.95),
            cpu_percent: cpu.collect(),
        }
    };
    starts.map(row).collect()
}

fn shown(ns: Option<u64>) -> String {
    ns.map_or_else(|| "n/a".to_owned(), show_ns)
}

/// The whole on a screen.
pub fn draw(out: &mut String, it: &Summary) -> fmt::Result {
    writeln!(
        out,
        "SIMULATED {}, {}, seed {}",
        it.plant,
        show_ns(it.length_ns),
        it.seed
    )?;
    if !it.about.is_empty() {
        wrapped(out, &it.about)?;
    }
    wrapped(out, &format!("costs       {}", it.costs))?;
    for note in &it.notes {
        wrapped(out, &format!("note        {note}"))?;
    }
    for kind in &it.kinds {
        of_servers(out, kind)?;
    }
    if !it.links.is_empty() {
        writeln!(out)?;
    }
    for link in &it.links {
        let used = link.share_percent.map_or_else(
            || "no rate to use up".to_owned(),
            |it| {
                format!(
                    "{it:.1} % of the rate used, {:.1} % at most",
                    link.peak_percent.unwrap_or(it)
                )
            },
        );
        let lost = link.lost_packets;
        wrapped(
            out,
            &format!(
                "link        {} x {}: {used}; {lost} packets lost",
                link.copies, link.name
            ),
        )?;
    }
    if !it.limits.is_empty() {
        wrapped(
            out,
            &format!("limits      nearest to its limit: {}", it.limits),
        )?;
    }
    for happened in &it.happened {
        outage(out, happened)?;
    }
    time_line(out, it)?;
    writeln!(
        out,
        "\nNothing of this was measured. It follows from costs and from what is told here of the plant: measure before you buy."
    )
}

fn of_servers(out: &mut String, it: &OfKind) -> fmt::Result {
    writeln!(
        out,
        "\n{} x {}: {} clients each",
        it.count, it.name, it.clients
    )?;
    let fits = match it.peak_percent <= it.limit_percent {
        true => "below",
        false if it.busiest_percent <= it.limit_percent => "at times above",
        false => "ABOVE",
    };
    wrapped(
        out,
        &format!(
            "  CPU       {:.1} % of a core (the busiest {:.1} %; at most {:.1} %, at {}): {fits} the limit of {:.0} %",
            it.cpu_percent,
            it.busiest_percent,
            it.peak_percent,
            show_ns(it.peak_at_ns),
            it.limit_percent
        ),
    )?;
    let times = |it: &Times| {
        format!(
            "p50 {}, p95 {}, p99 {}",
            shown(it.p50_ns),
            shown(it.p95_ns),
            shown(it.p99_ns)
        )
    };
    writeln!(out, "  delay     {}", times(&it.delay))?;
    writeln!(
        out,
        "  of it     queueing p95 {}, transport p95 {}",
        shown(it.queueing.p95_ns),
        shown(it.transport.p95_ns)
    )?;
    if it.response.p50_ns.is_some() {
        writeln!(out, "  reads     {}", times(&it.response))?;
    }
    let mut messages = format!("  messages  {} with {} values", it.messages, it.values);
    if it.skipped > 0 {
        let _ = write!(
            messages,
            "; {} publishings skipped: the message before was not made yet",
            it.skipped
        );
    }
    if it.waited > 0 {
        let _ = write!(messages, "; {} waited for a Publish request", it.waited);
    }
    wrapped(out, &messages)?;
    if it.overwritten + it.missed > 0 {
        wrapped(
            out,
            &format!(
                "  lost      {} values: {} overwritten at the server, {} while there was no connection",
                it.overwritten + it.missed,
                it.overwritten,
                it.missed
            ),
        )?;
    }
    if it.cut > 0 {
        wrapped(
            out,
            &format!(
                "  clients   {} connections lost, {} resumed, {} made anew, without data for {} at most; {} of {} attempts given up; {} without a connection in the end",
                it.cut,
                it.resumed,
                it.renewed,
                shown(it.longest_outage_ns),
                it.given_up,
                it.attempts,
                it.left_away
            ),
        )?;
    }
    Ok(())
}

fn outage(out: &mut String, it: &Happened) -> fmt::Result {
    let lost = it.clients - it.fewest_connected;
    let back = match (lost, it.all_back_after_ns) {
        (0, _) => "no client noticed more than a pause".to_owned(),
        (_, Some(ns)) => format!(
            "all clients were connected again {} after it began",
            show_ns(ns)
        ),
        (_, None) => {
            "not all clients were connected again before the next thing happened, or the end"
                .to_owned()
        }
    };
    writeln!(out)?;
    wrapped(
        out,
        &format!(
            "event       at {} {}: {lost} of {} clients lost their connection; {back}",
            show_ns(it.at_ns),
            it.what,
            it.clients
        ),
    )
}

fn time_line(out: &mut String, it: &Summary) -> fmt::Result {
    let mut head = format!(
        "\n{:>10}{:>12}{:>12}{:>12}",
        "until", "connected", "messages", "delay p95"
    );
    for kind in it.kinds.iter().take(4) {
        let name: String = kind.name.chars().take(8).collect();
        let _ = write!(head, "{:>13}", format!("CPU {name}"));
    }
    writeln!(out, "{head}")?;
    for row in &it.course {
        let mut line = format!(
            "{:>10}{:>12}{:>12}{:>12}",
            show_ns(row.to_ns),
            row.connected,
            row.messages,
            shown(row.delay_p95_ns)
        );
        for cpu in row.cpu_percent.iter().take(4) {
            let _ = write!(line, "{:>13}", format!("{cpu:.1} %"));
        }
        writeln!(out, "{line}")?;
        let during = it
            .happened
            .iter()
            .filter(|it| (row.from_ns..row.to_ns).contains(&it.at_ns));
        for happened in during {
            wrapped(
                out,
                &format!(
                    "            in it, at {}: {}",
                    show_ns(happened.at_ns),
                    happened.what
                ),
            )?;
        }
    }
    Ok(())
}
