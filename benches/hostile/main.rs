//! What clients that misbehave do to one that does not, and what they leave behind in the plant.
//!
//! `cargo bench -p benches --bench hostile -- [KIND…] [OPTIONS]`
//!
//! A good session reads 1,000 times a second, with each kind of attack in turns, without it, and with the same attack on
//! another plant that shares the attackers' processors: what the machine makes of their work is no work of the plant. What
//! counts are the 99th percentiles of the seconds that the host left alone: the median of those with the attack over that of the others.
//! Then the attackers stay for a while, and it is seen whether memory and descriptors of the plant rise with those who have come
//! and gone. Processors are shared out, and kept awake, so that the plant's work for attackers counts, and not what they
//! cost themselves.

mod attack;
mod attackers;
mod awake;
mod good;
mod legal;
mod looking;
mod places;
mod serve;
mod stolen;
mod told;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use benches::child::Plant;

use crate::attackers::{Attackers, back, process, watch};
use crate::awake::Awake;
use crate::good::Good;
use crate::told::{Attacked, HEAD, Held, MOST, Rise, Seen, Told, median};

const USAGE: &str = "\
cargo bench -p benches --bench hostile -- [silent] [half-open] [slow] [certificates] [passwords] [fuzzed] [killed]
  [browse] [everything] [history] [writes] [parts] [items] [texts] [watched] [activations]
  [subscribers] [unfinished]
  --quiet N         seconds that the host left alone, with and without each kind [default: 40]
  --seconds S       length of a turn [default: 5]
  --rounds N        turns at most, if the host is busy [default: 30]
  --soak S          how long the attackers stay then; slopes are those of the second half [default: 60]
  --quick           --quiet 13 --soak 30
  --threads N       loops of the plant [default: 1]
One kind takes five or six minutes; --quick is shorter.";

struct Options {
    kinds: Vec<(&'static str, &'static str)>,
    quiet: usize,
    seconds: u64,
    rounds: usize,
    soak: u64,
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
        quiet: 40,
        seconds: 5,
        rounds: 30,
        soak: 60,
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
            "--quiet" => options.quiet = number()?,
            "--seconds" => options.seconds = number()? as u64,
            "--rounds" => options.rounds = number()?,
            "--soak" => options.soak = number()? as u64,
            "--quick" => (options.quiet, options.soak) = (13, 30),
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
        "turns of {} s until the host has left {} s with and without alone; p99 of 1,000 reads/s of 10 nodes\n",
        options.seconds, options.quiet
    );
    if !places::come_first() {
        println!(
            "not allowed to come first on its processor: what the good session itself waits for counts, too\n"
        );
    }
    // Ends with this function.
    let _awake = Awake::start(&places::all())?;
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    let done = options.kinds.iter().try_for_each(|kind| {
        let start = Instant::now();
        println!("{}", kind.0);
        let told = under(*kind, options, &folder)?;
        let took = start.elapsed().as_secs();
        println!("\n{}  took          {took} s\n", told.text());
        rows.push(told.row());
        if told.fails() {
            failed.push(told.kind);
        }
        anyhow::Ok(())
    });
    println!("{HEAD}\n{}", rows.join("\n"));
    std::fs::remove_dir_all(&folder).ok();
    done?;
    if !failed.is_empty() {
        bail!("{MOST} times as slow or more under: {}", failed.join(", "));
    }
    Ok(())
}

/// All turns under one kind of attack, against a plant of its own.
fn under(
    (kind, what): (&'static str, &'static str),
    options: &Options,
    folder: &Path,
) -> anyhow::Result<Told> {
    let trusted = folder.join("server");
    let plant = serve::start(&trusted.display().to_string(), options.threads)?;
    let another = folder.join("another");
    let another = serve::start_elsewhere(&another.display().to_string(), options.threads)?;
    let good = Good::new(plant.url(), &folder.join("good"), options.threads)?;
    let mut process = process(plant.pid())?;
    // Buffers of the plant and of this process have been there once.
    good.stretch(options.seconds)?;
    let before = process.sample();
    let attack = |plant: &Plant| {
        let places = places::attackers(options.threads);
        Attackers::start(kind, plant.url(), &folder.join("bad"), places)
    };
    let (mut seen, mut errors, mut cycles, mut refused) = (Seen::default(), 0, 0, 0);
    for round in 0..options.rounds {
        if seen.fewest() >= options.quiet {
            break;
        }
        // In turns, so that nothing that goes on all the while is taken for the attack's doing.
        let mut turns = Attacked::ALL;
        turns.rotate_left(round % Attacked::ALL.len());
        for attacked in turns {
            let attackers = match attacked {
                Attacked::Nobody => None,
                Attacked::Another => Some(attack(&another)?),
                Attacked::Plant => Some(attack(&plant)?),
            };
            let stretch = good.stretch(options.seconds)?;
            println!(
                "  turn {}, attacked: {:<7}  {:4.0} µs, {} of {} s left alone",
                round + 1,
                attacked.name(),
                median(&stretch.p99s) / 1e3,
                stretch.p99s.len(),
                options.seconds
            );
            errors += stretch.errors;
            seen.of(attacked).extend(stretch.p99s);
            if let Some(attackers) = attackers {
                let came = attackers.stop();
                if let Attacked::Plant = attacked {
                    cycles += came.0;
                    refused += came.1;
                    back(&mut process, &before, Duration::from_secs(60));
                }
                if attack::leaves_sessions(kind) {
                    std::thread::sleep(serve::FORGOTTEN);
                }
            }
        }
    }
    let attackers = attack(&plant)?;
    // What the first of them need for as long as they are remembered is no leak.
    let settled = Duration::from_secs(options.soak) / 2;
    let watched = watch(&attackers, plant.pid(), settled.max(serve::FORGOTTEN))?;
    errors += good.stretch(options.soak)?.errors;
    let looks = watched.finish();
    let came = attackers.stop();
    cycles += came.0;
    refused += came.1;
    back(&mut process, &before, Duration::from_secs(60));
    let after = process.sample();
    Ok(Told {
        kind,
        what,
        seen,
        errors,
        cycles,
        refused,
        memory: Rise::of(&looks, |look| look.rss),
        descriptors: Rise::of(&looks, |look| look.descriptors),
        before: Held::of(&before),
        after: Held::of(&after),
    })
}
