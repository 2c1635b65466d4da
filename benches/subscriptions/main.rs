//! What notifications and monitored items cost a server, ours beside open62541's in turns.
//!
//! `cargo bench -p benches --bench subscriptions -- [fast|create|million|client] [OPTIONS]`
//!
//! The client is a plain one that costs what it costs: only the server's processor time counts,
//! and whether all values arrived. Where values count up, each item's must go on by one.

mod clients;
#[path = "../yardstick/peer.rs"]
#[allow(dead_code, reason = "its other half is for reads")]
mod peer;
#[path = "../yardstick/place.rs"]
mod place;
mod serve;
#[path = "../yardstick/slice.rs"]
#[allow(dead_code, reason = "what peer.rs needs")]
mod slice;
mod watcher;

use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use observe::{Host, Process, fingerprint};

use crate::place::{Place, pin};
use crate::serve::Served;
use crate::watcher::{Plan, Watched, Watcher};

const USAGE: &str = "\
cargo bench -p benches --bench subscriptions -- [fast|create|million|client] [OPTIONS]
  fast       10 subscriptions of 1000 items that change and are published every 10 ms, on one
             session: processor time of a notification, plant and open62541 in turns
  create     100,000 items on one session, 1000 a call: processor time of an item
  million    100 sessions of 10 subscriptions of 1000 items, each changing every second: set up,
             memory of an item, processor time of a notification (plant only)
  client     the load of `fast` from the plant: processor time of a value in the client, ours with
             its accounting and open62541's in turns
  --rounds N        turns of each [default: 5]
  --seconds S       length of a turn [default: 3]
  --threads N       loops of the plant [default: 1]";

struct Options {
    what: Vec<String>,
    rounds: usize,
    turn: Duration,
    threads: usize,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == serve::ROLE).is_some() {
        return ended(serve::serve(words));
    }
    match options(words) {
        Ok(Some(options)) => ended(run(&options)),
        Ok(None) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn ended(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> anyhow::Result<Option<Options>> {
    let mut options = Options {
        what: Vec::new(),
        rounds: 5,
        turn: Duration::from_secs(3),
        threads: 1,
    };
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word}: a value is missing"))
        };
        match word.as_str() {
            // What Cargo adds.
            "--bench" => {}
            "--help" => return Ok(None),
            "--rounds" => options.rounds = value()?.parse().context("bad --rounds")?,
            "--seconds" => {
                let seconds: f64 = value()?.parse().context("bad --seconds")?;
                options.turn = Duration::try_from_secs_f64(seconds).context("bad --seconds")?;
            }
            "--threads" => options.threads = value()?.parse().context("bad --threads")?,
            "fast" | "create" | "million" | "client" => options.what.push(word),
            _ => bail!("unknown argument: {word}"),
        }
    }
    if options.what.is_empty() {
        options.what = vec!["fast".into(), "create".into()];
    }
    Ok(Some(options))
}

fn run(options: &Options) -> anyhow::Result<()> {
    let machine = fingerprint();
    let load = Host::sample().load;
    println!(
        "{}, {} cores; load average before: {}",
        machine.cpu.known().map_or("?", String::as_str),
        machine.cores.known().map_or("?".into(), u64::to_string),
        load.map_or("?".into(), |load| format!("{:.2}", load.one)),
    );
    for what in &options.what {
        match what.as_str() {
            "fast" => fast(options)?,
            "create" => create(options)?,
            "client" => client(options)?,
            _ => million(options)?,
        }
    }
    Ok(())
}

/// What a turn of watching came to.
struct Turn {
    notifications: u64,
    /// Nanoseconds of the server for each.
    each: f64,
    per_second: f64,
    gaps: u64,
}

fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let index = (values.len().saturating_sub(1) as f64 * part).round() as usize;
        values.get(index).copied().unwrap_or(f64::NAN)
    };
    format!("{:.0} ({:.0} to {:.0})", at(0.5), at(0.0), at(1.0))
}

fn fast(options: &Options) -> anyhow::Result<()> {
    let place = Place::find();
    let update = Duration::from_millis(10);
    let plan = Plan {
        subscriptions: 10,
        items: 1000,
        publishing: update,
        nodes: (1000..2000).collect(),
        offset: 0,
    };
    let plant = serve::start(Served::Bench { update }, options.threads, place.server)?;
    let peer = peer::server_with(place, Some(update))?;
    let servers = [
        ("plant", plant.url(), plant.pid()),
        (peer::NAME, peer.url(), peer.pid()),
    ];
    let mut turns: Vec<Vec<Turn>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..options.rounds {
        let mut order = [0, 1];
        order.rotate_left(round % 2);
        for at in order {
            let (name, url, pid) = servers[at];
            let mut watchers = vec![Watcher::connect(url)?];
            watchers[0].create(&plan)?;
            let turn = watch(&mut watchers, Process::of(pid)?, options.turn, place.client);
            let turn = turn.with_context(|| name.to_owned())?;
            eprintln!(
                "{name}: {:.0} notifications/s, {:.0} ns each, {} gaps",
                turn.per_second, turn.each, turn.gaps
            );
            turns[at].push(turn);
            watchers.into_iter().try_for_each(Watcher::close)?;
        }
    }
    println!("10,000 items, published every 10 ms: ns of the server for a notification");
    for ((name, ..), turns) in servers.iter().zip(&turns) {
        let each = turns.iter().map(|turn| turn.each).collect();
        let rate = turns.iter().map(|turn| turn.per_second).collect();
        println!("  {name:<10} {} at {}/s", spread(each), spread(rate));
    }
    let ratios = turns[1].iter().zip(&turns[0]);
    let ratios = ratios.map(|(peer, plant)| peer.each / plant.each).collect();
    println!("  open62541 over plant, round by round: {}", spread(ratios));
    Ok(())
}

fn client(options: &Options) -> anyhow::Result<()> {
    let place = Place::find();
    let update = Duration::from_millis(10);
    let plant = serve::start(Served::Bench { update }, options.threads, place.server)?;
    let watch = peers::WatchLoad {
        subscriptions: 10,
        items: 1000,
        publishing: update,
        duration: options.turn,
    };
    let mut peer = clients::connect(plant.url(), place)?;
    let mut turns = [Vec::new(), Vec::new()];
    for round in 0..options.rounds {
        let mut order = [0, 1];
        order.rotate_left(round % 2);
        for at in order {
            let (name, cost) = match at {
                0 => ("generator", clients::ours(plant.url(), place, &watch)?),
                _ => (peer::NAME, clients::theirs(&mut peer, &watch)?),
            };
            eprintln!(
                "{name}: {} values, {:.1} ns each, {} lost",
                cost.values, cost.each, cost.lost
            );
            turns[at].push(cost);
        }
    }
    println!("10,000 items, published every 10 ms: ns of the client for a value");
    for (name, turns) in ["generator", peer::NAME].iter().zip(&turns) {
        println!(
            "  {name:<10} {}",
            spread(turns.iter().map(|it| it.each).collect())
        );
    }
    let ratios = turns[1].iter().zip(&turns[0]);
    let ratios = ratios
        .map(|(peer, ours)| 100.0 * ours.each / peer.each)
        .collect();
    println!(
        "  the generator, in % of open62541's client, round by round: {}",
        spread(ratios)
    );
    Ok(())
}

fn watch(
    watchers: &mut [Watcher],
    process: Process,
    time: Duration,
    core: Option<usize>,
) -> anyhow::Result<Turn> {
    let all = watchers.len();
    let (settled, measured) = (Barrier::new(all + 1), Barrier::new(all + 1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = watchers
            .iter_mut()
            .map(|watcher| {
                let (settled, measured) = (&settled, &measured);
                scope.spawn(move || -> anyhow::Result<Watched> {
                    pin(core)?;
                    // The first values, those from setting up, belong to no rate.
                    let warm = watcher.watch(Duration::from_millis(1200));
                    settled.wait();
                    let watched = warm.and_then(|_| watcher.watch(time));
                    measured.wait();
                    watched
                })
            })
            .collect();
        settled.wait();
        let (start, cpu) = (Instant::now(), process.cpu());
        measured.wait();
        let (elapsed, spent) = (start.elapsed(), process.cpu());
        let mut sum = Watched::default();
        for thread in threads {
            let watched = thread.join();
            sum += watched.unwrap_or_else(|_| bail!("a watcher panicked"))?;
        }
        let spent = spent?.saturating_sub(cpu?);
        Ok(Turn {
            notifications: sum.notifications,
            each: spent.as_nanos() as f64 / sum.notifications.max(1) as f64,
            per_second: sum.notifications as f64 / elapsed.as_secs_f64(),
            gaps: sum.gaps,
        })
    })
}

fn create(options: &Options) -> anyhow::Result<()> {
    let place = Place::find();
    let plan = Plan {
        subscriptions: 1,
        items: 100_000,
        publishing: Duration::from_secs(1),
        nodes: (1000..2000).collect(),
        offset: 0,
    };
    let update = Duration::from_secs(1);
    let plant = serve::start(Served::Bench { update }, options.threads, place.server)?;
    let peer = peer::server_with(place, Some(update))?;
    let servers = [
        ("plant", plant.url(), plant.pid()),
        (peer::NAME, peer.url(), peer.pid()),
    ];
    println!("100,000 items created in calls of 1000: milliseconds of the server, and elapsed");
    let mut figures = vec![(Vec::new(), Vec::new()); 2];
    for round in 0..options.rounds {
        let mut order = [0, 1];
        order.rotate_left(round % 2);
        for at in order {
            let (name, url, pid) = servers[at];
            let process = Process::of(pid)?;
            let mut watcher = Watcher::connect(url)?;
            let cpu = process.cpu()?;
            let elapsed = watcher.create(&plan).with_context(|| name.to_owned())?;
            let spent = process.cpu()?.saturating_sub(cpu);
            figures[at].0.push(spent.as_secs_f64() * 1e3);
            figures[at].1.push(elapsed.as_secs_f64() * 1e3);
            watcher.close()?;
        }
    }
    for ((name, ..), (spent, elapsed)) in servers.iter().zip(figures) {
        println!("  {name:<10} {} · {}", spread(spent), spread(elapsed));
    }
    Ok(())
}

fn million(options: &Options) -> anyhow::Result<()> {
    let plant = serve::start(Served::Large, options.threads, None)?;
    let mut process = Process::of(plant.pid())?;
    let idle = process.sample().rss_bytes;
    let mut watchers = Vec::new();
    for n in 0..100 {
        let watcher = Watcher::connect(plant.url());
        watchers.push(watcher.with_context(|| format!("session {}", n + 1))?);
    }
    let plan = |n: u32| Plan {
        subscriptions: 10,
        items: 1000,
        publishing: Duration::from_secs(1),
        nodes: (0..10_000).map(|k| 1_000_000 + n * 10_000 + k).collect(),
        offset: 0,
    };
    let (start, cpu) = (Instant::now(), process.cpu()?);
    let mut waited = Duration::ZERO;
    for (n, watcher) in watchers.iter_mut().enumerate() {
        waited += watcher.create(&plan(n as u32))?;
    }
    let spent = process.cpu()?.saturating_sub(cpu);
    println!(
        "a million items set up: {:.2} s of the server, {:.2} s waited for it, {:.2} s in all",
        spent.as_secs_f64(),
        waited.as_secs_f64(),
        start.elapsed().as_secs_f64()
    );
    let turn = watch(&mut watchers, Process::of(plant.pid())?, options.turn, None)?;
    let resident = process.sample().rss_bytes;
    println!(
        "  {:.0} notifications/s, {:.0} ns of the server each: {:.0} % of a core; {} gaps",
        turn.per_second,
        turn.each,
        turn.per_second * turn.each / 1e7,
        turn.gaps
    );
    if let (Ok(idle), Ok(resident)) = (idle, resident) {
        let each = resident.saturating_sub(idle) as f64 / 1e6;
        println!("  {each:.0} bytes of the server for each item, with all that belongs to it");
    }
    if turn.notifications == 0 {
        bail!("nothing came");
    }
    watchers.into_iter().try_for_each(Watcher::close)
}
