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
use plant::{Config, Limits, PasswordHash, Profile, Server, TrustPolicy, Users};
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
    /// Threads that serve connections [default: half as many as there are processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=255))]
    threads: Option<u16>,
    /// Bind these threads to processors, one after the other: 2,3 or 0-3
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pin: Option<Processors>,
    /// Never sleep while there is nothing to do: answers come sooner, for a processor per thread
    #[arg(long)]
    spin: bool,
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
        threads: args.threads.unwrap_or(0).into(),
        pin: args.pin.clone().map_or(Vec::new(), |list| list.0),
        spin: args.spin,
        limits: limits(),
        ..defaults
    })
}

/// Every connection takes a descriptor: as many are asked for as connections may come.
fn limits() -> Limits {
    let mut limits = Limits::default();
    let wanted = limits.connections as u64 + OTHER_DESCRIPTORS;
    let told = match observe::limits::raise_descriptors(wanted) {
        Ok(got) if got.soft >= wanted => return limits,
        Ok(got) => {
            let room = got.soft.saturating_sub(OTHER_DESCRIPTORS).max(1);
            limits.connections = usize::try_from(room).unwrap_or(usize::MAX);
            limits.sessions = limits.sessions.min(limits.connections);
            format!(
                "room for {room} connections only: this process may open {} files (raise it with \
                 `ulimit -n {wanted}`)",
                got.soft
            )
        }
        Err(reason) => format!("cannot tell how many connections there is room for: {reason}"),
    };
    eprintln!("warning: {told}");
    limits
}

/// Descriptors for the listener, the polls, certificates and so on.
const OTHER_DESCRIPTORS: u64 = 64;

/// Processors by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Processors(Vec<usize>);

fn processors(text: &str) -> Result<Processors, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>();
        match (number(first), number(last)) {
            (Ok(first), Ok(last)) if first <= last && last < 1024 => all.extend(first..=last),
            _ => {
                return Err(format!(
                    "{part:?} is no processor (want numbers as in 0,2-3)"
                ));
            }
        }
    }
    Ok(Processors(all))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_by_number_and_range() {
        assert_eq!(processors("3"), Ok(Processors(vec![3])));
        assert_eq!(processors("0,2-4"), Ok(Processors(vec![0, 2, 3, 4])));
        for wrong in ["", "a", "3-1", "1,,2", "99999"] {
            assert!(processors(wrong).is_err(), "{wrong}");
        }
    }
}
