//! `uaperf watch --pipe` on a host that ssh reaches: looks come on its output, and its clock is read over the same pipe.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fleet::frame::encode;
use fleet::{Bands, Exchange, Stamp};
use plan::unit::duration::{self, nanos};

use super::messages::{FromWatch, Hello, ToWatch};
use super::{Event, Known, Point, SamplerHandle, Site};
use crate::fleet::carrier::{Carrier, CarrierEvent, program};
use crate::fleet::pipe::stamp;
use crate::fleet::{VERSION, Way};
use crate::screen::plain;

/// All that a look has takes a process of fifty threads half a millisecond: so often at most.
pub const CLOSEST: Duration = Duration::from_millis(100);
/// A host that was never reached before may have to wake up.
const CONNECTING: Duration = Duration::from_secs(30);
/// The clock is asked so often at first, one answer after the other, and so often then.
const EXCHANGES: u32 = 8;
const CLOCK: Duration = Duration::from_secs(1);
/// Looks that are so late are missing.
pub const LATE: Duration = Duration::from_secs(2);

/// Starts it there and waits for its first look.
pub fn open(
    site: &Site,
    way: &Way,
    what: &str,
    every: Duration,
    handle: SamplerHandle,
) -> Result<(Known, JoinHandle<()>), String> {
    let every = every.max(CLOSEST);
    let (post, letters) = channel();
    let command = program(way, &["watch", "--pipe", what]).map_err(|error| error.to_string())?;
    let carrier = Carrier::start(&site.to_string(), command, move |came| {
        // Nobody reads it when all is over.
        let _ = post.send(came);
    });
    let carrier = carrier.map_err(|error| format!("ssh could not be started: {error}"))?;
    let mut line = Line {
        carrier,
        letters,
        bands: Bands::default(),
        looks: Looks::new(handle, every),
    };
    let hello = match line.open() {
        Ok(hello) => hello,
        Err(why) => {
            line.carrier.kill();
            return Err(why);
        }
    };
    let known = known(site, site.to_string(), hello, every);
    let thread = std::thread::Builder::new().name("listen".into());
    let thread = thread
        .spawn(move || line.listen())
        .map_err(|error| error.to_string())?;
    Ok((known, thread))
}

struct Line {
    carrier: Carrier,
    letters: Receiver<CarrierEvent<FromWatch>>,
    bands: Bands,
    looks: Looks,
}

/// What comes of somebody who looks there.
pub struct Looks {
    handle: SamplerHandle,
    /// The time between two looks.
    pub every: Duration,
    heard: Instant,
    /// When it was said last that none comes.
    late: Instant,
    /// When the last look was taken, on our clock.
    pub last: Option<Instant>,
    /// Nothing more comes.
    pub ended: bool,
}

impl Looks {
    /// None came yet.
    pub fn new(handle: SamplerHandle, every: Duration) -> Self {
        Self {
            handle,
            every,
            heard: Instant::now(),
            late: Instant::now(),
            last: None,
            ended: false,
        }
    }

    /// Takes a look that came now; `bands` are those of the clocks there.
    pub fn take(&mut self, message: FromWatch, bands: &Bands, came: Stamp) {
        match message {
            FromWatch::Look {
                at,
                mut totals,
                cost_ns,
            } => {
                self.heard = Instant::now();
                for task in totals.tasks.iter_mut().flatten() {
                    task.name = plain(&task.name);
                }
                let Some((at, error)) = ours(bands, at, came) else {
                    self.handle
                        .gap("the clocks contradict each other: one was stopped".to_owned());
                    return;
                };
                self.last = Some(at);
                self.handle.tell(Event::Point(Box::new(Point {
                    at,
                    error,
                    clock_ns: None,
                    totals: *totals,
                    cost_ns,
                })));
            }
            FromWatch::Ended { why } => self.end(why),
            FromWatch::Hello(_) | FromWatch::Refused { .. } | FromWatch::Clock { .. } => {}
        }
    }

    /// Nothing more comes.
    pub fn end(&mut self, why: String) {
        self.handle.gap(why);
        self.ended = true;
    }

    /// Says so where a look should have come.
    pub fn miss(&mut self) {
        let silent = self.heard.elapsed();
        if silent > LATE + self.every && self.late.elapsed() > Duration::from_secs(1) {
            self.late = Instant::now();
            self.handle
                .gap("no look came; the network or the host may be down".to_owned());
        }
    }

    /// Whether nobody wants looks any more.
    pub fn is_stopped(&self) -> bool {
        self.handle.stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Empty)
    }
}

/// A moment of the clock there on ours, and how far that may be off. It came later than that, whatever the clocks say.
fn ours(bands: &Bands, there: Stamp, came: Stamp) -> Option<(Instant, Duration)> {
    let band = bands.mono(came.mono_ns)?;
    let ours = there.mono_ns as f64 - band.middle();
    let now = (Instant::now(), stamp().mono_ns);
    let ago = (now.1 as f64 - ours).max(0.0);
    let at = now.0.checked_sub(Duration::from_nanos(ago as u64))?;
    Some((at, Duration::from_nanos(band.error().ceil() as u64)))
}

/// Who looks there, as it said.
pub fn known(site: &Site, from: String, hello: Hello, every: Duration) -> Known {
    Known {
        name: match &hello.process {
            Some((name, _)) => format!("{} at {}", plain(name), site.host()),
            None => site.host().to_owned(),
        },
        from,
        by: plain(&format!("uaperf {} on {}", hello.version, hello.host)),
        is_host: hello.process.is_none(),
        // Another version of it would be one with other fields; versions are the same.
        machine: serde_json::from_slice(&hello.machine).ok().map(Box::new),
        pid: hello.process.map(|it| it.1),
        every,
    }
}

impl Line {
    fn say(&self, what: &ToWatch) {
        // What does not fit into a frame is longer than anything here.
        if let Ok(frame) = encode(what) {
            self.carrier.send(frame);
        }
    }

    fn ask(&self) {
        self.say(&ToWatch::Clock { asked: stamp() });
    }

    /// It looks at once, and then at its intervals.
    fn greet(&self) {
        self.say(&ToWatch::Hello {
            version: VERSION.to_owned(),
            every_ns: nanos(self.looks.every),
        });
    }

    /// Greets it, compares the clocks, and has a first look.
    fn open(&mut self) -> Result<Hello, String> {
        let until = Instant::now() + CONNECTING;
        let mut hello = None;
        let mut looks = false;
        let mut asked = 0;
        while !looks {
            let left = until.saturating_duration_since(Instant::now());
            let (message, at) = match self.letters.recv_timeout(left) {
                Ok(CarrierEvent::Message(message, at)) => (message, at),
                Ok(CarrierEvent::End(why)) => return Err(why),
                Err(_) => return Err(format!("no answer within {}", duration::show(CONNECTING))),
            };
            match message {
                FromWatch::Hello(it) if it.version != VERSION => {
                    return Err(format!(
                        "uaperf there is version {}, here {VERSION}: install the same one there",
                        it.version
                    ));
                }
                FromWatch::Hello(it) => {
                    hello = Some(it);
                    self.ask();
                }
                FromWatch::Clock { .. } => {
                    self.take(message, at);
                    asked += 1;
                    match asked {
                        EXCHANGES => self.greet(),
                        _ => self.ask(),
                    }
                }
                FromWatch::Look { .. } => {
                    self.take(message, at);
                    looks = true;
                }
                FromWatch::Refused { why } | FromWatch::Ended { why } => return Err(why),
            }
        }
        hello.ok_or_else(|| "it did not say who it is".to_owned())
    }

    fn listen(mut self) {
        let mut clock = Instant::now() + CLOCK;
        // Told to stop, it asks for one look more: what was on its way was taken too early.
        let mut over = None::<Instant>;
        while !self.looks.ended && over.is_none_or(|it| it.elapsed() < LATE) {
            let now = Instant::now();
            if now >= clock {
                clock = now + CLOCK;
                self.ask();
            }
            // Half of the shortest interval: often enough to be told to stop.
            let wait = clock.saturating_duration_since(now).min(CLOSEST / 2);
            match self.letters.recv_timeout(wait) {
                Ok(CarrierEvent::Message(message, at)) => {
                    self.take(message, at);
                    if over.is_some_and(|over| self.looks.last.is_some_and(|it| it >= over)) {
                        break;
                    }
                }
                Ok(CarrierEvent::End(why)) => self.looks.end(why),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.looks.miss();
            if self.looks.is_stopped() && over.is_none() {
                over = Some(Instant::now());
                self.greet();
            }
        }
        self.carrier.end();
    }

    fn take(&mut self, message: FromWatch, answered: Stamp) {
        match message {
            FromWatch::Clock {
                asked,
                received,
                sent,
            } => self.bands.add(&Exchange {
                asked,
                received,
                sent,
                answered,
            }),
            other => self.looks.take(other, &self.bands, answered),
        }
    }
}
