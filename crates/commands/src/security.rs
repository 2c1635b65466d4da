//! `uaperf security`: what each protection that a server offers costs, what it refuses, and what should be mended.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use judge::Exit;
use load::access::{Access, AccessError, Credentials, Security};
use load::engine::Control;
use load::security::{ExamineError, Frame, Observers, Settings, examine};
use observe::Process;
use plan::NodeSpec;
use plan::unit::duration;
use record::run::Figure;
use record::security::Sheet;
use wire::url::Url;

use crate::global::Global;
use crate::{access, advice, interrupt, quick, sheet};

/// Measure what each security policy of a server costs, and check that it refuses what it must
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the server is, such as opc.tcp://plc1:4840
    #[arg(value_parser = plan::typed)]
    url: Url,
    /// Two short rounds instead of five, for a first look
    #[arg(long, conflicts_with_all = ["rounds", "slice"])]
    quick: bool,
    /// How often all policies are measured, in turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Connections with each kind of user in a round
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Clients that connect at the same time while connections a second are counted; 0 leaves that out
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=64))]
    at_once: u32,
    /// How long values of each size are read in a round
    #[arg(long, value_name = "DURATION", default_value = "150ms", value_parser = slice)]
    slice: Duration,
    /// How many values a Read asks for; a size beyond the server's limit is left out
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,10,100,1000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    values: Vec<u32>,
    /// The variable that is read; one with a large value makes large messages
    #[arg(short, long, value_name = "NODE", default_value = "i=2258")]
    node: NodeSpec,
    /// Do not show the server what it has to refuse
    #[arg(long)]
    no_refusals: bool,
    /// Exit code 3 if there is anything to mend
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    sheet: sheet::Args,
    #[command(flatten)]
    access: access::Args,
}

const EXAMPLES: &str = "\
Nothing at the server is changed: values are read, sessions come and go, and rights are asked for, not tried. To see \
what it refuses it is shown an unknown certificate, a false application URI and a user that does not exist; a server may \
keep the certificate in its list of rejected ones. --no-refusals leaves that out.

Examples:
  uaperf security opc.tcp://plc1:4840
  uaperf security opc.tcp://plc1:4840 --quick --user operator
  uaperf security opc.tcp://plc1:4840 --report security.html --out security.json
  uaperf security opc.tcp://plc1:4840 --quick --strict --quiet";

fn slice(text: &str) -> Result<Duration, String> {
    let long = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_millis(10)..=Duration::from_secs(600)).contains(&long) {
        true => Ok(long),
        false => Err("want 10ms to 10m".to_owned()),
    }
}

/// A first look.
const QUICK: (u32, Duration) = (2, Duration::from_millis(50));

/// Carries out `uaperf security`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let mut out = args.sheet.begin(args.access.pcap())?;
    let access = args.access.resolve(args.url.clone(), global)?;
    let sheet = measure(&args, &access)?;
    args.sheet.put(&sheet, &mut out)?;
    let measured = sheet.ways.iter().any(|it| it.failed.is_none());
    Ok(ExitCode::from(match &sheet {
        it if it.interrupted => Exit::Interrupted,
        _ if !measured => Exit::Nothing,
        it if args.strict && !it.warnings.is_empty() => Exit::Threshold,
        _ => Exit::Good,
    }))
}

fn measure(args: &Args, access: &Access) -> anyhow::Result<Sheet> {
    let (rounds, slice) = match args.quick {
        true => QUICK,
        false => (args.rounds, args.slice),
    };
    let mut sizes = args.values.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let settings = Settings {
        rounds,
        connections: args.connections,
        at_once: args.at_once,
        slice,
        sizes,
        node: args.node.clone(),
        users: match &access.user {
            Credentials::Anonymous => Vec::new(),
            user => vec![user.clone()],
        },
        refusals: !args.no_refusals,
    };
    let failed = |error: &AccessError| advice::on(error, access);
    let endpoints = access.offers().map_err(|error| failed(&error))?;
    // A server that is not trusted is refused before anything is measured, with what to do about it.
    let best = Access {
        security: Security::Best,
        user: Credentials::Anonymous,
        ..access.clone()
    };
    if let Err(error @ AccessError::Untrusted { .. }) = best.discover() {
        return Err(failed(&error).into());
    }
    // Until here there is nothing to keep: a signal ends it as it ends any program.
    let control = Control::default();
    interrupt::stops(&control)?;
    let server = args.sheet.server(access);
    let process = server.map(Process::of).and_then(Result::ok);
    let frame = Frame {
        started: SystemTime::now().into(),
        machine: observe::fingerprint(),
        process: match &process {
            Some(process) => Figure::Known(process.id()),
            None => Figure::missing("its process is not one of this machine's that can be seen"),
        },
    };
    let around = Observers {
        server_cpu: &|| process.as_ref()?.cpu().ok(),
        own_cpu: &|| observe::thread_cpu().ok(),
        stopped: &|| control.is_stopped(),
        progress: &|what| args.sheet.progress(what),
        told: &|over, what, closed| {
            quick::feed::told("security", &format!("{over} {what}"), closed);
        },
        explain: &|error| match advice::hint(error, access) {
            Some(hint) => format!("{error}; try: {hint}"),
            None => error.to_string(),
        },
    };
    let examined = examine(access, &endpoints, &settings, &around, frame);
    let mut sheet = examined.map_err(|error| match error {
        ExamineError::Access(error) => anyhow::Error::from(failed(&error)),
        error => error.into(),
    })?;
    judge::security::conclude(&mut sheet);
    Ok(sheet)
}
