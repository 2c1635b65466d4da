//! Publisher and listener beside those of open62541, in turns: processor time of a signal.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use benches::Spread;
use load::pubsub::{Knowledge, PhaseClock, Post, Until, publish};
use peers::PubSub;
use plan::unit::duration::nanos;
use pubsub::Tolerance;
use pubsub::layout::Layout;
use pubsub::raw::RawType;
use pubsub::security::KeyRing;
use wire::template::walk::BuiltInType;

use crate::place::{Place, pin};
use crate::{SIGNALS, plan, template};

/// Messages of a turn: a tenth of a second or so of each publisher.
const OURS: u64 = 131_072;
const WAYS: [(&str, u64); 3] = [
    ("variables", 4_096),
    ("offsets", 32_768),
    ("together", 65_536),
];

/// Datagrams that come at once to a listener, and how often: fewer than the smallest of both sockets takes.
const BURST: usize = 64;
const PAUSE: Duration = Duration::from_millis(4);
const BURSTS: usize = 100;

/// Both comparisons.
pub fn run(turns: usize) -> anyhow::Result<()> {
    let stack = PubSub::load();
    stack.install(&mut |event| eprintln!("{}: {event}", stack.name))?;
    publishers(turns)?;
    listeners(turns)
}

/// Nanoseconds of a signal by their turns.
struct Column {
    name: String,
    each: Vec<f64>,
}

impl Column {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            each: Vec::new(),
        }
    }

    fn note(&mut self, cpu: Duration, messages: u64) {
        let signals = messages.max(1) * u64::from(SIGNALS);
        self.each.push(cpu.as_nanos() as f64 / signals as f64);
    }
}

/// Each beside the first, which is ours.
fn print(title: &str, columns: &[Column]) {
    println!("{title}: ns of CPU for a signal");
    let spread = |values: Vec<f64>| {
        Spread::of(values).map_or("-".to_owned(), |it| {
            format!("{:.2} ({:.2} to {:.2})", it.median, it.low, it.high)
        })
    };
    let Some((ours, others)) = columns.split_first() else {
        return;
    };
    println!("  {:<34} {}", ours.name, spread(ours.each.clone()));
    for other in others {
        let ratios = ours.each.iter().zip(&other.each).map(|(a, b)| a / b);
        println!(
            "  {:<34} {}   ours over it {}",
            other.name,
            spread(other.each.clone()),
            spread(ratios.collect())
        );
    }
}

fn publishers(turns: usize) -> anyhow::Result<()> {
    let place = Place::find();
    pin(place.server)?;
    let sink = UdpSocket::bind("127.0.0.1:0")?;
    let at = sink.local_addr()?.to_string();
    let mut columns = vec![Column::new("uaperf publish --max")];
    let mut peers = Vec::new();
    for (way, messages) in WAYS {
        // It has the core of this thread.
        let signals = SIGNALS.to_string();
        let peer = PubSub::start(PubSub::load(), &["publish", way, &at, &signals])?;
        columns.push(Column::new(&format!("open62541, {way}")));
        peers.push((peer, messages));
    }
    // The first turn warms up.
    for turn in 0..=turns {
        for (n, column) in columns.iter_mut().enumerate() {
            let (cpu, messages) = match n.checked_sub(1).and_then(|n| peers.get_mut(n)) {
                Some((peer, messages)) => {
                    let done = peer.turn(&messages.to_string())?;
                    (Duration::from_nanos(done.cpu_ns), done.messages)
                }
                None => {
                    let before = observe::thread_cpu()?;
                    let stop = AtomicBool::new(false);
                    let sent = publish(plan(&at, OURS), &stop, |_| ())?;
                    (observe::thread_cpu()? - before, sent.datagrams)
                }
            };
            if turn > 0 {
                column.note(cpu, messages);
            }
        }
    }
    print("publishers of 100 RawData Floats", &columns);
    Ok(())
}

fn listeners(turns: usize) -> anyhow::Result<()> {
    let place = Place::find();
    pin(place.server)?;
    let there = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
    let signals = SIGNALS.to_string();
    let words = ["subscribe", "variables", &there.to_string(), &signals];
    let mut peer = PubSub::start(PubSub::load(), &words)?;
    pin(place.client)?;
    let mut columns = [Column::new("uaperf listen"), Column::new("open62541")];
    let [ours, theirs] = &mut columns;
    let all = (BURST * BURSTS) as u64;
    for turn in 0..=turns {
        let (cpu, heard) = listen(place)?;
        anyhow::ensure!(heard == all, "{heard} of {all} datagrams came");
        if turn > 0 {
            ours.note(cpu, heard);
        }
        let done = std::thread::scope(|scope| {
            // It has begun to receive when the first come, or they wait.
            let sender = scope.spawn(move || send(there));
            let done = peer.turn(&format!("{all} 5000"));
            let sent = sender
                .join()
                .map_err(|_| anyhow::anyhow!("a sender panicked"));
            sent.and_then(|sent| sent).and(Ok(done?))
        })?;
        anyhow::ensure!(done.messages == all, "{} of {all} came", done.messages);
        if turn > 0 {
            theirs.note(Duration::from_nanos(done.cpu_ns), done.messages);
        }
    }
    let title = format!("listeners to 100 RawData Floats, {BURST} datagrams each {PAUSE:?}");
    print(&title, &columns);
    Ok(())
}

/// Processor time of a listener, and how many datagrams it had.
fn listen(place: Place) -> anyhow::Result<(Duration, u64)> {
    let at = "opc.udp://127.0.0.1:0"
        .parse()
        .map_err(anyhow::Error::msg)?;
    let post = Post::open(&at, None, 4 << 20)?;
    let here = post.place().context("a socket has a place")?.to_string();
    let here = here.trim_start_matches("opc.udp://").parse()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let clock = PhaseClock {
        origin_ns: nanos(now),
        end_ns: nanos(Duration::from_secs(60)),
        cut_ns: 0,
        ahead_ns: Some(0),
    };
    let knowledge = Knowledge {
        choice: load::pubsub::Choice::default(),
        keys: KeyRing::new(None, Tolerance::NONE),
        feed: None,
        tolerance: Tolerance::NONE,
        types: vec![RawType::scalar(BuiltInType::Float); SIGNALS.into()],
    };
    let over = AtomicBool::new(false);
    let until = Until {
        over: &over,
        drain: true,
    };
    std::thread::scope(|scope| {
        let listener = scope.spawn(move || -> anyhow::Result<_> {
            pin(place.server)?;
            let before = observe::thread_cpu()?;
            let (heard, _) = post.hear(knowledge, clock, until, &mut |_| ())?;
            Ok((observe::thread_cpu()? - before, heard.datagrams))
        });
        let sent = send(here);
        over.store(true, Ordering::Relaxed);
        let heard = listener.join();
        let heard = heard.map_err(|_| anyhow::anyhow!("a listener panicked"))?;
        sent.and(heard)
    })
}

/// All datagrams of a turn, numbered through.
fn send(to: SocketAddr) -> anyhow::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(to)?;
    let mut template = template(Layout::Dynamic, 4 * usize::from(SIGNALS), None);
    let mut out = Vec::new();
    for _ in 0..BURSTS {
        for _ in 0..BURST {
            template.write(1, &mut out);
            socket.send(&out)?;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
