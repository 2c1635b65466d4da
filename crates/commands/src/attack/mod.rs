//! `uaperf attack`: what clients that misbehave do to the good clients of one's own server.

mod permit;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use judge::{CoreUse, Evidence, Judgement, Load};
use load::attack::{Kind, Look, Moment, Observers, TargetServer, examine};
use load::engine::{Control, Outcome, RunError, SessionError, Target};
use observe::Process;
use plan::NodeSpec;
use plan::unit::{Bytes, Rate, duration};
use record::Tally;
use record::attack::{AttackSettings, FORMAT, Sheet, VERSION};
use record::run::{Figure, Kind as Verdict};
use wire::url::Url;

use self::permit::Permit;
use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt;
use crate::quick::feed::FeedSender;
use crate::{access, advice, quick, sheet};

/// Attack your own server, and measure the effect on its well-behaved clients
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the server is, such as opc.tcp://plc1:4840
    #[arg(value_parser = plan::typed)]
    url: Url,
    /// What may be done to the server beyond reading: attack; not needed for a plant (`uaperf serve`) on this
    /// machine's loopback
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["attack"])]
    allow: Vec<String>,
    /// Confirm that the server is yours: its host, once more; not needed for a plant on this machine's loopback
    #[arg(long, value_name = "HOST")]
    mine: Option<String>,
    /// Only these: certificates, half-open, unfinished, replayed, malformed, passwords, renewals, browse, history,
    /// items [default: all, one after the other]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<Kind>,
    /// How long it is calm, attacked, and calm again, for each kind
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = step)]
    step: Duration,
    /// Attacks a second
    #[arg(long, value_name = "RATE", default_value = "100/s", value_parser = attacks)]
    attacks: Rate,
    /// Attacks of each kind at most
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    count: u64,
    /// Attackers at a time; each waits for the server before it attacks again
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    attackers: u32,
    /// Connections that attackers leave open at most; then the oldest make room
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    open: u64,
    /// Reads of the good client a second
    #[arg(long, value_name = "RATE", default_value = "200/s", value_parser = reads)]
    rate: Rate,
    /// What the good client reads, one node each time, and subscribes to
    #[arg(short, long = "node", value_name = "NODE", default_value = "i=2258")]
    node: Vec<NodeSpec>,
    /// Call good clients slowed from this ratio on
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = slow)]
    slow: f64,
    /// Report memory left behind from this size on
    #[arg(long, value_name = "SIZE", default_value = "32MiB")]
    left: Bytes,
    #[command(flatten)]
    sheet: sheet::Args,
    #[command(flatten)]
    access: access::Args,
}

const EXAMPLES: &str = "\
For your own servers only: it may end or hang, and whoever else uses it will notice. A good client reads and subscribes, \
others come and go; attacks are made beside them, for a while and so many. Users that attackers name do not exist, so \
that nobody is locked out. It ends when the server is gone.

Exit codes: 0 no harm was seen, 3 good clients or the server came to harm, 4 the generator was the limit.

Examples:
  uaperf attack opc.tcp://127.0.0.1:4840                       a plant that `uaperf serve` started
  uaperf attack opc.tcp://plc1:4840 --allow attack --mine plc1 --report attack.html
  uaperf attack opc.tcp://plc1:4840 --allow attack --mine plc1 --kind half-open,items \\
    --attacks 500/s --step 20s --out attack.json";

fn step(text: &str) -> Result<Duration, String> {
    let long = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_secs(1)..=Duration::from_secs(600)).contains(&long) {
        // Figures are of tenths of a second.
        true => Ok(Duration::from_millis(long.as_millis() as u64 / 100 * 100)),
        false => Err("want 1s to 10m".to_owned()),
    }
}

fn at_most(text: &str, most: f64) -> Result<Rate, String> {
    let rate: Rate = text
        .parse()
        .map_err(|error: plan::unit::UnitError| error.to_string())?;
    match rate.as_f64() <= most {
        true => Ok(rate),
        false => Err(format!("want at most {most}/s")),
    }
}

fn attacks(text: &str) -> Result<Rate, String> {
    at_most(text, 10_000.0)
}

fn reads(text: &str) -> Result<Rate, String> {
    at_most(text, 100_000.0)
}

fn slow(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(times) if times > 1.0 && times.is_finite() => Ok(times),
        _ => Err("want a number above 1".to_owned()),
    }
}

/// Carries out `uaperf attack`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let mut out = args.sheet.begin(args.access.pcap())?;
    let access = args.access.resolve(args.url.clone(), global)?;
    let permit = Permit {
        allowed: !args.allow.is_empty(),
        mine: args.mine.as_deref(),
    };
    permit.check(&access)?;
    let target = Target::look(access).map_err(|failed| refused(&failed.1, &failed.0))?;
    permit.given(&target)?;
    let sheet = measure(&args, Arc::new(target))?;
    args.sheet.put(&sheet, &mut out)?;
    Ok(ExitCode::from(judge::attack::exit(&sheet)))
}

fn refused(error: &SessionError, access: &load::access::Access) -> Failure {
    match error {
        SessionError::Access(error) => advice::on(error, access),
        other => Failure::new(format!("{}: {other}", access.url)),
    }
}

/// Descriptors beside those of attackers.
const OTHERS: u64 = 200;

/// Sees to it that there can be as many connections as attackers are to leave open.
fn descriptors(args: &Args) -> Result<(), Failure> {
    let wanted = args.open + u64::from(args.attackers) + OTHERS;
    match observe::limits::raise_descriptors(wanted) {
        Ok(may) if may.soft < wanted => Err(Failure::usage(format!(
            "--open {}: this process may have {} files and sockets open (want {wanted})",
            args.open, may.soft
        ))
        .hint("keep fewer open (--open N), or raise the limit (ulimit -Hn)")),
        // Where there is no saying, attacks that are not made say so.
        _ => Ok(()),
    }
}

fn measure(args: &Args, target: Arc<Target>) -> anyhow::Result<Sheet> {
    let access = target.access.clone();
    let kinds = match args.kind.as_slice() {
        [] => Kind::ALL.to_vec(),
        some => some.to_vec(),
    };
    descriptors(args)?;
    let mut process = match args.sheet.server(&access) {
        Some(pid) => Process::of(pid).map_err(|why| why.reason().to_owned()),
        None => Err("it is not one of this machine's that can be seen".to_owned()),
    };
    if let (Some(pid), Err(why)) = (args.sheet.server_pid, &process) {
        return Err(Failure::usage(format!("--server-pid {pid}: {why}")).into());
    }
    let mut sheet = sheet(args, &target, &process);
    let victim = TargetServer::new(target, &args.node.clone().into(), args.rate, kinds)
        .map_err(|error| refused(&error, &access))?;
    // Until here there is nothing to keep: a signal ends it as it ends any program.
    let control = Control::default();
    interrupt::stops(&control)?;
    let tellers = Mutex::default();
    let done = examine(
        &victim,
        &mut sheet,
        &mut Observers {
            look: &mut || look(process.as_mut().ok()),
            own_cpu: &|| observe::thread_cpu().ok(),
            limits: &limits,
            progress: &|what| args.sheet.progress(what),
            good: &|moment| tell(&tellers, &moment),
            control: &control,
        },
    );
    match done {
        // What was measured until then is of use.
        Err(error) if sheet.kinds.iter().all(|it| it.seen.is_none()) => {
            return Err(match &error {
                RunError::NoSession { error, .. } => refused(error, &access).into(),
                _ => Failure::new(error.to_string()).into(),
            });
        }
        Err(error @ RunError::NoSession { .. }) => sheet.gone = Some(error.to_string()),
        // That is no fault of the server.
        Err(error) => sheet.failed = Some(error.to_string()),
        Ok(()) => {}
    }
    judge::attack::conclude(&mut sheet);
    Ok(sheet)
}

/// What the good client does goes to whoever listens.
fn tell(tellers: &Mutex<BTreeMap<usize, FeedSender>>, moment: &Moment<'_>) {
    let progress = moment.progress;
    let mut tellers = tellers.lock().unwrap_or_else(PoisonError::into_inner);
    if !tellers.contains_key(&moment.place) {
        let new = FeedSender::of("attack", moment.kind.name());
        tellers.extend(new.map(|it| (moment.place, it)));
    }
    let Some(feed_sender) = tellers.get_mut(&moment.place) else {
        return;
    };
    feed_sender.attacked(moment.part, moment.attacks);
    feed_sender.follow(progress);
}

fn sheet(args: &Args, target: &Target, process: &Result<Process, String>) -> Sheet {
    let about = &target.about;
    let nodes: Vec<String> = args.node.iter().map(ToString::to_string).collect();
    Sheet {
        format: FORMAT.into(),
        version: VERSION,
        started: SystemTime::now().into(),
        url: target.access.url.to_string(),
        product: about.name(),
        security: target.opening.endpoint().name(),
        process: match process {
            Ok(process) => Figure::Known(process.id()),
            Err(why) => Figure::missing(why.clone()),
        },
        machine: observe::fingerprint(),
        asked: AttackSettings {
            step_ns: duration::nanos(args.step),
            rate_per_s: args.attacks.as_f64(),
            count: args.count,
            clients: args.attackers,
            open: args.open,
            good_rate_per_s: args.rate.as_f64(),
            nodes: nodes.join(", "),
            slow: args.slow,
            left_bytes: args.left.0,
        },
        interrupted: false,
        gone: None,
        failed: None,
        kinds: Vec::new(),
    }
}

/// A look at the server, where its process is seen.
fn look(process: Option<&mut Process>) -> Look {
    let Some(process) = process else {
        return Look::default();
    };
    let sample = process.sample();
    Look {
        cpu: process.cpu().ok(),
        rss_bytes: sample.rss_bytes.ok().filter(|it| *it > 0),
        descriptors: sample.descriptors.ok(),
        gone: sample.cpu_ns.is_err() && Process::of(process.id()).is_err(),
    }
}

/// Why the generator itself was the limit, if it was, from one time to another.
fn limits(outcome: &Outcome, reads: &Tally, (from, to): (u64, u64)) -> Vec<String> {
    let window = reads.window(from, to);
    let cores = outcome.cores.iter().map(|core| CoreUse {
        ran_ns: core.ran_ns,
        idle_ns: core.idle_ns,
        starved_ns: core.starved_ns,
    });
    let evidence = Evidence {
        cores: cores.collect(),
        stalls: outcome.stalls.clone(),
        ..Evidence::of(reads, &window, Load::Open, &quick::status_name)
    };
    let verdict = Judgement::of(&evidence).verdict();
    match verdict.kind {
        Verdict::GeneratorLimited => verdict.evidence,
        _ => Vec::new(),
    }
}
