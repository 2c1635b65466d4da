//! Energy of a run: what a power meter wrote down and what the machine's own domains counted, beyond idling.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use load::engine::Control;
use observe::{
    Account, Columns, Meter, NotAvailable, Power, Taken, Tree, Within, above_idle, domains, idle,
};
use plan::unit::duration;
use record::run::{Energy, Figure, Mean, Phase};

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
    /// Energy of this machine by its own domains, too (RAPL)
    #[arg(long)]
    energy: bool,
    /// Do nothing for so long before and after the load, to know what that takes [default: 5s where energy is counted]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    idle: Option<Duration>,
}

/// Where nothing was said.
const IDLE: Duration = Duration::from_secs(5);
/// Domains are read so often.
const EVERY: Duration = Duration::from_millis(100);
/// A meter's program may write later than it measures: so long is waited for the end of what is wanted.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which column is what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Map(Columns);

impl Default for Map {
    fn default() -> Self {
        Self(Columns {
            time: "time".into(),
            power: Power::Watts("watts".into()),
            separator: ',',
            decimal: '.',
        })
    }
}

impl FromStr for Map {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Self(mut columns) = Self::default();
        let (mut watts, mut volts, mut amperes) = (None, None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim().to_owned();
            match (key.trim(), value.as_str()) {
                ("time" | "watts" | "volts" | "amperes", "") => {
                    return Err(format!("{part:?}: want the name or the number of a column"));
                }
                ("time", _) => columns.time = value,
                ("watts", _) => watts = Some(value),
                ("volts", _) => volts = Some(value),
                ("amperes", _) => amperes = Some(value),
                ("separator", "comma") => columns.separator = ',',
                ("separator", "semicolon") => columns.separator = ';',
                ("separator", "tab") => columns.separator = '\t',
                ("decimal", "point") => columns.decimal = '.',
                ("decimal", "comma") => columns.decimal = ',',
                _ => {
                    return Err(format!(
                        "{part:?} (want time, watts, volts, amperes, separator=comma|semicolon|tab or decimal=point|comma)"
                    ));
                }
            }
        }
        columns.power = match (watts, volts, amperes) {
            (Some(watts), None, None) => Power::Watts(watts),
            (None, Some(volts), Some(amperes)) => Power::VoltsTimesAmperes(volts, amperes),
            _ => return Err("want watts=…, or volts=… and amperes=…".to_owned()),
        };
        Ok(Self(columns))
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
    meter: Option<(String, Result<Meter, NotAvailable>)>,
    account: Option<Result<Account, NotAvailable>>,
}

impl Args {
    /// Begins, with the time without load, if energy was asked for.
    pub fn begin(&self, control: &Control, quiet: bool) -> anyhow::Result<Option<Counting<'_>>> {
        if self.meter.is_none() && !self.energy {
            return match self.idle {
                Some(_) => {
                    Err(Failure::usage("--idle: want --meter FILE or --energy with it").into())
                }
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
        let clock = Clock::new();
        let sampler = self.energy.then(|| Sampler::start(clock));
        let idle = self.idle.unwrap_or(IDLE);
        if !quiet && !idle.is_zero() {
            tell!(
                "nothing is done for {} before and after the load, to know what that takes",
                duration::show(idle)
            );
        }
        Ok(Some(Counting {
            args: self,
            clock,
            before: pause(clock, idle, control),
            sampler,
        }))
    }

    /// The meter, with its name.
    fn read(&self, until_s: f64) -> Option<(String, Result<Meter, NotAvailable>)> {
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
            let enough = meter
                .as_ref()
                .is_ok_and(|it| it.between(until_s - 1e-3, until_s).is_ok());
            if enough || Instant::now() >= until {
                return Some((name, meter));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
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
            meter: self.args.read(after.1),
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
        let mut add = |by: &str, between: &dyn Fn((f64, f64)) -> Result<Taken, NotAvailable>| {
            let done = (phase.total.completed, phase.total.values);
            let idle = idle(
                &between(self.quiet(self.before)),
                &between(self.quiet(self.after)),
            );
            all.push(energy(by, between(window), idle, done));
        };
        if let Some((name, meter)) = &self.meter {
            add(name, &|(from, to)| {
                meter.as_ref().map_err(Clone::clone)?.between(from, to)
            });
        }
        match &self.account {
            Some(Ok(account)) => {
                for name in account.names() {
                    add(&name, &|(from, to)| account.between(&name, from, to));
                }
            }
            Some(Err(why)) => add("RAPL", &|_| Err(why.clone())),
            None => {}
        }
        all
    }

    /// Without the first fifth: what went before has its end there.
    fn quiet(&self, (from, to): (f64, f64)) -> (f64, f64) {
        (from + (to - from) / 5.0, to)
    }
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
    (operations, values): (u64, u64),
) -> Energy {
    let above = taken
        .clone()
        .and_then(|taken| Ok(above_idle(&taken, idle.as_ref().map_err(Clone::clone)?)));
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
        widest_gap_ns: Figure::from(taken.as_ref().map(|it| (it.widest_gap_s * 1e9) as u64)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_map_names_the_columns_and_says_what_it_wants() {
        let map: Map = "time=1,volts=2,amperes=3,separator=semicolon,decimal=comma"
            .parse()
            .unwrap();
        assert_eq!(map.0.separator, ';');
        assert_eq!(map.0.decimal, ',');
        assert_eq!(
            map.0.power,
            Power::VoltsTimesAmperes("2".into(), "3".into())
        );
        for wrong in [
            "time=t",
            "watts=",
            "volts=2",
            "power=3",
            "watts=1,volts=2",
            "watts=1,separator=x",
        ] {
            assert!(
                wrong.parse::<Map>().unwrap_err().contains("want"),
                "{wrong}"
            );
        }
    }
}
