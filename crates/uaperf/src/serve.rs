//! `uaperf serve`: a workload server.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use load::access::Security;
use pki::Store;
use plan::unit::duration;
use plant::{Config, PasswordHash, Profile, Server, TrustPolicy, Users};
use wire::channel::{Protection, all_protections};

use crate::cli::Global;
use crate::failure::Failure;
use crate::place;

/// Serve an address space that is made to be a load
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What is served beside the standard nodes
    #[arg(long, value_enum, default_value_t = Name::Bench)]
    profile: Name,
    /// How often the scalars of the bench profile change [default: they are constant]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    update: Option<Duration>,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 4840)]
    port: u16,
    /// Address to listen on; anything but the loopback opens the server to the network
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Host name to give in endpoint URLs instead of the address
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Threads that serve connections
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Offer this POLICY:MODE only; may be given several times [default: None and all others]
    #[arg(long, value_name = "POLICY:MODE")]
    security: Vec<Security>,
    /// Take the certificate of every client; else they have to be trusted with `uaperf cert trust`
    #[arg(long)]
    trust: bool,
    /// End when standard input ends: for a parent that must not leave a server behind
    #[arg(long, hide = true)]
    with_parent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// 1000 scalars, arrays, counters and a method, the same on every peer
    Bench,
    /// Ten moving values
    Demo,
}

const EXAMPLES: &str = "\
Examples:
  uaperf serve                                 the bench nodes on opc.tcp://127.0.0.1:4840
  uaperf serve --update 100ms --port 0         changing values, on a free port
  uaperf serve --security none                 without certificates

User name and password of the bench profile are both \"bench\".";

/// Carries out `uaperf serve`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let config = config(&args, global)?;
    let address = config.listen;
    let server = Server::start(config).map_err(|error| {
        Failure::new(format!("cannot serve on {address}: {error}"))
            .hint("another program may have the port: choose one with --port, or 0 for a free one")
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "READY {}", server.url())?;
    out.flush()?;
    wait(args.with_parent)?;
    server.stop();
    Ok(ExitCode::SUCCESS)
}

fn config(args: &Args, global: &Global) -> anyhow::Result<Config> {
    let protections = protections(&args.security)?;
    let secured = protections.iter().any(|&p| p != Protection::NONE);
    let store = Store::new(global.pki()?);
    let own = place::own_request();
    let defaults = Config::default();
    Ok(Config {
        listen: SocketAddr::new(args.listen, args.port),
        host: args.host.clone(),
        identity: match secured {
            true => Some(store.own(&own, KEY_BITS, SystemTime::now().into())?),
            false => None,
        },
        protections,
        trust: match args.trust {
            true => TrustPolicy::All,
            false => TrustPolicy::Store(store),
        },
        users: users(args.profile),
        profiles: vec![match args.profile {
            Name::Bench => Profile::Bench {
                update: args.update,
            },
            Name::Demo => Profile::Demo,
        }],
        threads: args.threads.into(),
        ..defaults
    })
}

const KEY_BITS: u32 = 2048;

/// The password of the bench profile is no secret: hashing it must not be what is measured.
const ROUNDS: NonZeroU32 = NonZeroU32::MIN;

fn protections(asked: &[Security]) -> anyhow::Result<Vec<Protection>> {
    let exactly = |security: &Security| match security {
        Security::Exactly(protection) => Ok(*protection),
        _ => Err(Failure::usage("--security of a server wants POLICY:MODE or none").into()),
    };
    match asked {
        [] => Ok(all_protections().collect()),
        some => some.iter().map(exactly).collect(),
    }
}

fn users(profile: Name) -> Users {
    let mut users = Users::default();
    if profile == Name::Bench {
        let mut salt = [0; 16];
        load::transport::random()(&mut salt);
        let hash = PasswordHash::new(b"bench", salt, ROUNDS);
        users.passwords.push(("bench".into(), hash));
    }
    users
}

/// Until Ctrl-C, or until the parent is gone.
fn wait(with_parent: bool) -> anyhow::Result<()> {
    let (end, ended) = mpsc::channel();
    let interrupted = end.clone();
    ctrlc::set_handler(move || {
        // The receiver is gone only when the server is being stopped already.
        let _ = interrupted.send(());
    })?;
    if with_parent {
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = end.send(());
        });
    }
    ended.recv()?;
    Ok(())
}
