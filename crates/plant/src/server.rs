//! A server as its owner sees it: started, asked where it is, stopped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::TcpListener;
use record::Progress;
use wire::certificate::Certificate;
use wire::channel::{Identities, Identity, Protection};
use wire::policy::PrivateKey;
use wire::url::Transport;

use crate::advertise::{Advertised, TlsPorts};
use crate::clock::Clock;
use crate::config::Config;
use crate::counters::{Counted, Counters};
use crate::describe::Publishing;
use crate::diagnostics::Register;
use crate::dialler;
use crate::event_loop::{EventLoop, Mail, Post};
use crate::fault::{Fault, FaultCount, NoSuchNode};
use crate::internals::{self, Workings};
use crate::ledger::{Ledger, Tally};
use crate::line::Line;
use crate::listening::{Listening, Way};
use crate::nodeset::NodeSet;
use crate::pool::{HELPERS, Pool};
use crate::server_nodes::publish_subscribe::{self, Publisher};
use crate::server_nodes::server_object::Own;
use crate::server_nodes::{certificate_directory, security_groups, server_object};
use crate::service::truth::GroundTruth;
use crate::shared::Shared;
use crate::signals::{DatagramFaults, Signals};
use crate::site::{Place, Site};
use crate::space::{Builder, Space, plant_object, standard};
use crate::start_error::StartError;
use crate::status::Status;
use crate::tls_acceptor::TlsAcceptor;
use crate::trust::TrustPolicy;
use crate::update::metrics::{self, Meter};
use crate::update::{self, UpdateLoop};
use crate::watch::ServerWatch;

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    posts: Vec<Post>,
    pool: Pool,
    threads: Vec<JoinHandle<()>>,
    updates: update::Running,
    lines: Vec<Arc<Line>>,
    tls: Vec<TlsAcceptor>,
    /// Where its loop has its turns, if it has no threads of its own.
    place: Option<Place>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Starts a server. Once this returns, clients can connect.
    pub fn start(mut config: Config) -> Result<Self, StartError> {
        let identities = offer(&mut config)?;
        let listening = Listening::open(&config)?;
        let event_loops = match config.threads {
            // The other half is for whoever asks, who is often on the same machine, and for RSA.
            0 => std::thread::available_parallelism().map_or(1, |all| all.get() / 2),
            threads => threads,
        }
        // One number is the acceptor's.
        .clamp(1, 254);
        let ports = (listening.address, listening.ports);
        // The acceptor is one of them.
        let all = event_loops + 1;
        let (shared, updates) = share(config, all, identities, ports, Clock::start())?;
        let Listening {
            tcp, address, ways, ..
        } = listening;
        let mut server = Self::serve(shared, address, tcp, event_loops, updates)?;
        server.open_ways(ways)?;
        Ok(server)
    }

    /// Starts a server on threads that it has in common with others. How many threads, which processors and whether they
    /// sleep is the site's; `opc.wss`, HTTPS and each client that is dialled take a thread of its own all the same.
    pub fn start_on(site: &Site, mut config: Config) -> Result<Self, StartError> {
        let identities = offer(&mut config)?;
        let listening = Listening::open(&config)?;
        let ports = (listening.address, listening.ports);
        let (shared, updates) = share(config, 1, identities, ports, Clock::start())?;
        let mut core = EventLoop::hosted(0, Arc::clone(&shared), site.pool().clone())?;
        let post = core.post();
        core.know(vec![post.clone()]);
        core.accept(listening.tcp)?;
        let place = site.host(core)?;
        let mut server = Self {
            address: listening.address,
            posts: vec![post],
            pool: site.pool().clone(),
            threads: Vec::new(),
            updates: update::Running::default(),
            lines: Vec::new(),
            tls: Vec::new(),
            place: Some(place),
            shared,
        };
        let shared = &server.shared;
        let thread = site.updates();
        server.updates.start_on(thread, updates.loops, shared);
        if let Some(mut meter) = updates.meter {
            let shared = Arc::clone(shared);
            meter.sample(&shared.space, shared.clock.now());
            let sample = move || meter.sample(&shared.space, shared.clock.now());
            server.updates.each_on(thread, metrics::INTERVAL, sample);
        }
        server.open_ways(listening.ways)?;
        Ok(server)
    }

    /// The other ways in, once its loops run.
    fn open_ways(&mut self, ways: Vec<Way>) -> Result<(), StartError> {
        let Some(acceptor) = self.posts.last().cloned() else {
            return Ok(());
        };
        for it in ways {
            let shared = &self.shared;
            let (memory, counters) = (shared.config.memory.clone(), Arc::clone(&shared.counters));
            let (led, pin) = (acceptor.clone(), shared.config.pin.clone());
            let begin = move || keep_off(&pin);
            let listening = (it.listener, it.tls, it.inside);
            let acceptor = TlsAcceptor::start(listening, memory, counters, led, begin)?;
            self.tls.push(acceptor);
        }
        for client in &self.shared.config.reverse {
            let line = dialler::begin(client.clone(), acceptor.clone())?;
            self.lines.push(line);
        }
        self.faults_changed();
        Ok(())
    }

    fn serve(
        shared: Arc<Shared>,
        address: SocketAddr,
        listener: TcpListener,
        event_loops: usize,
        updates: Updates,
    ) -> Result<Self, StartError> {
        // RSA is worth a second core where there is one; more would take them from the loops.
        let all = std::thread::available_parallelism().map_or(1, |all| all.get());
        let helpers = all.saturating_sub(event_loops).clamp(1, HELPERS);
        let pinned = shared.config.pin.clone();
        if !pinned.is_empty() {
            platform::thread::can_be_placed()?;
        }
        let users = shared.config.users.certificates.as_ref();
        let asks = shared.config.trust.asks() || users.is_some_and(TrustPolicy::asks);
        let (pool, threads) = Pool::start(helpers, asks, move || keep_off(&pinned))?;
        // From here on a failure stops what was started, by way of Drop.
        let mut server = Self {
            shared,
            address,
            posts: Vec::new(),
            pool,
            threads,
            updates: update::Running::default(),
            lines: Vec::new(),
            tls: Vec::new(),
            place: None,
        };
        server.updates.start(updates.loops, &server.shared)?;
        if let Some(mut meter) = updates.meter {
            let shared = Arc::clone(&server.shared);
            meter.sample(&shared.space, shared.clock.now());
            server.updates.each(metrics::INTERVAL, move || {
                meter.sample(&shared.space, shared.clock.now());
            })?;
        }
        let mut loops = Vec::new();
        for index in 0..=event_loops {
            let core =
                EventLoop::new(index as u8, Arc::clone(&server.shared), server.pool.clone())?;
            server.posts.push(core.post());
            loops.push(core);
        }
        for core in &mut loops {
            core.know(server.posts.clone());
        }
        if let Some(acceptor) = loops.last_mut() {
            acceptor.accept(listener)?;
        }
        for (n, core) in loops.into_iter().enumerate() {
            let pin = server.shared.config.pin.clone();
            let (name, cpu) = match n == event_loops {
                true => ("plant-acceptor".to_owned(), None),
                false => (format!("plant-{n}"), pin.get(n % pin.len().max(1)).copied()),
            };
            let thread = std::thread::Builder::new().name(name);
            server.threads.push(thread.spawn(move || {
                match cpu {
                    // One that there is not leaves it where it is.
                    Some(cpu) => drop(platform::thread::pin(cpu)),
                    None => keep_off(&pin),
                }
                core.run();
            })?);
        }
        Ok(server)
    }

    /// Where clients connect to; of one that listens on all addresses, those of this machine.
    pub fn url(&self) -> &str {
        &self.shared.advertised.urls.tcp
    }

    /// The same over WebSockets inside TLS, if it listens for them.
    pub fn wss_url(&self) -> Option<&str> {
        self.shared.advertised.urls.wss.as_deref()
    }

    /// The same over HTTPS, if it listens for that.
    pub fn https_url(&self) -> Option<&str> {
        self.shared.advertised.urls.https.as_deref()
    }

    /// All its URLs, that of opc.tcp first.
    pub fn urls(&self) -> impl Iterator<Item = (Transport, &str)> {
        self.shared.advertised.urls.each()
    }

    /// The address it listens on for WebSockets.
    pub fn wss_address(&self) -> Option<SocketAddr> {
        self.tls_address(Transport::Wss)
    }

    /// The address it listens on for HTTPS.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.tls_address(Transport::Https)
    }

    fn tls_address(&self, transport: Transport) -> Option<SocketAddr> {
        let mut all = self.tls.iter();
        let of = all.find(|it| it.transport() == transport);
        of.map(TlsAcceptor::address)
    }

    /// The address it listens on, with the port it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it counted so far.
    pub fn counted(&self) -> Counted {
        self.shared.counters.read()
    }

    /// What became of values and messages of all subscriptions, added up.
    pub fn tally(&self) -> Tally {
        self.shared.ledger.total()
    }

    /// What became of each update, sample, value and message so far.
    pub fn ground_truth(&self) -> GroundTruth {
        GroundTruth::read(&self.shared)
    }

    /// Lets something go wrong from now on; tells the number of the fault.
    pub fn add_fault(&self, fault: Fault) -> Result<u32, NoSuchNode> {
        let shared = &self.shared;
        let id = shared
            .faults
            .add(fault, &shared.space, shared.clock.now().mono)?;
        self.faults_changed();
        Ok(id)
    }

    /// Ends one fault, or all; tells how many.
    pub fn clear_faults(&self, id: Option<u32>) -> usize {
        self.shared.faults.clear(id)
    }

    /// The faults, and how often they struck.
    pub fn faults(&self) -> Vec<FaultCount> {
        self.shared.faults.counts()
    }

    /// The first loop drives those that go by the clock.
    fn faults_changed(&self) {
        if let Some(first) = self.posts.first() {
            first.send(Mail::Faults);
        }
    }

    /// Its address space.
    pub fn space(&self) -> &Space {
        &self.shared.space
    }

    /// What it was told before it started, with what it found out since.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Its signals, or the first so many, to publish them.
    pub fn signals(&self, most: Option<usize>) -> Signals {
        Signals::of(&self.shared, most)
    }

    /// The faults that are about datagrams, for who publishes its signals.
    pub fn datagram_faults(&self) -> DatagramFaults {
        DatagramFaults::of(&self.shared)
    }

    /// What is published, each with its counts, which whoever publishes has to keep.
    pub fn publishers(&self) -> impl Iterator<Item = (&Publishing, &Arc<Progress>)> {
        let all = self.shared.publishers.iter();
        all.map(|it| (&it.about, &it.progress))
    }

    /// To look at it from another thread.
    pub fn watch(&self) -> ServerWatch {
        ServerWatch::new(&self.shared)
    }

    /// Tells clients that it is about to end: ServerStatus says Shutdown, and counts down. It
    /// serves on until it is stopped.
    pub fn announce_end(&self, grace: Duration) {
        let ticks = i64::try_from(grace.as_nanos() / 100).unwrap_or(i64::MAX);
        let now = self.shared.clock.now().utc;
        self.shared.status.ends_at(now.saturating_add(ticks));
    }

    /// Tells clients that it ends, and ends.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lines.iter().for_each(|line| line.end());
        self.tls.clear();
        // Those that stand still do not read their mail.
        self.shared.status.end();
        for post in &self.posts {
            post.send(Mail::Stop);
        }
        self.updates.stop();
        match &self.place {
            // Helpers and threads are of others, too.
            Some(place) => place.wait(),
            None => self.pool.close(),
        }
        for thread in self.threads.drain(..) {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// Keeps this thread off the processors of the loops. Where that cannot be it is where it was.
fn keep_off(loops: &[usize]) {
    let _ = platform::thread::keep_off(loops);
}

fn identity(own: &pki::Identity) -> Result<Identity, StartError> {
    Ok(Identity {
        certificate: Certificate::from_der(&own.sent())?,
        key: PrivateKey::from_der(own.key.pkcs8())?,
    })
}

/// Its certificate for the wire; what cannot be offered without one is left out.
pub(crate) fn offer(config: &mut Config) -> Result<Identities, StartError> {
    let all = config.identity.iter().chain(&config.beside);
    let uris: Vec<_> = all.clone().map(pki::Identity::application_uri).collect();
    if let Some(other) = uris.iter().find(|uri| Some(*uri) != uris.first()) {
        let of = |uri: Option<&str>| uri.unwrap_or("no application").to_owned();
        let first = uris.first().copied().flatten();
        return Err(StartError::Applications(of(first), of(*other)));
    }
    let identities: Identities = all.map(identity).collect::<Result<_, _>>()?;
    if let Some(own) = &config.identity
        && let Some(uri) = own.application_uri()
    {
        uri.clone_into(&mut config.application_uri);
    }
    let has_key = |p: &Protection| *p == Protection::NONE || identities.of(p.policy).is_some();
    config.protections.retain(has_key);
    match config.protections.is_empty() {
        true => Err(StartError::NothingToOffer),
        false => Ok(identities),
    }
}

/// Makes what all threads of a server with so many loops share.
pub(crate) fn share(
    config: Config,
    loops: usize,
    identities: Identities,
    (address, tls): (SocketAddr, TlsPorts),
    clock: Clock,
) -> Result<(Arc<Shared>, Updates), StartError> {
    let advertised = Advertised::new(&config, address, tls);
    let (register, ledger) = (Arc::<Register>::default(), Arc::<Ledger>::default());
    let own = Own {
        counters: Arc::<Counters>::default(),
        workings: Arc::new(Workings::new(
            loops,
            Arc::clone(&ledger),
            Arc::clone(&register),
        )),
        register,
        ledger,
        status: Arc::new(Status::new(clock.anchor())),
        publishers: config
            .publish
            .iter()
            .map(|it| Arc::new(Publisher::new(it)))
            .collect(),
    };
    let (space, updates) = space(&config, &clock, &own)?;
    let shared = Arc::new(Shared::new(
        config, advertised, clock, own, space, identities,
    ));
    for publisher in &shared.publishers {
        let signals = Signals::of(&shared, publisher.about.signals);
        publisher.tell(signals.fields());
    }
    for fault in &shared.config.faults {
        let added = shared
            .faults
            .add(fault.clone(), &shared.space, shared.clock.now().mono);
        added.map_err(|error| StartError::Fault(fault.to_string(), error))?;
    }
    Ok((shared, updates))
}

/// What changes values while the server runs.
pub(crate) struct Updates {
    loops: Vec<UpdateLoop>,
    /// What looks at the process, if that is asked for.
    meter: Option<Meter>,
}

fn space(config: &Config, clock: &Clock, own: &Own) -> Result<(Space, Updates), StartError> {
    let mut builder = Builder::new(&config.application_uri, clock.anchor());
    standard::load(&mut builder);
    let mut loops = Vec::new();
    let mut meter = None;
    for profile in &config.profiles {
        let plant = profile.plant()?;
        let mut stored = Vec::new();
        plant.build(&mut builder, &mut stored)?;
        let planned = UpdateLoop::plan(stored, plant.update_threads);
        if plant.metrics {
            meter
                .get_or_insert_with(|| Meter::describe(&mut builder, &own.workings, &own.counters));
            for (n, each) in planned.iter().enumerate() {
                metrics::describe(&mut builder, loops.len() + n + 1, each);
            }
        }
        loops.extend(planned);
    }
    own.workings.knows(loops.iter().map(UpdateLoop::working));
    NodeSet::build(&config.nodesets, &mut builder)?;
    plant_object::describe(&mut builder);
    internals::describe(&mut builder, &own.workings);
    if config.check_revocation {
        certificate_directory::describe(&mut builder);
    }
    security_groups::describe(&mut builder, &config.security_groups);
    publish_subscribe::describe(&mut builder, &own.publishers);
    server_object::describe(&mut builder, config, own);
    let mut space = builder.finish();
    space.show_sessions(&own.register);
    Ok((space, Updates { loops, meter }))
}
