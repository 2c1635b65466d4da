//! What clients that misbehave do to one that does not, and what they leave behind in the plant.
//!
//! `cargo bench -p benches --bench hostile -- [KIND…] [OPTIONS]`
//!
//! A good session reads 1,000 times a second, with and without each kind of attack in turns; what counts are the 99th
//! percentiles of all seconds with it and without: the median of the ones over that of the others, since a shared host has bad
//! seconds whoever attacks. Meanwhile memory and descriptors of the plant are looked at, and how often attackers have come
//! and gone. Processors are shared out, and kept awake, so that the plant's work for attackers counts, and not what they cost themselves.

mod attack;
mod attackers;
mod awake;
mod good;
mod places;
mod serve;
mod told;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use observe::Process;

use crate::attackers::{Attackers, back, watch};
use crate::awake::Awake;
use crate::good::Good;
use crate::told::{HEAD, Held, Ratio, Rise, Told, median};

const USAGE: &str = "\
cargo bench -p benches --bench hostile -- [silent] [half-open] [slow] [certificates] [passwords] [fuzzed] [killed]
  --rounds N        turns with and without, of each kind [default: 5]; the first tells nothing of slopes
  --seconds S       length of a turn [default: 15]; the slopes are those behind its tenth second
  --quick           three rounds of 13 seconds
  --threads N       loops of the plant [default: 1]
One kind takes three to five minutes, --quick two; all of them half an hour, or a quarter.";

struct Options {
    kinds: Vec<(&'static str, &'static str)>,
    rounds: usize,
    turn: Duration,
    threads: usize,
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1).peekable();
    match words.peek().map(String::as_str) {
        Some(serve::ROLE) => serve::serve(words.skip(1)),
        Some(attack::ROLE) => attack::attack(words.skip(1)),
        Some(awake::ROLE) => awake::stay(words.skip(1)),
        Some(attack::VICTIM) => attack::victim(words.skip(1)),
        _ => match options(words)? {
            Some(options) => run(&options),
            None => {
                println!("{USAGE}");
                Ok(())
            }
        },
    }
}

fn options(mut words: impl Iterator<Item = String>) -> anyhow::Result<Option<Options>> {
    let mut options = Options {
        kinds: Vec::new(),
        rounds: 5,
        turn: Duration::from_secs(15),
        threads: 1,
    };
    while let Some(word) = words.next() {
        let mut number = || -> anyhow::Result<usize> {
            let text = words
                .next()
                .with_context(|| format!("{word} wants a number"))?;
            let number = text.parse().ok().filter(|&n| n > 0);
            number.with_context(|| format!("bad {word}: {text} (want 1 or more)"))
        };
        match word.as_str() {
            // Added by cargo.
            "--bench" => {}
            "--help" => return Ok(None),
            "--rounds" => options.rounds = number()?,
            "--seconds" => options.turn = Duration::from_secs(number()? as u64),
            "--quick" => (options.rounds, options.turn) = (3, Duration::from_secs(13)),
            "--threads" => options.threads = number()?,
            kind => match attack::KINDS.into_iter().find(|it| it.0 == kind) {
                Some(kind) => options.kinds.push(kind),
                None => bail!("{kind}: neither an attack nor an option\n{USAGE}"),
            },
        }
    }
    if options.kinds.is_empty() {
        options.kinds = attack::KINDS.to_vec();
    }
    Ok(Some(options))
}

fn run(options: &Options) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("uaperf-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!(
        "{} turns of {} s each; p99 of 1,000 reads/s of 10 nodes\n",
        options.rounds,
        options.turn.as_secs()
    );
    if !places::come_first() {
        println!(
            "not allowed to come first on its processor: what the good session itself waits for counts, too\n"
        );
    }
    // Ends with this function.
    let _awake = Awake::start(&places::measured(options.threads))?;
    let mut rows = Vec::new();
    let done = options.kinds.iter().try_for_each(|kind| {
        let start = Instant::now();
        println!("{}", kind.0);
        let told = under(*kind, options, &folder)?;
        let took = start.elapsed().as_secs();
        println!("\n{}  took          {took} s\n", told.text());
        rows.push(told.row());
        anyhow::Ok(())
    });
    println!("{HEAD}\n{}", rows.join("\n"));
    std::fs::remove_dir_all(&folder).ok();
    done
}

/// All turns under one kind of attack, against a plant of its own.
fn under(
    (kind, what): (&'static str, &'static str),
    options: &Options,
    folder: &Path,
) -> anyhow::Result<Told> {
    let trusted = folder.join("server");
    let plant = serve::start(&trusted.display().to_string(), options.threads)?;
    let place = places::good(options.threads);
    let good = Good::new(plant.url(), &folder.join("good"), options.turn, place)?;
    let elsewhere = places::attackers(options.threads);
    let mut process =
        Process::of(plant.pid()).map_err(|why| anyhow::anyhow!("{}", why.reason()))?;
    // Buffers of the plant and of this process have been there once.
    good.stretch()?;
    let before = process.sample();
    let (mut calm, mut hit, mut errors) = (Vec::new(), Vec::new(), 0);
    let (mut looks, mut cycles) = (Vec::new(), 0);
    for round in 0..options.rounds {
        // In turns, so that nothing that goes on all the while is taken for the attack's doing.
        let first = (round % 2 == 0).then(|| good.stretch()).transpose()?;
        let attackers =
            Attackers::start(kind, plant.url(), &folder.join("bad"), elsewhere.clone())?;
        let watched = watch(&attackers, plant.pid(), cycles, serve::FORGOTTEN);
        let with = good.stretch();
        let seen = watched.finish();
        // What the first of them need for as long as they are remembered is no leak.
        if round > 0 {
            looks.extend(seen);
        }
        cycles += attackers.stop();
        let with = with?;
        back(&mut process, &before, Duration::from_secs(60));
        let without = match first {
            Some(without) => without,
            None => good.stretch()?,
        };
        println!(
            "  turn {}: {:.0} µs without, {:.0} µs with",
            round + 1,
            median(&without.p99s) / 1e3,
            median(&with.p99s) / 1e3
        );
        errors += with.errors + without.errors;
        calm.extend(without.p99s);
        hit.extend(with.p99s);
    }
    let after = process.sample();
    Ok(Told {
        kind,
        what,
        calm: median(&calm),
        hit: median(&hit),
        ratio: Ratio::of(&calm, &hit),
        errors,
        cycles,
        memory: Rise::of(&looks, |look| look.rss),
        descriptors: Rise::of(&looks, |look| look.descriptors),
        before: Held::of(&before),
        after: Held::of(&after),
    })
}
