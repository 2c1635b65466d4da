//! `uaperf watch`: what a server spends, while it is looked at.

mod close;
mod cost;
mod difference;
mod far;
mod host;
mod line;
mod metrics;
pub mod piped;
mod screen;
mod target;
mod watched;

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use judge::Exit;
use observe::Network;
use plan::unit::duration;
use report::family::prometheus;

use self::cost::Cost;
use self::far::RemoteProcess;
use self::host::Machine;
use self::line::{End, Line};
use self::screen::Screen;
pub use self::target::process;
use self::watched::Watched;
use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt;
use crate::metrics as served;
use crate::screen::{is_gone, out, tell};

/// Watch the resources of a process, here or on another host: threads, CPU, memory, switches, disks, sockets
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A process by its id, its name or the port that it listens on (:4840), or a stack that `uaperf peers` started. Of
    /// another host: prom:http://HOST:9100, with #NAME for a process (a page for Prometheus), or ssh:HOST or
    /// nats:TAG/NAME (an agent that waits at a broker), with :PID, :NAME or ::PORT
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Time between two looks
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// How long to watch [default: until it ends, or Ctrl-C]
    #[arg(long, value_name = "DURATION", value_parser = length)]
    duration: Option<Duration>,
    /// Watch the processes that it started, too
    #[arg(long)]
    children: bool,
    /// Count cycles, instructions, cache and branch misses, switches and migrations, too, by perf_event_open (Linux);
    /// each switch of a thread costs a little more meanwhile
    #[arg(long)]
    counters: bool,
    /// A line of JSON for each sample instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Let Prometheus read figures here under /metrics; an address, or a port of the loopback such as :9464
    #[arg(long, visible_alias = "metrics", value_name = "ADDRESS", value_parser = served::address)]
    prometheus: Option<SocketAddr>,
    /// Watch for a controller at the other end of standard input and output; ssh:HOST starts it there
    #[arg(long, conflicts_with_all = ["json", "prometheus", "children", "counters", "duration"])]
    pipe: bool,
}

const EXAMPLES: &str = "\
Examples:
  uaperf watch :4840
  uaperf watch 4711 --interval 10ms --duration 30s --json > server.jsonl
  uaperf watch open62541 milo --prometheus :9464
  uaperf watch prom:http://plc1:9100 ssh:lab@plc2::4840";

/// An interval between looks.
pub fn interval(text: &str) -> Result<Duration, String> {
    let every = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_millis(10)..=Duration::from_secs(3600)).contains(&every) {
        true => Ok(every),
        false => Err("want 10ms to 1h".to_owned()),
    }
}

fn length(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("want more than 0".to_owned()),
        Ok(length) => Ok(length),
        Err(error) => Err(error.to_string()),
    }
}

/// What scrapers read.
type Page = Arc<Mutex<String>>;

/// A page that is answered from now on, until this process ends.
fn open(at: SocketAddr) -> Result<Page, Failure> {
    let page = Page::default();
    let shown = Arc::clone(&page);
    let at = served::serve(at, move || {
        shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    })
    .map_err(|error| {
        Failure::new(format!("--prometheus {at}: {error}"))
            .hint("another port, or port 0 for a free one")
    })?;
    tell!("figures for Prometheus: http://{at}/metrics");
    Ok(page)
}

fn show(page: &Page, text: String) {
    *page.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

/// What takes more time than looking at the process as a whole is looked at this often.
const CLOSELY: Duration = Duration::from_secs(1);

/// Carries out `uaperf watch`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    if args.pipe {
        return match args.targets.as_slice() {
            [one] => piped::serve(one),
            _ => Err(Failure::usage("--pipe: want one target").into()),
        };
    }
    let mut all = Vec::new();
    let mut far = Vec::new();
    for typed in &args.targets {
        if let Some(found) = RemoteProcess::find(typed, args.interval) {
            far.push(found?);
            continue;
        }
        let found = target::find(typed, args.children, args.counters)?;
        all.extend(
            found
                .into_iter()
                .filter(|it: &Watched| !it.is_among(&all))
                .collect::<Vec<_>>(),
        );
    }
    let asked = [
        ("--children", args.children),
        ("--counters", args.counters),
        ("--prometheus", args.prometheus.is_some()),
    ];
    if let Some((option, _)) = asked.iter().find(|it| it.1 && all.is_empty()) {
        let told = format!("{option} is for processes of this machine: name one, too");
        return Err(Failure::usage(told).into());
    }
    for it in &far {
        tell!("{}", it.told());
    }
    let scraped = args.prometheus.map(open).transpose()?;
    let (tell, told) = channel();
    interrupt::first(move || {
        // Gone only if the program ends already.
        let _ = tell.send(());
    })?;
    let mut output: Box<dyn Output> = match args.json {
        true => Box::new(line::Lines::new(out())),
        false => Box::new(Screen::new(out().is_terminal())),
    };
    let end = watch(
        &args,
        &mut all,
        &mut far,
        scraped.as_ref(),
        &told,
        output.as_mut(),
    )?;
    output.end(&end)?;
    Ok(ExitCode::from(match (end.interrupted, args.duration) {
        // Without a duration there is no other way to end it.
        (true, Some(_)) => Exit::Interrupted,
        _ if end.is_short(args.duration) => {
            return Err(Failure::new(format!(
                "what was watched ended after {}, before --duration {} was over",
                duration::show_ns(end.watched_ns),
                duration::typed(args.duration.unwrap_or_default())
            ))
            .into());
        }
        _ => Exit::Good,
    }))
}

/// Where looks go.
trait Output {
    /// One or more lines of the same moment.
    fn take(&mut self, lines: Vec<Line>) -> std::io::Result<()>;
    /// After the last one.
    fn end(&mut self, end: &End) -> std::io::Result<()>;
}

impl<W: Write> Output for line::Lines<W> {
    fn take(&mut self, lines: Vec<Line>) -> std::io::Result<()> {
        lines.iter().try_for_each(|line| self.write(line))
    }

    fn end(&mut self, end: &End) -> std::io::Result<()> {
        self.write(&Line::End(end.clone()))
    }
}

fn watch(
    args: &Args,
    all: &mut [Watched],
    far: &mut [RemoteProcess],
    scraped: Option<&Page>,
    told: &Receiver<()>,
    out: &mut dyn Output,
) -> anyhow::Result<End> {
    let mut cost = Cost::begin();
    let mut machine = Machine::here();
    if let Some(scraped) = scraped {
        show(scraped, prometheus::text(&metrics::families(all)));
    }
    let began = Instant::now();
    let last = args.duration.map(|length| began + length);
    let mut closely = began + CLOSELY.max(args.interval);
    let mut next = began;
    let mut missed = 0;
    let interrupted = loop {
        next += args.interval;
        // A look that would come late is left out, so that those that come stay where they belong.
        let now = Instant::now();
        while next + args.interval <= now {
            next += args.interval;
            missed += 1;
        }
        let until = last.map_or(next, |last| next.min(last));
        match told.recv_timeout(until.saturating_duration_since(now)) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => break true,
        }
        let over = last.is_some_and(|last| Instant::now() >= last);
        let close = over || Instant::now() >= closely;
        while closely <= Instant::now() {
            closely += CLOSELY.max(args.interval);
        }
        let at = SystemTime::now().into();
        let network = close.then(Network::default);
        let looks = all.iter_mut();
        let mut lines: Vec<Line> = looks.flat_map(|it| it.look(at, network.as_ref())).collect();
        if close {
            // Who watches other hosts only does not ask for this one.
            if !all.is_empty() {
                lines.push(machine.look(at));
            }
            if let Some(scraped) = scraped {
                show(scraped, prometheus::text(&metrics::families(all)));
            }
        }
        lines.extend(far.iter_mut().flat_map(RemoteProcess::look));
        cost.looked();
        out.take(lines)?;
        // Without a duration nothing else would end it.
        let unread = is_gone() && args.duration.is_none() && scraped.is_none();
        let ended = all.iter().all(Watched::has_ended) && far.iter().all(RemoteProcess::has_ended);
        if over || unread || ended {
            break false;
        }
    };
    Ok(End {
        at: SystemTime::now().into(),
        interrupted,
        watched_ns: duration::nanos(began.elapsed()),
        missed,
        cost: cost.end(),
        processes: all
            .iter()
            .map(Watched::sum)
            .chain(far.iter().map(RemoteProcess::sum))
            .collect(),
    })
}
