//! A generator of one's own in fifty lines: `generator URL [NODE] [IN_FLIGHT] [BATCH] [SECONDS]`.
//!
//! Reads a node over and over and prints what became of it, and what the thread that did it cost.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use load::access::{Access, TrustRule};
use load::engine::{self, Control, Options, Target};
use pki::Store;
use plan::{Arrival, NodeSpec, Nodes, Phase, Read, Work};
use record::Measure;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or_else(|| otherwise.to_owned());
    let access = Access {
        trust: TrustRule::Everyone,
        ..Access::new(
            word("opc.tcp://127.0.0.1:4840").parse()?,
            Store::new(std::env::temp_dir().join("uaperf-generator")),
            pki::make::Request::application("urn:uaperf:generator"),
        )
    };
    let node: NodeSpec = word("i=2259").parse()?;
    let (in_flight, batch) = (word("64").parse()?, word("1").parse()?);
    let duration = Duration::from_secs(word("3").parse()?);

    let target = Arc::new(Target::look(access).map_err(|failed| failed.1)?);
    let phase = Phase {
        arrival: Arrival::Closed {
            in_flight,
            think: Duration::ZERO,
        },
        duration: Some(duration),
        spin: std::env::var_os("SPIN").is_some(),
        ..Phase::new(Work::Read(Read {
            batch,
            ..Read::new(Nodes::from(node))
        }))
    };
    let prepared = Arc::new(target.prepare(&phase, true)?);
    let options = Options {
        stamps: std::env::var_os("STAMPS").is_some(),
        ..Options::default()
    };
    let control = Control::default();
    let outcome = engine::run(&phase, &[target], &[prepared], &options, &control, |_| {})?;

    let window = outcome.total()[0].whole();
    let (response, done) = (
        window.histogram(Measure::Response),
        window.sum.counters.completed,
    );
    println!(
        "{:.0} requests/s, {:.0} values/s",
        done as f64 / duration.as_secs_f64(),
        done as f64 * f64::from(batch) / duration.as_secs_f64()
    );
    println!(
        "response p50 {:?} p99 {:?} max {:?} ns",
        response.quantile(0.5),
        response.quantile(0.99),
        response.max()
    );
    for core in &outcome.cores {
        if let Some(cpu) = core.cpu_ns {
            println!(
                "{:.0} ns of CPU each; {} writes, {} reads, idle {:.0} %",
                cpu as f64 / done as f64,
                core.writes,
                core.reads,
                100.0 * core.idle_ns as f64 / core.ran_ns as f64
            );
        }
    }
    Ok(())
}
