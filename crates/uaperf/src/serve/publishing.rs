//! A plant that publishes its signals, too: the same values that clients read and subscribe to.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use load::pubsub::{Address, Mapping, Publish, Source, Target, Values, publish};
use plan::unit::duration::{parse, show};
use plant::{Plant, Server, Signals};
use pubsub::PublisherId;
use pubsub::layout::Layout;
use pubsub::view::Encoding;
use wire::template::walk::BuiltInType;

use crate::failure::Failure;
use crate::screen::tell;

/// Publishing over PubSub, as typed.
#[derive(Debug, clap::Args)]
#[group(id = "publishing-args")]
pub struct Args {
    /// Publish the signals over UDP, too, to opc.udp://HOST:PORT or a multicast group, instead of where the plant says;
    /// may be given several times
    #[arg(long, value_name = "URL")]
    publish: Vec<Address>,
    /// Distance of two messages
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse)]
    publish_interval: Duration,
    /// How values are encoded: variant, raw
    #[arg(long, value_name = "HOW", default_value = "variant", hide_possible_values = true, value_parser = ["variant", "raw"])]
    publish_encoding: String,
    /// Address of the interface that a multicast group is reached by [default: the system's choice]
    #[arg(long, value_name = "IP")]
    publish_interface: Option<IpAddr>,
    /// The first so many signals [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    publish_signals: Option<u16>,
}

impl Args {
    /// What is published: what is typed goes before what is written.
    pub fn of(&self, plant: &Plant) -> anyhow::Result<Vec<plant::Publishing>> {
        if self.publish_interval.is_zero() {
            return Err(Failure::usage("--publish-interval 0s: want more than nothing").into());
        }
        if self.publish.is_empty() {
            return Ok(plant.publish.clone());
        }
        let one = |to: &Address| plant::Publishing {
            interface: self.publish_interface,
            interval: self.publish_interval,
            raw: self.publish_encoding == "raw",
            signals: self.publish_signals.map(usize::from),
            ..plant::Publishing::new(to.to_string())
        };
        Ok(self.publish.iter().map(one).collect())
    }
}

impl Source for OfPlant {
    fn kinds(&self) -> Vec<BuiltInType> {
        self.0.kinds().collect()
    }

    fn read(&mut self, visit: &mut dyn FnMut(usize, u64)) {
        self.0.read(visit);
    }
}

/// The signals of a server.
struct OfPlant(Signals);

/// Publishers that run, each with a thread.
#[derive(Default)]
pub struct Publishers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Publishers {
    /// Starts all of them for each server. What was started before one failed ends.
    pub fn start(
        servers: &[Server],
        all: &[plant::Publishing],
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let mut publishers = Self::default();
        for (n, server) in servers.iter().enumerate() {
            for publishing in all {
                publishers.start_one(server, n, publishing, quiet)?;
            }
        }
        Ok(publishers)
    }

    fn start_one(
        &mut self,
        server: &Server,
        n: usize,
        it: &plant::Publishing,
        quiet: bool,
    ) -> anyhow::Result<()> {
        let to: Address = it.to.parse().map_err(|error| {
            Failure::usage(format!("publish: {error}")).hint("want opc.udp://HOST:PORT")
        })?;
        let signals = server.signals(it.signals);
        let count = signals.kinds().len();
        if count == 0 {
            let what = format!("nothing to publish to {to}: the plant has no signals that move");
            return Err(Failure::usage(what)
                .hint("uaperf serve --update 100ms has some")
                .into());
        }
        let id = it
            .publisher
            .wrapping_add(u16::try_from(n).unwrap_or_default());
        let plan = Publish {
            to: Target::Udp(to),
            mapping: Mapping::Uadp,
            interface: it.interface,
            ttl: 1,
            publisher_id: PublisherId::UInt16(id),
            groups: 1,
            writers: 1,
            values: Values::From(Box::new(OfPlant(signals))),
            encoding: match it.raw {
                true => Encoding::Raw,
                false => Encoding::Variant,
            },
            layout: Layout::Dynamic,
            mode: None,
            keys: Vec::new(),
            roll_over: None,
            interval: Some(it.interval),
            duration: FOR_GOOD,
            cycles: None,
        };
        let (begun, told) = channel();
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new().name(format!("publish-{n}"));
        self.threads.push(thread.spawn(move || {
            let ready = begun.clone();
            let published = publish(plan, &stop, move |_| drop(ready.send(Ok(()))));
            if let Err(error) = published
                && let Err(unheard) = begun.send(Err(error))
                && let Err(error) = unheard.0
            {
                // It was under way; clients are served on.
                tell!("warning: nothing is published to {to} any more: {error}");
            }
        })?);
        let failed = |error| Failure::new(format!("cannot publish to {to}: {error}"));
        told.recv().context("a publisher ended")?.map_err(|error| {
            let large = matches!(error, load::pubsub::PublishError::TooLarge(_));
            match large {
                true => failed(error).hint("fewer signals with --publish-signals N, or shorter ones with --publish-encoding raw"),
                false => failed(error),
            }
        })?;
        if !quiet {
            tell!(
                "publishing {count} signals each {} to {to}, PublisherId {id}",
                show(it.interval)
            );
        }
        Ok(())
    }
}

impl Drop for Publishers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// Longer than anybody serves.
const FOR_GOOD: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
