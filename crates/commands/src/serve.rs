//! `uaperf serve`: a workload server.

mod announcing;
pub mod figures;
pub mod live;
pub mod memory;
mod offer;
pub mod publishing;
mod registering;
pub mod running;
mod security_groups;
mod taking;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use load::access::{Access, Security, TlsTrust, TrustRule, key_kind};
use pki::Store;
use plan::unit::{Bytes, duration};
use plant::{
    Config, Fault, Limits, NodeSet, Plant, REGISTER_EVERY, Server, StartError, Transfer,
    TrustPolicy,
};
use wire::channel::Protection;
use wire::policy::Policy;
use wire::url::{Transport, Url, UrlError};

use crate::failure::Failure;
use crate::global::Global;
use crate::plant::Choice;
use crate::screen::{self, tell};
use crate::{looking_up, metrics, pcap, pinning, place};
use running::Running;

/// Run the built-in workload server
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    plant: Choice,
    /// Number of servers with the same plant, on this port and those after it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    count: u16,
    /// Port to listen on; 0 takes a free one [default: the plant's, or 4840]
    #[arg(long)]
    port: Option<u16>,
    /// Address to listen on; anything but the loopback opens the server to the network [default:
    /// the plant's, or 127.0.0.1]
    #[arg(long, value_parser = address)]
    listen: Option<IpAddr>,
    /// Listen for opc.wss on this port, too: WebSockets inside TLS, with the server's certificate; 0 takes a free one
    #[arg(long, value_name = "PORT")]
    wss: Option<u16>,
    /// Listen for opc.https on this port, too: requests of HTTP inside TLS, with the server's certificate; 0 takes a free one
    #[arg(long, value_name = "PORT")]
    https: Option<u16>,
    /// Whose pages browsers may let ask over --https: an origin, scheme and host, or * for any [default: nobody's]
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    cors: Option<String>,
    /// Host name to give in endpoint URLs instead of the address
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Endpoint URL that clients are told, where names or ports are others on their way here [default: the address; of a
    /// server that listens on all of them what each client came by]
    #[arg(long, value_name = "URL", conflicts_with_all = ["host", "count"], value_parser = over_tcp)]
    advertise: Option<Url>,
    /// Dial this client, too (reverse connect), which awaits servers with --listen-reverse; may be given several times
    #[arg(long, value_name = "URL", value_parser = over_tcp)]
    reverse: Vec<Url>,
    /// Threads that serve connections [default: half as many as there are processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=255))]
    threads: Option<u16>,
    /// Bind these threads to processors, one after the other: 2,3 or 0-3
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pin: Option<Processors>,
    /// Never sleep while there is nothing to do: answers come sooner, for a processor per thread
    #[arg(long)]
    spin: bool,
    /// Memory for what clients send, ask for and do not take, such as 512MiB; the process takes some tens of MiB more
    /// [default: half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    memory: Option<Bytes>,
    /// The longest request in JSON, such as 4MiB: each is turned into binary in one go, and others wait meanwhile
    /// [default: the plant's, or 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = memory::json_request)]
    json_request: Option<usize>,
    /// Offer this POLICY:MODE only; may be given several times [default: None, and all others
    /// that there is a certificate for; one for RSA is made]
    #[arg(long, value_name = "POLICY:MODE")]
    security: Vec<Security>,
    /// Take the certificate of every client, of a discovery server and of a broker; else they have to be trusted
    /// with `uaperf cert trust`
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    looking_up: looking_up::Args,
    /// Check certificates for others, who ask with --revocation gds:URL: offer CheckRevocationStatus of a certificate
    /// manager (Part 12, 7.9.11), which answers by this server's trust lists and its --revocation
    #[arg(long, conflicts_with = "trust")]
    check_revocation: bool,
    /// Let in users with a certificate that this folder trusts (`uaperf --pki DIR cert trust FILE`)
    #[arg(long, value_name = "DIR")]
    user_pki: Option<PathBuf>,
    /// Who may take a subscription over from another session: same-user, and without a name the same application over
    /// signed channels (Part 4, 5.14.7), never, or anyone [default: the plant's, or same-user]
    #[arg(long, value_name = "WHO")]
    transfer: Option<Transfer>,
    /// Let clients add so many nodes, and delete them again
    #[arg(long, value_name = "N")]
    allow_nodes: Option<usize>,
    /// Register at this discovery server, at the end strike it out; may be given several times
    #[arg(long, value_name = "URL")]
    register: Vec<Url>,
    /// How often discovery servers are told that it is there, 1s to 10m [default: the plant's, or 10m]
    #[arg(long, value_name = "DURATION", value_parser = register_every)]
    register_every: Option<Duration>,
    /// POLICY:MODE for registering, or best, least, none: most discovery servers take nothing without security
    #[arg(long, value_name = "POLICY:MODE", default_value = "best")]
    register_security: Security,
    /// Say on this network that it is there (multicast DNS, Part 12 Annex C), and at the end that it is gone
    #[arg(long)]
    announce: bool,
    /// Be a discovery server, too: servers whose certificates are trusted may register here
    #[arg(long)]
    discovery: bool,
    /// Raise audit events at the Server object, for users with all rights over encrypted channels: channels, sessions, refused
    /// certificates, writes
    #[arg(long)]
    audit: bool,
    /// Serve the nodes of a NodeSet2 file, too; may be given several times, a file behind those whose models
    /// it needs
    #[arg(long, value_name = "FILE")]
    nodeset: Vec<PathBuf>,
    #[command(flatten)]
    publishing: publishing::Args,
    #[command(flatten)]
    security_groups: security_groups::Args,
    /// Let something go wrong, such as delay=2ms,on=read,share=1% or drop,on=notification,every=1000;
    /// may be given several times
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Write to FILE at the end what became of each update, sample, value and message
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Show nothing but where to connect to
    #[arg(long, short)]
    quiet: bool,
    /// How long clients are told that it ends, unless they leave before
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration::parse)]
    grace: Duration,
    /// End when standard input ends: for a parent that must not leave a server behind
    #[arg(long, hide = true)]
    with_parent: bool,
    #[command(flatten)]
    metrics: metrics::Args,
    #[command(flatten)]
    pcap: pcap::Args,
}

const EXAMPLES: &str = "\
Examples:
  uaperf serve                                 the bench nodes on opc.tcp://127.0.0.1:4840
  uaperf serve --update 100ms --port 0         changing values, on a free port
  uaperf serve --security none                 without certificates
  uaperf serve --wss 4843                      the same over WebSockets inside TLS, too
  uaperf serve --https 8443                    and over HTTPS
  uaperf serve line4.toml                      a plant of your own
  uaperf serve --update 100ms --publish opc.udp://239.0.0.1
                                               PubSub beside client and server
  uaperf serve --profile devices --count 20    20 devices on ports 4840 to 4859
  uaperf serve --fault drop,every=1000         without each thousandth notification message
  uaperf serve --metrics :9464                 with figures for Prometheus
  uaperf serve --port 0 --register opc.tcp://localhost:4840
                                               known to the discovery server of this machine
  uaperf serve --listen 0.0.0.0 --announce     found on this network: uaperf discover --lan

User name and password of the bench profile are both \"bench\".";

/// The options, for whoever starts one as a program.
pub fn definition() -> clap::Command {
    <Args as clap::Args>::augment_args(clap::Command::new("serve"))
}

/// Whether there is such a plant.
pub fn check(typed: &clap::ArgMatches) -> anyhow::Result<()> {
    <Args as clap::FromArgMatches>::from_arg_matches(typed)?
        .plant
        .plant()
        .map(drop)
}

/// Carries out `uaperf serve`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let (config, known) = config(&args, global)?;
    if let Some(path) = &args.ledger {
        running::check_ledger(path)?;
    }
    let listeners = args.metrics.open()?;
    let servers = start(config, args.count)?;
    let register = known.access(&args, global)?;
    let announcement = match args.announce {
        true => Some(announcing::open(&servers, &known.capabilities)?),
        false => None,
    };
    let trusted = trusted(args.trust, &args.looking_up, global)?;
    // Who is told where it serves may end it at once.
    let ended = running::endings(args.with_parent)?;
    let running = Running {
        ledger: args.ledger,
        quiet: args.quiet || args.with_parent,
        grace: args.grace,
        register,
        register_every: known.every,
        capabilities: known.capabilities,
        announcement,
        listeners,
    };
    if let (false, Some(first)) = (running.quiet, servers.first()) {
        // For people; who started this as a program reads standard output.
        tell!("{}", offer::text(first, servers.len()).trim_end());
    }
    let quiet = running.quiet;
    let publishers = publishing::Publishers::start(&servers, &trusted, quiet)?;
    let mut out = screen::out();
    for server in &servers {
        for (_, url) in server.urls() {
            writeln!(out, "READY {url}")?;
        }
    }
    out.flush()?;
    running::run(servers, publishers, &ended, running)?;
    Ok(ExitCode::SUCCESS)
}

/// Whose certificates brokers may have: the rules are those for clients.
pub fn trusted(
    trust: bool,
    looking_up: &looking_up::Args,
    global: &Global,
) -> anyhow::Result<TlsTrust> {
    let store = Store::new(global.pki()?);
    let asker = looking_up.asker(&store, pki::Checks::ALL);
    Ok(TlsTrust {
        store,
        rule: match trust {
            true => TrustRule::Everyone,
            false => TrustRule::Listed,
        },
        checks: pki::Checks::ALL,
        revocation: looking_up.revocation(),
        asker: Arc::new(asker),
    })
}

/// Starts servers on one port after the other.
fn start(config: Config, count: u16) -> anyhow::Result<Vec<Server>> {
    let (first, first_wss, first_https) = (config.listen, config.wss, config.https);
    let start = |n: u16| {
        let mut config = config.clone();
        // Port 0 takes a free one each time.
        let port = |first: u16| match first {
            0 => Ok(0),
            port => port.checked_add(n).ok_or_else(|| {
                let told = format!("{count} servers from port {port} on go beyond port 65535");
                Failure::usage(told)
                    .hint("begin with a lower --port, --wss or --https, or with fewer")
            }),
        };
        config.listen.set_port(port(first.port())?);
        config.wss = first_wss.map(port).transpose()?;
        config.https = first_https.map(port).transpose()?;
        publishing::count_up(&mut config.publish, n);
        let address = config.listen;
        Server::start(config).map_err(|error| {
            let told = Failure::new(format!("cannot serve on {address}: {error}"));
            match error {
                StartError::Fault(..) | StartError::NodeSet(_) => Failure::usage(error.to_string()),
                StartError::Listen { .. } => told.hint(
                    "another program may have the port: choose one with --port (--wss, --https), or 0 for a free one",
                ),
                _ => told,
            }
        })
    };
    Ok((0..count).map(start).collect::<Result<_, _>>()?)
}

/// A URL over TCP: the only transport that servers dial over, and whose URL stands for a server.
fn over_tcp(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error: UrlError| error.to_string())?;
    match url.transport() {
        Transport::Tcp => Ok(url),
        Transport::Wss | Transport::Https => Err("want an opc.tcp:// URL here".to_owned()),
    }
}

/// Whose pages may ask.
fn origin(text: &str) -> Result<String, String> {
    match plant::is_origin(text) {
        true => Ok(text.to_owned()),
        false => Err("want an origin as browsers send it: scheme and host in small letters, a port only if it is not the usual one, \
             no path and no slash at the end; such as https://hmi.example or http://localhost:8080, or *"
            .to_owned()),
    }
}

/// An address to listen on; who types a port with it is told where that goes.
fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| match text.parse::<SocketAddr>() {
        Ok(both) => format!(
            "want an address alone: --listen {} --port {}",
            both.ip(),
            both.port()
        ),
        Err(_) => "want an address such as 127.0.0.1, 0.0.0.0 or ::1".to_owned(),
    })
}

/// Where a server is to be known, and as what.
struct Known {
    at: Vec<Url>,
    every: Duration,
    capabilities: Vec<String>,
}

impl Known {
    /// What is typed goes before what is written.
    fn of(plant: &Plant, args: &Args) -> Self {
        Self {
            at: match args.register.is_empty() {
                true => plant.register.clone(),
                false => args.register.clone(),
            },
            every: args
                .register_every
                .or(plant.register_every)
                .unwrap_or(*REGISTER_EVERY.end()),
            capabilities: plant.capabilities(),
        }
    }

    /// The way to each discovery server.
    fn access(&self, args: &Args, global: &Global) -> anyhow::Result<Vec<Access>> {
        let one = |url: &Url| {
            Ok(Access {
                security: args.register_security,
                trust: match args.trust {
                    true => TrustRule::Everyone,
                    false => TrustRule::Listed,
                },
                timeout: registering::TIMEOUT,
                recorder: pcap::recorder(),
                ..Access::new(url.clone(), Store::new(global.pki()?), place::own_request())
            })
        };
        self.at.iter().map(one).collect()
    }
}

fn register_every(text: &str) -> Result<Duration, String> {
    let every = duration::parse(text).map_err(|error| error.to_string())?;
    match REGISTER_EVERY.contains(&every) {
        true => Ok(every),
        false => Err(format!("{text:?} is out of range (want 1s to 10m)")),
    }
}

fn config(args: &Args, global: &Global) -> anyhow::Result<(Config, Known)> {
    if let Some(Processors(pins)) = &args.pin {
        pinning::check(pins)?;
    }
    let plant = args.plant.plant()?;
    let known = Known::of(&plant, args);
    let store = Store::new(global.pki()?);
    let mut config = plant.config(Config {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
        threads: 0,
        pin: args.pin.clone().map_or(Vec::new(), |list| list.0),
        spin: args.spin,
        profiles: Vec::new(),
        memory: memory::budget(None),
        ..Config::default()
    });
    args.security_groups.add_to(&mut config)?;
    args.publishing.put_into(&mut config)?;
    // What is typed goes before what is written.
    if let Some(address) = args.listen {
        config.listen.set_ip(address);
    }
    if let Some(port) = args.port {
        config.listen.set_port(port);
    }
    config.wss = args.wss.or(config.wss);
    config.https = args.https.or(config.https);
    if args.cors.is_some() {
        config.cors.clone_from(&args.cors);
    }
    if config.cors.is_some() && config.https.is_none() {
        let what = "--cors says whose pages may ask over HTTPS, and there is no --https";
        return Err(Failure::usage(what.to_owned()).into());
    }
    if args.host.is_some() {
        config.host.clone_from(&args.host);
        config.advertise = None;
    }
    if let Some(url) = &args.advertise {
        config.advertise = Some(url.clone());
    }
    if config.advertise.is_some() && args.count > 1 {
        let what = "the plant advertises one URL, and --count wants one for each server (leave advertise out of the file)";
        return Err(Failure::usage(what.to_owned()).into());
    }
    config.reverse.extend(args.reverse.iter().cloned());
    if args.memory.is_some() {
        config.memory = memory::budget(args.memory);
    }
    if let Some(bytes) = args.json_request {
        config.limits.json_request = bytes;
    }
    if let Some(threads) = args.threads {
        config.threads = threads.into();
    }
    if !args.security.is_empty() {
        config.protections = protections(&args.security)?;
    }
    if let Some(transfer) = args.transfer {
        config.transfer = transfer;
    }
    config.discovery |= args.discovery;
    config.audit |= args.audit;
    // A discovery server knows who registers by their certificate, and TLS shows one to everybody.
    let has_tls = config.wss.is_some() || config.https.is_some();
    let is_known = has_tls || !known.at.is_empty();
    if is_known || config.protections.iter().any(|&p| p != Protection::NONE) {
        let host = advertised_host(&config);
        let own = match &host {
            Some(host) => place::own_request().host(host),
            None => place::own_request(),
        };
        let asked =
            !args.security.is_empty() || config.protections != Config::default().protections;
        let mut all = identities(&config, &store, &own, asked, is_known)?.into_iter();
        let unnamed = |host: &String| {
            let mut all = all.clone();
            all.any(|it: pki::Identity| !it.certificate.names_host(host))
        };
        if let Some(host) = host.filter(unnamed) {
            tell!(
                "warning: the server's certificate is not for {host}: clients that check it will refuse; make one with \
                 `uaperf cert make --dns`, or --ip for an address"
            );
        }
        config.identity = all.next();
        config.beside = all.collect();
    }
    security_groups::warn(&config);
    config.trust = match args.trust {
        true => TrustPolicy::All,
        false => {
            let asker = args.looking_up.asker(&store, pki::Checks::ALL);
            TrustPolicy::asking(store, args.looking_up.revocation(), asker)
        }
    };
    config.check_revocation = args.check_revocation;
    if let Some(folder) = &args.user_pki {
        config.users.certificates = Some(TrustPolicy::from(Store::new(folder)));
    }
    if let Some(users) = &config.users.certificates {
        let store = Store::new(global.pki()?);
        let asker = args.looking_up.asker(&store, pki::Checks::ALL);
        let revocation = args.looking_up.revocation();
        config.users.certificates = Some(users.looking_up(revocation, asker));
    }
    let nodesets = NodeSet::read(&args.nodeset);
    config.nodesets = nodesets.map_err(|error| Failure::usage(error.to_string()))?;
    for set in &config.nodesets {
        warn_of_values(set);
    }
    if let Some(most) = args.allow_nodes {
        config.limits.added_nodes = most;
    }
    config.faults.extend_from_slice(&args.fault);
    config.recorder = args.pcap.begin()?;
    descriptors(&mut config.limits, args.count);
    Ok((config, known))
}

/// The host by which clients are told to come, if it is not one that this program's certificate is for anyway.
fn advertised_host(config: &Config) -> Option<String> {
    let host = match (&config.advertise, &config.host, config.listen.ip()) {
        (Some(url), ..) => url.host().to_owned(),
        (None, Some(host), _) => host.clone(),
        (None, None, address) if address.is_unspecified() || address.is_loopback() => return None,
        (None, None, address) => address.to_string(),
    };
    (host != place::LOCALHOST && host != place::host_name()).then_some(host)
}

/// Says which variables have no value, though their file has one.
fn warn_of_values(set: &NodeSet) {
    let (file, left_out) = (set.file().display(), &set.loaded().left_out);
    for it in left_out.iter().take(TOLD) {
        let (line, node, why) = (it.line, &it.node, &it.why);
        tell!("warning: {file} line {line}: the value of {node} is null: {why}");
    }
    if let Some(more @ 1..) = left_out.len().checked_sub(TOLD) {
        tell!("warning: {file}: {more} more values are null");
    }
}

/// Values that cannot be read are told of one by one up to here.
const TOLD: usize = 5;

/// Where OPC UA is expected.
const PORT: u16 = 4840;

/// Every connection takes a descriptor: as many are asked for as connections may come.
fn descriptors(limits: &mut Limits, servers: u16) {
    let servers = u64::from(servers);
    // One server may have all its connections; many share what there is room for.
    let wanted = limits.connections as u64 + servers * OTHER_DESCRIPTORS;
    let told = match observe::limits::raise_descriptors(wanted) {
        Ok(got) if got.soft >= wanted => return,
        Ok(got) => {
            let room = got.soft.saturating_sub(servers * OTHER_DESCRIPTORS).max(1);
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
    tell!("warning: {told}");
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

/// The certificates that what is on offer needs: RSA's first, made if need be, as are those of curves that were asked
/// for. Without being asked, curves are offered that there is a certificate for.
fn identities(
    config: &Config,
    store: &Store,
    own: &pki::make::Request,
    asked: bool,
    is_known: bool,
) -> anyhow::Result<Vec<pki::Identity>> {
    let now = SystemTime::now().into();
    let mut all = Vec::new();
    for policy in Policy::ALL {
        let kind = key_kind(policy);
        let has = |it: &pki::Identity| it.curve() == kind.curve();
        let offered =
            policy != Policy::None && config.protections.iter().any(|p| p.policy == policy);
        let wanted = offered || (is_known && policy == Policy::None);
        if !wanted || all.iter().any(has) {
            continue;
        }
        match kind.curve() {
            Some(curve) if !asked => all.extend(store.find_own_on(Some(curve), now)?),
            _ => all.push(store.own(own, kind, now)?),
        }
    }
    Ok(all)
}

fn protections(asked: &[Security]) -> anyhow::Result<Vec<Protection>> {
    let exactly = |security: &Security| match security {
        Security::Exactly(protection) => Ok(*protection),
        _ => Err(Failure::usage("--security of a server wants POLICY:MODE or none").into()),
    };
    asked.iter().map(exactly).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server is started with that a plant file has a key for.
    fn started(folder: &std::path::Path, options: &str, keys: &str) -> String {
        let file = folder.join("plant.toml");
        // Without security nothing has to be made for it first.
        std::fs::write(&file, format!("security = [\"None\"]\n{keys}\n")).unwrap();
        let words = ["serve", file.to_str().unwrap()].into_iter();
        let words = words.chain(options.split_whitespace());
        let typed = definition().get_matches_from(words);
        let args = <Args as clap::FromArgMatches>::from_arg_matches(&typed).unwrap();
        let global = <Global as clap::Args>::augment_args(clap::Command::new("global"));
        let global = global.get_matches_from(["global", "--pki", folder.to_str().unwrap()]);
        let global = <Global as clap::FromArgMatches>::from_arg_matches(&global).unwrap();
        let (config, known) = config(&args, &global).unwrap();
        format!(
            "{:?}",
            (
                (config.listen, config.host, config.advertise, config.threads),
                (config.transfer, config.limits, config.memory.limit()),
                (config.discovery, config.audit, known.at, known.every),
                config.security_groups,
            )
        )
    }

    #[test]
    fn what_can_be_typed_of_limits_can_be_written_in_a_plant_file() {
        let folder = tempfile::tempdir().unwrap();
        let none = started(folder.path(), "--memory 5MiB", "");
        for (typed, written) in [
            (
                "--port 1 --listen 127.0.0.2",
                "endpoint = \"opc.tcp://127.0.0.2:1\"",
            ),
            ("--host plc1", "host = \"plc1\""),
            (
                "--advertise opc.tcp://plc1:1",
                "advertise = \"opc.tcp://plc1:1\"",
            ),
            ("--threads 3", "threads = 3"),
            ("--transfer never", "transfer = \"never\""),
            ("--transfer anyone", "transfer = \"anyone\""),
            ("--memory 6MiB", "[limits]\nmemory = \"6MiB\""),
            ("--json-request 4MiB", "[limits]\njson_request = \"4MiB\""),
            ("--allow-nodes 5", "[limits]\nadded_nodes = 5"),
            ("--discovery", "discovery = true"),
            ("--audit", "audit = true"),
            ("--register-every 2s", "register_every = \"2s\""),
            (
                "--security-group g --group-lifetime 2s",
                "[[security_group]]\nid = \"g\"\nlifetime = \"2s\"",
            ),
        ] {
            // Where memory is not what is looked at, it is not what is free at the moment.
            let memory = match typed.contains("--memory") {
                true => "",
                false => "--memory 5MiB",
            };
            let is_typed = started(folder.path(), &format!("{memory} {typed}"), "");
            let is_written = started(folder.path(), memory, written);
            assert_eq!(is_typed, is_written, "{typed}");
            assert_ne!(is_typed, none, "{typed}");
        }
        let refused = |word: &str| definition().try_get_matches_from(["serve", "--memory", word]);
        assert!(refused("1000kB").is_err() && refused("1MiB").is_ok());
        let json =
            |word: &str| definition().try_get_matches_from(["serve", "--json-request", word]);
        assert!(json("63KiB").is_err() && json("64KiB").is_ok());
    }

    #[test]
    fn processors_are_listed_by_number_and_range() {
        assert_eq!(processors("3"), Ok(Processors(vec![3])));
        assert_eq!(processors("0,2-4"), Ok(Processors(vec![0, 2, 3, 4])));
        for wrong in ["", "a", "3-1", "1,,2", "99999"] {
            assert!(processors(wrong).is_err(), "{wrong}");
        }
    }
}
