//! The devices of a landscape as they run.

use std::iter::{Enumerate, Peekable};
use std::net::{IpAddr, SocketAddr};
use std::slice::Iter;
use std::time::{Duration, Instant, SystemTime};

use pki::Store;
use pki::store::Wanted;
use plan::unit::duration::nanos;
use plant::{Config, Server, ServerWatch, Site, StartError, TrustPolicy};
use wire::budget::Budget;
use wire::channel::Protection;

use super::Args;
use super::file::{Device, Group, Landscape};
use super::ledger::Struck;
use super::schedule::Event;
use super::share::Part;
use crate::failure::Failure;
use crate::global::Global;
use crate::place;
use crate::screen::{self, tell};
use crate::serve::publishing::{self, Publishers};
use crate::serve::running;
use crate::serve::{self, memory};

/// Events that have not happened yet, with their places.
pub type Schedule<'a> = Peekable<Enumerate<Iter<'a, Event>>>;

/// Devices that run.
pub struct Running {
    /// By group.
    pub groups: Vec<Vec<Server>>,
    /// All of them, in the order of the file.
    pub watches: Vec<ServerWatch>,
    /// Their places among all of the landscape.
    places: Vec<usize>,
    publishers: Vec<Publishers>,
    /// How long it took until all were there.
    pub took: Duration,
    /// How much of it went into certificates.
    pub certificates: Duration,
}

/// What all devices have in common.
struct Common {
    site: Site,
    trust: TrustPolicy,
    memory: Budget,
    connections: usize,
}

/// Starts all of a part, as long as nobody has had enough of it.
pub fn start(
    landscape: &Landscape,
    part: &Part<'_>,
    args: &Args,
    global: &Global,
    is_over: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Running> {
    let begun = Instant::now();
    let store = Store::new(global.pki()?.join("landscapes").join(&landscape.name));
    let trusted = serve::trusted(args.trust, &args.looking_up, global)?;
    let trust = match args.trust {
        true => TrustPolicy::All,
        false => {
            let store = Store::new(global.pki()?);
            let asker = args.looking_up.asker(&store, pki::Checks::ALL);
            TrustPolicy::asking(store, args.looking_up.revocation(), asker)
        }
    };
    let count = landscape.devices().filter(|it| part.has(it)).count();
    let site = Site::start(args.threads.unwrap_or(0).into(), trust.asks());
    let common = Common {
        site: site.map_err(|error| Failure::new(format!("cannot serve devices: {error}")))?,
        trust,
        memory: memory::budget(args.memory),
        connections: room(count)?,
    };
    let mut running = Running {
        groups: Vec::new(),
        watches: Vec::new(),
        places: Vec::new(),
        publishers: Vec::new(),
        took: Duration::ZERO,
        certificates: Duration::ZERO,
    };
    let mut publishers = publishing::Ids::default();
    for group in &landscape.groups {
        let before = Instant::now();
        let listen = part.listen(landscape);
        let of_part = part.of(group);
        let identities = identities(group, (listen, part.host(group)), &of_part, &store, is_over)?;
        let mut identities = identities.into_iter();
        running.certificates += before.elapsed();
        let mut servers = Vec::new();
        for device in &group.devices {
            if is_over() {
                return Err(Failure::interrupted().into());
            }
            let mut config = config(group, &common);
            // Those of other processes have ids of their own, too.
            publishers.give(&mut config.publish);
            if !part.has(device) {
                continue;
            }
            let identity = identities.next();
            config.listen = SocketAddr::new(listen, device.port);
            if let Some(host) = part.host(group) {
                config.host = Some(host.to_owned());
            }
            config.name.clone_from(&device.application);
            config.application_uri.clone_from(&device.uri);
            config.identity = identity;
            let ports = [&mut config.wss, &mut config.https];
            for port in ports.into_iter().flatten().filter(|port| **port > 0) {
                *port = port.saturating_add(device.n);
            }
            let address = config.listen;
            let server = Server::start_on(&common.site, config);
            let server = server.map_err(|error| unserved(device, address, &error))?;
            running.watches.push(server.watch());
            running.places.push(device.place);
            servers.push(server);
        }
        running
            .publishers
            .push(Publishers::start(&servers, &trusted, true)?);
        running.groups.push(servers);
    }
    for event in &landscape.events {
        running.check(event, landscape)?;
    }
    if is_over() {
        return Err(Failure::interrupted().into());
    }
    running.took = begun.elapsed();
    Ok(running)
}

/// The certificates of a group, made at first use.
fn identities(
    group: &Group,
    (listen, host): (IpAddr, Option<&str>),
    devices: &[&Device],
    store: &Store,
    is_over: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Vec<pki::Identity>> {
    let Some(keys) = group.keys else {
        return Ok(Vec::new());
    };
    let wanted = |device: &&Device| {
        let request = place::device_request(&device.application, &device.uri);
        let request = match host {
            Some(host) => request.host(host.trim_matches(['[', ']'])),
            None => request,
        };
        Wanted {
            name: device.name.clone(),
            request: match listen {
                ip if ip.is_loopback() || ip.is_unspecified() => request,
                ip => request.ip(ip),
            },
        }
    };
    let wanted: Vec<Wanted> = devices.iter().map(wanted).collect();
    let go_on = |made: usize, all: usize| {
        screen::status(&match made == all {
            true => String::new(),
            false => format!("{}: {made} of {all} certificates made", group.name),
        });
        !is_over()
    };
    let made = store.own_each(&wanted, keys, SystemTime::now().into(), &go_on);
    let all = made.map_err(|error| match error {
        pki::StoreError::Stopped { .. } => Failure::interrupted(),
        other => Failure::new(other.to_string()),
    })?;
    // One that was made for another URI would make the device another application.
    let other = |(device, it): &(&&Device, &pki::Identity)| {
        it.application_uri() != Some(device.uri.as_str())
    };
    if let Some((device, it)) = devices.iter().zip(&all).find(other) {
        let file = it.path.as_ref().map(|it| it.display().to_string());
        let what = format!(
            "the certificate of {} is for {}, not for {}",
            device.name,
            it.application_uri().unwrap_or("no application"),
            device.uri
        );
        let file = file.as_deref().unwrap_or("it");
        return Err(Failure::usage(what)
            .hint(format!(
                "remove {file} for a new one, or give the group the old uri"
            ))
            .into());
    }
    Ok(all)
}

/// What devices of a group are told before they start.
fn config(group: &Group, common: &Common) -> Config {
    let mut config = group.plant.shared_config(Config {
        profiles: Vec::new(),
        memory: common.memory.clone(),
        trust: common.trust.clone(),
        ..Config::default()
    });
    config.publish.extend(group.publish.iter().cloned());
    if let Some(security) = &group.security {
        config.protections.clone_from(security);
    }
    if group.keys.is_none() {
        config.protections = vec![Protection::NONE];
    }
    let limits = &mut config.limits;
    limits.connections = limits.connections.min(common.connections);
    limits.sessions = limits.sessions.min(limits.connections);
    config
}

/// Descriptors of a device: its poll, what wakes it, what it listens with.
const EACH: u64 = 3;
/// Those of the process beside.
const OTHERS: u64 = 256;

/// How many connections there is room for in all.
fn room(devices: usize) -> Result<usize, Failure> {
    let devices = devices as u64;
    let fixed = devices * EACH + OTHERS;
    let got = match observe::limits::raise_descriptors(u64::from(u32::MAX)) {
        Ok(got) => got.soft,
        Err(reason) => {
            tell!("warning: cannot tell how many connections there is room for: {reason}");
            return Ok(usize::MAX);
        }
    };
    let room = got.saturating_sub(fixed);
    let wanted = fixed + devices;
    if room == 0 {
        let what =
            format!("{devices} devices need {wanted} open files, and this process may have {got}");
        return Err(Failure::new(what).hint(format!("raise it with `ulimit -n {wanted}`")));
    }
    if room < devices {
        tell!(
            "warning: room for {room} connections only: this process may open {got} files (raise it with `ulimit -n {wanted}`)"
        );
    }
    Ok(usize::try_from(room).unwrap_or(usize::MAX))
}

fn unserved(device: &Device, address: SocketAddr, error: &StartError) -> Failure {
    let name = &device.name;
    match error {
        StartError::Fault(..) | StartError::NothingToOffer => {
            Failure::usage(format!("{name}: {error}"))
        }
        StartError::Listen { .. } => Failure::new(format!(
            "cannot serve {name} on {address}: {error}"
        ))
        .hint("another program may have the port: give the group another one, or 0 for free ones"),
        _ => Failure::new(format!("cannot serve {name} on {address}: {error}")),
    }
}

impl Running {
    /// All of them with their places.
    fn servers(&self) -> impl Iterator<Item = (usize, &Server)> {
        self.places
            .iter()
            .copied()
            .zip(self.groups.iter().flatten())
    }

    /// Whether an event can happen to those it is meant for.
    fn check(&self, event: &Event, landscape: &Landscape) -> anyhow::Result<()> {
        for (place, server) in self.servers().filter(|(place, _)| event.hits(*place)) {
            for spec in &event.fault.nodes {
                let space = server.space();
                let ids = spec.resolve(space.namespaces());
                let there = ids
                    .as_ref()
                    .is_ok_and(|ids| ids.iter().all(|id| space.find_id(id).is_some()));
                if !there {
                    let name = landscape.devices().nth(place).map(|it| it.name.as_str());
                    let what = format!(
                        "the fault {} cannot be: {} has no node {spec}",
                        event.fault,
                        name.unwrap_or_default()
                    );
                    return Err(Failure::usage(what).into());
                }
            }
        }
        Ok(())
    }

    /// Lets happen what is due.
    pub fn strike(
        &self,
        schedule: &mut Schedule<'_>,
        start: Instant,
    ) -> anyhow::Result<Vec<Struck>> {
        let now = start.elapsed();
        let mut all = Vec::new();
        while let Some((place, event)) = schedule.next_if(|(_, event)| event.at <= now) {
            let mut devices = 0;
            for (_, server) in self.servers().filter(|(place, _)| event.hits(*place)) {
                server.add_fault(event.fault.clone())?;
                devices += 1;
            }
            all.push(Struck {
                event: place,
                at_ns: nanos(start.elapsed()),
                devices,
            });
        }
        Ok(all)
    }

    /// Tells clients that all devices end, and ends them; they can still be looked at.
    pub fn stop(self, grace: Option<Duration>) -> Vec<ServerWatch> {
        // Who only listens is not told that it ends.
        drop(self.publishers);
        let servers: Vec<Server> = self.groups.into_iter().flatten().collect();
        if let Some(grace) = grace {
            running::say_goodbye(&servers, grace);
        }
        drop(servers);
        self.watches
    }
}
