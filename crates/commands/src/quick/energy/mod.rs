//! Energy of a run: what a power meter wrote down and what the machine's own domains counted, beyond idling.

mod course;
mod map;

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use load::engine::Control;
use observe::{
    Account, Aligned, LoadStep, Meter, NotAvailable, Taken, Tree, Within, above_idle, domains, idle,
};
use plan::unit::duration;
use record::run::{Energy, Figure, Mean, Phase};

use self::map::Map;
use crate::failure::Failure;
use crate::screen::tell;

/// What counts energy, and how long nothing is done before and after.
#[derive(Debug, clap::Args)]
#[group(id = "energies")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// Energy by what a power meter writes down meanwhile: a CSV file, or - for standard input
    #[arg(long, value_name = "FILE")]
    meter: Option<PathBuf>,
    /// Columns of the meter: time=NAME,watts=NAME or time=1,volts=2,amperes=3 (names, or numbers from 1), with
    /// separator=semicolon|tab and decimal=comma where they are [default: time=time,watts=watts]
    #[arg(long, value_name = "MAP", requires = "meter", value_parser = Map::from_str)]
    meter_columns: Option<Map>,
    /// Seconds to add to the meter's time to have seconds since 1970 here
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "meter",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    meter_offset: f64,
    /// Find out these seconds by a step of load: before the run, Reads as fast as the server answers for so long, between
    /// two times without load
    #[arg(
        long,
        value_name = "DURATION",
        requires = "meter",
        conflicts_with = "meter_offset",
        value_parser = step_length
    )]
    meter_align: Option<Duration>,
    /// Energy of this machine by its own domains, too (RAPL)
    #[arg(long)]
    energy: bool,
    /// Do nothing for so long before and after the load, to know what that takes [default: 5s where energy is counted]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    idle: Option<Duration>,
}

/// Where nothing was said.
const IDLE: Duration = Duration::from_secs(5);
/// Around a step of load nothing is done for so long at least.
const LEAST_IDLE: Duration = Duration::from_millis(500);
/// Domains are read so often.
const EVERY: Duration = Duration::from_millis(100);
/// A meter's program may write later than it measures: so long is waited for the end of what is wanted.
const PATIENCE: Duration = Duration::from_secs(5);

fn step_length(text: &str) -> Result<Duration, String> {
    let long = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_millis(500)..=Duration::from_secs(600)).contains(&long) {
        true => Ok(long),
        false => Err("want 500ms to 10m".to_owned()),
    }
}

/// Seconds since 1970; the wall clock may be set meanwhile, and is asked once.
#[derive(Debug, Clone, Copy)]
struct Clock {
    unix_s: f64,
    began: Instant,
}

impl Clock {
    fn new() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            // A clock before 1970 is wrong, and 0 says so.
            unix_s: unix.unwrap_or_default().as_secs_f64(),
            began: Instant::now(),
        }
    }

    fn now(&self) -> f64 {
        self.unix_s + self.began.elapsed().as_secs_f64()
    }
}

/// Energy is counted.
pub struct Counting<'a> {
    args: &'a Args,
    clock: Clock,
    /// Without load.
    before: (f64, f64),
    /// What was made for the meter's clock.
    step: Option<LoadStep>,
    sampler: Option<Result<Sampler, NotAvailable>>,
}

/// Reads the domains of this machine again and again.
struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Account>,
}

impl Sampler {
    fn start(clock: Clock) -> Result<Self, NotAvailable> {
        domains(&Tree::here())?;
        let (stop, stopped) = channel();
        let read = move || {
            let mut account = Account::default();
            loop {
                if let Ok(domains) = domains(&Tree::here()) {
                    account.push(clock.now(), domains);
                }
                // Anything but a timeout ends it.
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return account;
                }
            }
        };
        let thread = std::thread::Builder::new().name("energy".into());
        let thread = thread
            .spawn(read)
            .map_err(|error| NotAvailable::because(error.to_string()))?;
        Ok(Self { stop, thread })
    }
}

/// What counted, and when there was no load.
pub struct Counted {
    before: (f64, f64),
    after: (f64, f64),
    meter: Option<(String, Result<Placed, NotAvailable>)>,
    account: Option<Result<Account, NotAvailable>>,
}

/// A meter on our clock, and how its own was found out.
struct Placed {
    meter: Meter,
    aligned: Option<Aligned>,
}

/// Makes load for so long: from when to when.
pub type MakeStep<'a> = &'a dyn Fn(Duration) -> anyhow::Result<(f64, f64)>;

impl Args {
    /// Begins, with the time without load, if energy was asked for. A load of PubSub makes no step.
    pub fn begin(
        &self,
        control: &Control,
        quiet: bool,
        make_step: Option<MakeStep<'_>>,
    ) -> anyhow::Result<Option<Counting<'_>>> {
        if self.meter.is_none() && !self.energy {
            return match self.idle {
                Some(_) => Err(Failure::usage("--idle needs --meter FILE or --energy").into()),
                None => Ok(None),
            };
        }
        match self.meter.as_deref() {
            Some(file) if is_input(file) => drop(input()),
            Some(file) => {
                std::fs::File::open(file).map_err(|error| {
                    Failure::usage(format!("--meter {}: {error}", file.display()))
                        .hint("start the meter's program first: its file has to be there")
                })?;
            }
            None => {}
        }
        let idle = self.idle.unwrap_or(IDLE);
        if self.meter_align.is_some() && idle < LEAST_IDLE {
            let told = "--meter-align: the step of load has to have time without load around it";
            return Err(Failure::usage(told).hint("--idle 5s").into());
        }
        let clock = Clock::new();
        let sampler = self.energy.then(|| Sampler::start(clock));
        let step = match (self.meter_align, make_step) {
            (None, _) => None,
            (Some(long), Some(make)) => Some(self.step(long, clock, control, quiet, make)?),
            (Some(_), None) => {
                let told = "--meter-align: a phase of PubSub makes no step of Reads";
                return Err(Failure::usage(told).hint("--meter-offset SECONDS").into());
            }
        };
        if !quiet && !idle.is_zero() {
            tell!(
                "nothing is done for {} before and after the load, to know what that takes",
                duration::show(idle)
            );
        }
        let before = pause(clock, idle, control);
        let step = step.map(|(idle_from_s, (from_s, to_s))| LoadStep {
            idle_from_s,
            from_s,
            to_s,
            idle_to_s: before.1,
        });
        Ok(Some(Counting {
            args: self,
            clock,
            before,
            step,
            sampler,
        }))
    }

    /// A step of load, and when the time without load before it began.
    fn step(
        &self,
        long: Duration,
        clock: Clock,
        control: &Control,
        quiet: bool,
        make_step: MakeStep<'_>,
    ) -> anyhow::Result<(f64, (f64, f64))> {
        if !quiet {
            tell!(
                "a step of load for the meter's clock: Reads as fast as they are answered, for {}",
                duration::show(long)
            );
        }
        let (from, _) = pause(clock, self.idle.unwrap_or(IDLE), control);
        Ok((from, make_step(long)?))
    }

    /// The meter, with its name.
    fn read(
        &self,
        until_s: f64,
        step: Option<&LoadStep>,
        control: &Control,
    ) -> Option<(String, Result<Placed, NotAvailable>)> {
        let file = self.meter.as_deref()?;
        let Map(columns) = self.meter_columns.clone().unwrap_or_default();
        let name = match is_input(file) {
            true => "meter on standard input".to_owned(),
            false => format!("meter {}", file.display()),
        };
        let until = Instant::now() + PATIENCE;
        loop {
            let text = match is_input(file) {
                true => Ok(lock(&input()).clone()),
                false => std::fs::read_to_string(file)
                    .map_err(|error| NotAvailable::because(error.to_string())),
            };
            // A line without its end is still being written.
            let whole = |text: String| {
                text.rfind('\n')
                    .and_then(|end| Some(text.get(..end)?.to_owned()))
            };
            let meter = text.and_then(|text| {
                Meter::parse(
                    &whole(text).unwrap_or_default(),
                    &columns,
                    self.meter_offset,
                )
            });
            let meter = meter.and_then(|meter| placed(meter, step));
            let enough = meter
                .as_ref()
                .is_ok_and(|it| it.meter.between(until_s - 1e-3, until_s).is_ok());
            // Whoever wants it all to end is not kept waiting.
            if enough || control.is_over() || Instant::now() >= until {
                return Some((name, meter));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// On our clock, as a step of load tells it.
fn placed(meter: Meter, step: Option<&LoadStep>) -> Result<Placed, NotAvailable> {
    let aligned = step.map(|step| meter.align(step)).transpose()?;
    Ok(Placed {
        meter: meter.moved(aligned.map_or(0.0, |it| it.offset_s)),
        aligned,
    })
}

fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn lock(text: &Mutex<String>) -> std::sync::MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What came on standard input so far; it is read from now on.
fn input() -> Arc<Mutex<String>> {
    static INPUT: OnceLock<Arc<Mutex<String>>> = OnceLock::new();
    let begin = || {
        let text = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&text);
        let read = move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let mut text = lock(&written);
                text.push_str(&line);
                text.push('\n');
            }
        };
        // Without the thread the meter has no readings, and that is said.
        let _ = std::thread::Builder::new().name("meter".into()).spawn(read);
        text
    };
    Arc::clone(INPUT.get_or_init(begin))
}

/// Nothing is done for so long, but for who wants it all to end.
fn pause(clock: Clock, long: Duration, control: &Control) -> (f64, f64) {
    let (from, until) = (clock.now(), Instant::now() + long);
    while Instant::now() < until && !control.is_over() {
        std::thread::sleep(Duration::from_millis(20).min(long));
    }
    (from, clock.now())
}

impl Counting<'_> {
    /// Ends it, with the time without load.
    pub fn finish(self, control: &Control) -> Counted {
        let idle = self.args.idle.unwrap_or(IDLE);
        let after = pause(self.clock, idle, control);
        let account = self.sampler.map(|sampler| {
            let sampler = sampler?;
            // The last reading lies behind what is asked of it.
            std::thread::sleep(EVERY * 2);
            let _ = sampler.stop.send(());
            let ended = |_| NotAvailable::because("the thread that reads it ended before its time");
            sampler.thread.join().map_err(ended)
        });
        Counted {
            before: self.before,
            after,
            meter: self.args.read(after.1, self.step.as_ref(), control),
            account,
        }
    }
}

impl Counted {
    /// As it stands in the result of a phase.
    pub fn of(&self, phase: &Phase) -> Vec<Energy> {
        let at = |ns: u64| phase.started.unix_ns() as f64 / 1e9 + ns as f64 / 1e9;
        let window = (at(phase.from_ns), at(phase.to_ns));
        let mut all = Vec::new();
        let mut add =
            |by: &str,
             aligned: Option<Aligned>,
             between: &dyn Fn((f64, f64)) -> Result<Taken, NotAvailable>| {
                let done = done(phase);
                let idle = idle(
                    &between(self.quiet(self.before)),
                    &between(self.quiet(self.after)),
                );
                let mut energy = energy(by, between(window), idle, aligned, done);
                energy.course = course::course(phase, &energy.widest_gap_ns, &|from, to| {
                    between((at(from), at(to)))
                });
                all.push(energy);
            };
        if let Some((name, meter)) = &self.meter {
            let aligned = meter.as_ref().ok().and_then(|it| it.aligned);
            add(name, aligned, &|(from, to)| {
                let placed = meter.as_ref().map_err(Clone::clone)?;
                placed.meter.between(from, to)
            });
        }
        match &self.account {
            Some(Ok(account)) => {
                for name in account.names() {
                    add(&name, None, &|(from, to)| account.between(&name, from, to));
                }
            }
            Some(Err(why)) => add("RAPL", None, &|_| Err(why.clone())),
            None => {}
        }
        all
    }

    /// Without the first fifth: what went before has its end there.
    fn quiet(&self, (from, to): (f64, f64)) -> (f64, f64) {
        (from + (to - from) / 5.0, to)
    }
}

/// Operations that ended in the window, and values: of a publisher those that it sent in as much time. A datagram is no operation.
fn done(phase: &Phase) -> (u64, u64) {
    if phase.pubsub.is_none() {
        return (phase.total.completed, phase.total.values);
    }
    let per_s = phase.values_moved_per_s().unwrap_or(0.0);
    let seconds = phase.to_ns.saturating_sub(phase.from_ns) as f64 / 1e9;
    (0, (per_s * seconds).round() as u64)
}

fn mean(it: &Within) -> Mean {
    Mean {
        mean: it.value,
        error: it.error,
    }
}

/// What was taken in a window, and what of it the load took.
fn energy(
    by: &str,
    taken: Result<Taken, NotAvailable>,
    idle: Result<Within, NotAvailable>,
    aligned: Option<Aligned>,
    (operations, values): (u64, u64),
) -> Energy {
    let above = taken.clone().and_then(|taken| {
        let error = aligned.map_or(0.0, |it| it.error_s);
        Ok(above_idle(
            &taken,
            idle.as_ref().map_err(Clone::clone)?,
            error,
        ))
    });
    let each = |count: u64, what: &str| match (&above, count) {
        (Err(why), _) => Figure::missing(why.reason()),
        (Ok(_), 0) => Figure::missing(format!("no {what} ended in the window")),
        (Ok(it), n) => Figure::Known(Mean {
            mean: it.value / n as f64,
            error: it.error / n as f64,
        }),
    };
    let of = |of: fn(&Taken) -> f64| Figure::from(taken.as_ref().map(of));
    Energy {
        by: by.to_owned(),
        joules: of(|it| it.joules),
        watts: of(|it| it.watts),
        idle_watts: Figure::from(idle.as_ref().map(mean)),
        above_idle_joules: Figure::from(above.as_ref().map(mean)),
        per_operation_joules: each(operations, "operation"),
        per_value_joules: each(values, "value"),
        aligned_by_s: aligned.map(|it| Mean {
            mean: it.offset_s,
            error: it.error_s,
        }),
        widest_gap_ns: Figure::from(taken.as_ref().map(|it| (it.widest_gap_s * 1e9) as u64)),
        course: None,
    }
}
