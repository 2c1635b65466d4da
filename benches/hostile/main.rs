//! What clients that misbehave do to one that does not, and what they leave behind in the plant.
//!
//! `cargo bench -p benches --bench hostile -- [KIND…] [OPTIONS]`
//!
//! A good session reads 1,000 times a second, with and without each kind of attack in turns; what counts is
//! the ratio of the 99th percentiles within a turn. Meanwhile memory and descriptors of the plant are
//! looked at, and how often attackers have come and gone.

mod attack;
mod good;
mod serve;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use benches::Spread;
use judge::Slope;
use observe::Process;
use plan::unit::Bytes;

use crate::good::Good;

const USAGE: &str = "\
cargo bench -p benches --bench hostile -- [silent] [half-open] [slow] [certificates] [passwords] [fuzzed] [killed]
  --rounds N        turns with and without, of each kind [default: 5]
  --seconds S       length of a turn [default: 15, in which dead sessions are forgotten]
  --threads N       loops of the plant [default: 1]";

struct Options {
    kinds: Vec<(&'static str, &'static str)>,
    rounds: usize,
    turn: Duration,
    threads: usize,
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let done = match words.peek().map(String::as_str) {
        Some(serve::ROLE) => serve::serve(words.skip(1)),
        Some(attack::ROLE) => attack::attack(words.skip(1)),
        Some(attack::VICTIM) => attack::victim(words.skip(1)),
        _ => match options(words) {
            Ok(Some(options)) => run(&options),
            Ok(None) => {
                println!("{USAGE}");
                Ok(())
            }
            Err(error) => Err(error),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
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
        "{} turns of {} s each; p99 of 1,000 reads/s of 10 nodes; 95 % intervals\n",
        options.rounds,
        options.turn.as_secs()
    );
    let done = options.kinds.iter().try_for_each(|kind| {
        let told = under(*kind, options, &folder)?;
        println!("{told}");
        anyhow::Ok(())
    });
    std::fs::remove_dir_all(&folder).ok();
    done
}

/// All turns under one kind of attack, against a plant of its own.
fn under((kind, what): (&str, &str), options: &Options, folder: &Path) -> anyhow::Result<String> {
    let trusted = folder.join("server");
    let plant = serve::start(&trusted.display().to_string(), options.threads)?;
    let good = Good::new(plant.url(), &folder.join("good"), options.turn)?;
    let mut process =
        Process::of(plant.pid()).map_err(|why| anyhow::anyhow!("{}", why.reason()))?;
    // Buffers of the plant and of this process have been there once.
    good.stretch()?;
    let before = process.sample();
    let (mut ratios, mut calm, mut hit, mut errors) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut looks, mut cycles) = (Vec::new(), 0);
    for round in 0..options.rounds {
        let without = good.stretch()?;
        let attackers = Attackers::start(kind, plant.url(), &folder.join("bad"))?;
        let watched = watch(&attackers, plant.pid(), cycles);
        let with = good.stretch();
        let seen = watched.finish();
        // What the first of them need for as long as they are remembered is no leak.
        if round > 0 || options.rounds == 1 {
            looks.extend(seen);
        }
        cycles += attackers.stop();
        let with = with?;
        back(&mut process, &before, Duration::from_secs(60));
        ratios.push(with.p99_ns as f64 / without.p99_ns.max(1) as f64);
        calm.push(without.p99_ns as f64);
        hit.push(with.p99_ns as f64);
        errors += with.errors;
    }
    let after = process.sample();
    let spread = |values| Spread::of(values).context("no turns");
    let (ratio, calm, hit) = (spread(ratios)?, spread(calm)?, spread(hit)?);
    let rise = |figure: fn(&Look) -> Option<f64>, show: &dyn Fn(f64) -> String| {
        let looks: Vec<_> = looks
            .iter()
            .filter_map(|look: &Look| Some((look.cycles as f64, figure(look)?)))
            .collect();
        match Slope::of(&looks) {
            Some(Slope { each, error }) => format!("{} ± {}", show(each * 1e3), show(error * 1e3)),
            None => "n/a".to_owned(),
        }
    };
    let bytes = |n: f64| match n < 0.0 {
        true => format!("-{}", Bytes::show(-n)),
        false => Bytes::show(n),
    };
    let of = |sample: &observe::Sample| {
        let memory = sample.rss_bytes.as_ref().map(|&it| Bytes::show(it as f64));
        let descriptors = sample.descriptors.as_ref().map(u64::to_string);
        let missing = || "n/a".to_owned();
        (
            memory.unwrap_or_else(|_| missing()),
            descriptors.unwrap_or_else(|_| missing()),
        )
    };
    let ((memory, open), (memory_after, open_after)) = (of(&before), of(&after));
    Ok(format!(
        "{kind}: {what}\n  \
         p99           {:.0} µs without, {:.0} µs with, ratio {:.2} ({:.2} to {:.2}), {errors} errors of the good session\n  \
         1,000 cycles  memory {}, descriptors {} ({cycles} cycles)\n  \
         afterwards    memory {memory} before, {memory_after} after; descriptors {open} before, {open_after} after\n",
        calm.median / 1e3,
        hit.median / 1e3,
        ratio.median,
        ratio.low,
        ratio.high,
        rise(|look| look.rss, &bytes),
        rise(|look| look.descriptors, &|n| format!("{n:.2}")),
    ))
}

/// Waits until the plant has closed what attackers left open.
fn back(process: &mut Process, before: &observe::Sample, patience: Duration) {
    let wanted = before.descriptors.clone().unwrap_or(u64::MAX);
    let end = Instant::now() + patience;
    while Instant::now() < end && process.sample().descriptors.is_ok_and(|open| open > wanted) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A process full of them.
struct Attackers {
    child: Child,
    stdin: Option<ChildStdin>,
    cycles: Arc<AtomicU64>,
}

impl Attackers {
    /// Comes back when as many are there as are to be.
    fn start(kind: &str, url: &str, folder: &Path) -> anyhow::Result<Self> {
        // Behind everybody else where processors are scarce: what they cost themselves is not the server's doing.
        let mut child = Command::new("nice")
            .args(["-n", "19"])
            .arg(std::env::current_exe()?)
            .args([attack::ROLE, kind, url])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the attackers with nice")?;
        let stdin = child.stdin.take();
        let out = child.stdout.take().context("no output")?;
        let cycles = Arc::new(AtomicU64::new(0));
        let (counter, ready) = (Arc::clone(&cycles), std::sync::mpsc::channel());
        let (tell, told) = ready;
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let mut words = line.split(' ').map(|word| word.parse().unwrap_or(0));
                let all_there = words.next() == Some(1);
                counter.store(words.next().unwrap_or(0), Ordering::Relaxed);
                if all_there {
                    // Said again and again; the first time is waited for.
                    let _ = tell.send(());
                }
            }
        });
        let this = Self {
            child,
            stdin,
            cycles,
        };
        told.recv_timeout(Duration::from_secs(60))
            .context("the attackers did not come")?;
        Ok(this)
    }

    /// Ends it, and tells how often they have come and gone.
    fn stop(self) -> u64 {
        self.cycles.load(Ordering::Relaxed)
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// A look at the plant.
struct Look {
    cycles: u64,
    rss: Option<f64>,
    descriptors: Option<f64>,
}

struct Watching {
    stop: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<Vec<Look>>,
}

impl Watching {
    fn finish(self) -> Vec<Look> {
        // Gone only if the thread has ended.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

/// Looks at the plant ten times a second; `so_far`: cycles of earlier turns.
fn watch(attackers: &Attackers, plant: u32, so_far: u64) -> Watching {
    let cycles = Arc::clone(&attackers.cycles);
    let (stop, stopped) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut looks = Vec::new();
        let Ok(mut process) = Process::of(plant) else {
            return looks;
        };
        while stopped.recv_timeout(Duration::from_millis(100)).is_err() {
            let sample = process.sample();
            looks.push(Look {
                cycles: so_far + cycles.load(Ordering::Relaxed),
                rss: sample.rss_bytes.ok().map(|bytes| bytes as f64),
                descriptors: sample.descriptors.ok().map(|open| open as f64),
            });
        }
        looks
    });
    Watching { stop, thread }
}
