//! What a value costs a client that subscribes: the generator, with its accounting, and open62541's
//! client that only counts, in turns on the same plant.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use load::access::{Access, Security, TrustRule};
use load::engine::{self, Control, Progress, Target};
use observe::Process;
use peers::{Loader, LoaderOptions, WatchLoad};
use pki::Store;
use plan::{NodeSpec, Nodes, Phase, Sampling, Subscribe, Warmup, Work};
use wire::channel::Protection;

use crate::peer;
use crate::place::Place;

/// Values that came, and nanoseconds of processor time for each.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub values: u64,
    pub each: f64,
    /// Of them lost; only the generator knows.
    pub lost: u64,
}

/// The generator in this process, with all that it writes down; what came before the measurement, and
/// setting up, are not part of the cost.
pub fn ours(url: &str, place: Place, watch: &WatchLoad) -> anyhow::Result<Cost> {
    let access = Access {
        security: Security::Exactly(Protection::NONE),
        trust: TrustRule::Everyone,
        ..Access::new(
            url.parse()?,
            Store::new(std::env::temp_dir().join("uaperf-bench-unused")),
            pki::make::Request::application("urn:uaperf:bench:subscriber").dns("localhost"),
        )
    };
    let target = Target::look(access).map_err(|failed| failed.1)?;
    let nodes: NodeSpec = "nsu=urn:bench;i=1000..1999".parse()?;
    let work = Work::Subscribe(Box::new(Subscribe {
        subscriptions: watch.subscriptions,
        items: Some(watch.items),
        publishing: watch.publishing,
        sampling: Sampling::Every(watch.publishing),
        queue: 10,
        ..Subscribe::new(Nodes::from(nodes))
    }));
    let phase = Phase {
        duration: Some(watch.duration),
        warmup: Warmup::Given {
            warmup: Duration::from_millis(1200),
        },
        ..Phase::new(work)
    };
    let prepared = Arc::new(target.prepare(&phase, true)?);
    let options = engine::Options {
        pin: place.client.into_iter().collect(),
        ..engine::Options::default()
    };
    let control = Control::default();
    let target = Arc::new(target);
    let mut own = Process::own();
    let mut looks: Vec<(u64, u64)> = Vec::new();
    let look = |progress: Progress| {
        let received = progress.heard.map_or(0, |heard| heard.values.received);
        if let (true, Ok(threads)) = (received > 0, own.threads()) {
            let number = |name: &str| name.strip_prefix("load-")?.parse::<u32>().ok();
            let cores = threads.iter().filter(|it| number(&it.name).is_some());
            let cpu: u64 = cores.filter_map(|it| it.cpu_ns.as_ref().ok()).sum();
            // Once its thread has ended nobody tells any more.
            if cpu > 0 {
                looks.push((received, cpu));
            }
        }
    };
    let outcome = engine::run(&phase, &[target], &[prepared], &options, &control, look)?;
    let account = outcome.account.context("nothing was accounted for")?;
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
        anyhow::bail!("the system does not tell the processor time of threads");
    };
    let values = last.0 - first.0;
    Ok(Cost {
        values,
        each: (last.1 - first.1) as f64 / values.max(1) as f64,
        lost: account.whole().places.lost(),
    })
}

/// open62541's client with a session.
pub fn connect(url: &str, place: Place) -> anyhow::Result<Loader> {
    let stack = Loader::of(peer::NAME).context("no such load client")?;
    stack.install(&mut |event| eprintln!("{}: {event}", stack.name))?;
    let options = LoaderOptions {
        pin: place.client_list(),
        ..LoaderOptions::default()
    };
    Ok(Loader::start(stack, url, &options)?)
}

/// open62541's client; the first values, and setting up, are not part of the cost.
pub fn theirs(client: &mut Loader, watch: &WatchLoad) -> anyhow::Result<Cost> {
    let done = client.watch(watch)?;
    Ok(Cost {
        values: done.calls,
        each: done.cpu_ns as f64 / done.calls.max(1) as f64,
        lost: 0,
    })
}
