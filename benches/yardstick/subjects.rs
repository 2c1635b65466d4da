//! Who takes turns.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use benches::child::{Plant, identity};
use observe::Process;
use wire::channel::Protection;
use wire::policy::{Mode, Policy};

use crate::client::Client;
use crate::generator::{Generator, Paced};
use crate::options::Options;
use crate::place::Place;
use crate::plant::{self, Shape};
use crate::raw::{self, Answers, Sizes};
use crate::slice::{Slice, Work};
use crate::{peer, place};

/// Answers that the plant writes at once; the raw pair does as it does.
const AT_ONCE: usize = 16;

/// The raw pair of batches whose server computes as long as the plant.
pub const BUSY: &str = "batches raw, as busy as the plant";

/// How long it is looked at what the plant computes for an answer.
const LOOK: Duration = Duration::from_millis(300);

/// The generator.
const LOAD: &str = "load";

/// Answers that the generator waits for before it wakes up, where it is told to.
const COALESCE: u32 = 16;

/// What gives a turn.
type Run = Box<dyn FnMut(Duration) -> anyhow::Result<Slice>>;

/// One that takes turns.
pub struct Subject {
    /// `workload client-server`.
    pub name: String,
    /// Values of a call.
    pub batch: usize,
    /// The server's process, if its CPU is not measured by the run itself.
    server: Option<Process>,
    run: Run,
}

/// Servers that run, and those who take turns with them.
pub struct Bench {
    pub subjects: Vec<Subject>,
    /// What could not be set up, and why.
    pub missing: Vec<String>,
    /// The client that takes the generator's place in the bars.
    pub generator: &'static str,
    pub sizes: Vec<(&'static str, Sizes)>,
    _plants: Vec<Plant>,
    _peer: Option<peers::Server>,
    /// Where the generator keeps its certificate.
    folder: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Left behind, it is a key that nobody trusts.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const SECURED: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::SignAndEncrypt,
};

impl Bench {
    /// Starts servers, connects clients.
    pub fn set_up(options: &Options) -> anyhow::Result<Self> {
        let place = Place::find();
        let own = identity("urn:uaperf:yardstick")?;
        let core = place.server;
        let plant = plant::start(Shape {
            threads: 1,
            core,
            spin: false,
        })?;
        let mut bench = Self {
            subjects: Vec::new(),
            missing: Vec::new(),
            generator: LOAD,
            sizes: Vec::new(),
            _plants: Vec::new(),
            _peer: None,
            folder: std::env::temp_dir().join(format!("uaperf-yardstick-{}", std::process::id())),
        };
        let mut first = Client::connect(plant.url(), Protection::NONE, None)?;
        let single = first.sizes(1)?;
        let hundred = first.sizes(100)?;
        let secured = Client::connect(plant.url(), SECURED, Some(&own))?.sizes(1)?;
        drop(first);
        bench.sizes = vec![
            ("single", single),
            ("batch of 100", hundred),
            ("single, secured", secured),
        ];
        bench.raw(options, place, single, hundred, secured);
        bench.raw_and_busy(options, place, hundred, &plant)?;

        let peer = match peer::server(place) {
            Ok(server) => Some(server),
            Err(error) => {
                bench.missing.push(format!("open62541: {error:#}"));
                None
            }
        };
        let mut servers = vec![("plant", plant.url().to_owned(), plant.pid())];
        if let Some(peer) = &peer {
            servers.push((peer::NAME, peer.url().to_owned(), peer.pid()));
        }
        for (server, url, pid) in &servers {
            for secured in [false, true] {
                bench.generator(options, place, server, url, *pid, secured);
                bench.ours(options, place, server, url, *pid, secured.then_some(&own));
                if peer.is_some() {
                    bench.theirs(options, place, peer::NAME, server, url, *pid, secured);
                    bench.theirs(options, place, peer::BULK, server, url, *pid, secured);
                }
            }
        }
        bench.spinning(options, place);
        bench.paced(options, place, plant.url(), plant.pid());
        bench._plants.push(plant);
        for threads in [1, 2] {
            bench.two_sessions(options, threads)?;
        }
        bench._peer = peer;
        Ok(bench)
    }

    /// One turn of one subject.
    pub fn turn(&mut self, index: usize, duration: Duration) -> anyhow::Result<Slice> {
        let Some(subject) = self.subjects.get_mut(index) else {
            anyhow::bail!("no subject {index}");
        };
        let cpu = |server: &Option<Process>| {
            // By now it waits, and the kernel has noted what it used.
            std::thread::sleep(Duration::from_millis(2));
            server.as_ref().and_then(|process| process.cpu().ok())
        };
        let before = cpu(&subject.server);
        let mut slice = (subject.run)(duration)?;
        if let Some((before, after)) = before.zip(cpu(&subject.server)) {
            slice.server_cpu = Some(after.saturating_sub(before));
        }
        Ok(slice)
    }

    fn add(
        &mut self,
        options: &Options,
        name: String,
        batch: usize,
        server: Option<u32>,
        run: Run,
    ) {
        if !options.wants(&name) {
            return;
        }
        self.subjects.push(Subject {
            name,
            batch,
            server: server.and_then(|id| Process::of(id).ok()),
            run,
        });
    }

    fn raw(
        &mut self,
        options: &Options,
        place: Place,
        single: Sizes,
        hundred: Sizes,
        secured: Sizes,
    ) {
        let pairs = [
            ("sleeping raw", Work::ROUND_TRIP, single, 1),
            ("spinning raw", Work::SPINNING, single, 1),
            ("pipelined raw", Work::PIPELINED, single, AT_ONCE),
            // As open62541's server and most others do it.
            (
                "pipelined raw, each answer alone",
                Work::PIPELINED,
                single,
                1,
            ),
            ("batches raw", Work::BATCHES, hundred, AT_ONCE),
            ("secured raw", Work::PIPELINED, secured, AT_ONCE),
        ];
        for (name, work, sizes, at_once) in pairs {
            let busy = Duration::ZERO;
            let answers = Answers { at_once, busy };
            let run = move |duration| raw::tcp(place, sizes, work, answers, duration);
            self.add(options, name.into(), work.batch, None, Box::new(run));
        }
        let pairs = [
            ("sleeping udp", Work::ROUND_TRIP),
            ("spinning udp", Work::SPINNING),
            ("pipelined udp", Work::PIPELINED),
        ];
        for (name, work) in pairs {
            let run = move |duration| raw::udp(place, single, work, duration);
            self.add(options, name.into(), work.batch, None, Box::new(run));
        }
    }

    /// A raw pair whose server computes as long for an answer as the plant does: only then do
    /// answers arrive at its client in groups like the plant's.
    fn raw_and_busy(
        &mut self,
        options: &Options,
        place: Place,
        sizes: Sizes,
        plant: &Plant,
    ) -> anyhow::Result<()> {
        let (name, work) = (BUSY, Work::BATCHES);
        if !options.wants(name) {
            return Ok(());
        }
        let mut answers = Answers {
            at_once: AT_ONCE,
            busy: Duration::ZERO,
        };
        let mut client = Client::connect(plant.url(), Protection::NONE, None)?;
        let process = Process::of(plant.pid())?;
        let before = process.cpu()?;
        let calls = on(place.client, || client.read(work, LOOK))?.calls;
        let of_plant = process.cpu()?.saturating_sub(before).as_secs_f64() / calls.max(1) as f64;
        let raw = raw::tcp(place, sizes, work, answers, LOOK)?;
        let of_raw = raw.server_us().unwrap_or_default() / 1e6;
        answers.busy = Duration::from_secs_f64((of_plant - of_raw).max(0.0));
        let run = move |duration| raw::tcp(place, sizes, work, answers, duration);
        self.add(options, name.into(), work.batch, None, Box::new(run));
        Ok(())
    }

    /// Our bare client against a server.
    fn ours(
        &mut self,
        options: &Options,
        place: Place,
        server: &'static str,
        url: &str,
        pid: u32,
        own: Option<&pki::Identity>,
    ) {
        let protection = own.map_or(Protection::NONE, |_| SECURED);
        let client = match Client::connect(url, protection, own) {
            Ok(client) => Rc::new(RefCell::new(client)),
            Err(error) => {
                let what = format!("wire to {server}, {protection}: {error:#}");
                return self.missing.push(what);
            }
        };
        for (workload, work) in workloads(own.is_some()) {
            let client = Rc::clone(&client);
            let run = move |duration| {
                let client = &mut *client.borrow_mut();
                on(place.client, || client.read(work, duration))
            };
            let name = format!("{workload} wire-{server}");
            self.add(options, name, work.batch, Some(pid), Box::new(run));
        }
    }

    /// One of the other clients against a server.
    #[allow(clippy::too_many_arguments, reason = "who, with whom, how")]
    fn theirs(
        &mut self,
        options: &Options,
        place: Place,
        name: &'static str,
        server: &'static str,
        url: &str,
        pid: u32,
        secured: bool,
    ) {
        let client = match peer::Client::connect(place, name, url, secured) {
            Ok(client) => Rc::new(RefCell::new(client)),
            Err(error) => {
                let what = format!("{name} to {server}, secured {secured}: {error:#}");
                return self.missing.push(what);
            }
        };
        for (workload, work) in workloads(secured) {
            let client = Rc::clone(&client);
            let run = move |duration| client.borrow_mut().read(work, duration);
            let name = format!("{workload} {name}-{server}");
            self.add(options, name, work.batch, Some(pid), Box::new(run));
        }
    }

    /// The generator against a server.
    fn generator(
        &mut self,
        options: &Options,
        place: Place,
        server: &'static str,
        url: &str,
        pid: u32,
        secured: bool,
    ) {
        let protection = if secured { SECURED } else { Protection::NONE };
        let generator = Generator::connect(url, protection, &self.folder, place.client);
        let generator = match generator {
            Ok(generator) => Rc::new(generator),
            Err(error) => {
                let what = format!("{LOAD} to {server}, {protection}: {error:#}");
                return self.missing.push(what);
            }
        };
        let mut turns: Vec<(&str, Work, u32)> = Vec::new();
        turns.extend(
            workloads(secured)
                .iter()
                .map(|(name, work)| (*name, *work, 1)),
        );
        if !secured {
            turns.push(("coalesced", Work::PIPELINED, COALESCE));
        }
        for (workload, work, coalesce) in turns {
            let generator = Rc::clone(&generator);
            let run = move |duration| generator.read(work, coalesce, duration);
            let name = format!("{workload} {LOAD}-{server}");
            self.add(options, name, work.batch, Some(pid), Box::new(run));
        }
    }

    /// Round trips with both sides spinning. The plant lives for a turn only, or it would take its
    /// core from all others.
    fn spinning(&mut self, options: &Options, place: Place) {
        let start = move || {
            plant::start(Shape {
                threads: 1,
                core: place.server,
                spin: true,
            })
        };
        let folder = self.folder.clone();
        let run = move |duration| {
            let plant = start()?;
            Generator::connect(plant.url(), Protection::NONE, &folder, place.client)?.read(
                Work::SPINNING,
                1,
                duration,
            )
        };
        let name = format!("spinning {LOAD}-plant");
        self.add(options, name, 1, None, Box::new(run));
        let run = move |duration| {
            let plant = start()?;
            let mut client = Client::connect(plant.url(), Protection::NONE, None)?;
            on(place.client, || client.read(Work::SPINNING, duration))
        };
        self.add(
            options,
            "spinning wire-plant".into(),
            1,
            None,
            Box::new(run),
        );
    }

    /// How late the generator sends what is planned.
    fn paced(&mut self, options: &Options, place: Place, url: &str, pid: u32) {
        let generator = Generator::connect(url, Protection::NONE, &self.folder, place.client);
        let generator = match generator {
            Ok(generator) => Rc::new(generator),
            Err(error) => return self.missing.push(format!("{LOAD}, paced: {error:#}")),
        };
        for (name, spin) in [("paced, spinning", true), ("paced, sleeping", false)] {
            let generator = Rc::clone(&generator);
            let paced = Paced { rate: 10_000, spin };
            let run = move |duration| generator.paced(paced, duration);
            let name = format!("{name} {LOAD}-plant");
            self.add(options, name, 1, Some(pid), Box::new(run));
        }
    }

    /// Two sessions from two threads against a plant of one or two threads; nobody is held to a
    /// core, as there are more threads than cores.
    fn two_sessions(&mut self, options: &Options, threads: usize) -> anyhow::Result<()> {
        let name = format!("two sessions wire-plant of {threads}");
        if !options.wants(&name) {
            return Ok(());
        }
        let plant = plant::start(Shape {
            threads,
            core: None,
            spin: false,
        })?;
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(Client::connect(plant.url(), Protection::NONE, None)?);
        }
        let pid = plant.pid();
        self._plants.push(plant);
        let run = move |duration| {
            let slices: Vec<anyhow::Result<Slice>> = std::thread::scope(|scope| {
                let started: Vec<_> = clients
                    .iter_mut()
                    .map(|client| scope.spawn(move || client.read(Work::PIPELINED, duration)))
                    .collect();
                let ended = started.into_iter().map(|thread| thread.join());
                ended
                    .map(|slice| slice.unwrap_or_else(|_| anyhow::bail!("a thread panicked")))
                    .collect()
            });
            let mut both = Slice::default();
            for slice in slices {
                let slice = slice?;
                both.calls += slice.calls;
                both.bad += slice.bad;
                both.elapsed = both.elapsed.max(slice.elapsed);
                both.client_cpu = Some(
                    both.client_cpu.unwrap_or_default() + slice.client_cpu.unwrap_or_default(),
                );
            }
            Ok(both)
        };
        self.add(options, name, 1, Some(pid), Box::new(run));
        Ok(())
    }
}

fn workloads(secured: bool) -> Vec<(&'static str, Work)> {
    match secured {
        true => vec![("secured", Work::PIPELINED)],
        false => vec![
            ("sleeping", Work::ROUND_TRIP),
            ("pipelined", Work::PIPELINED),
            ("batches", Work::BATCHES),
        ],
    }
}

/// Runs something on a thread of its own that is held to a core: this one stays free to go where
/// it likes, and so do the threads and processes that it starts later.
fn on<T: Send>(
    core: Option<usize>,
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            place::pin(core)?;
            work()
        });
        thread
            .join()
            .unwrap_or_else(|_| anyhow::bail!("a thread panicked"))
    })
}
