//! A way to an agent that a test cuts, and an agent and a controller that it kills, at the message that it names.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use fleet::frame::{Frames, PREAMBLE, encode};
use fleet::{FromAgent, ToAgent};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;

use table::{Kill, Phase};

#[path = "../../../fleet/tests/table/mod.rs"]
pub mod table;

/// Nobody is given up because of it.
pub const SHORT: Duration = Duration::from_millis(1500);

/// What comes through a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Held,
}

/// What both directions share.
struct Shared {
    plan: (Kill, Phase),
    pause: Duration,
    struck: Mutex<Option<Instant>>,
    /// To the agent, from the agent.
    gates: Mutex<[Gate; 2]>,
    changed: Condvar,
    controller: OnceLock<u32>,
    agent: OnceLock<u32>,
    writers: [Mutex<Option<Box<dyn Write + Send>>>; 2],
}

const TO_AGENT: usize = 0;
const FROM_AGENT: usize = 1;

/// The way, once it is asked for.
pub struct Relay {
    shared: Arc<Shared>,
    child: Arc<Mutex<Option<Child>>>,
    /// What a client of ssh is started with.
    pub ssh: String,
}

fn signal(pid: u32, signal: Signal) {
    // It may be gone already.
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    let _ = kill_process(pid, signal);
}

impl Shared {
    fn strike(self: &Arc<Self>, at: Phase) {
        let (kill, phase) = self.plan;
        if phase != at || self.struck.lock().unwrap().is_some() {
            return;
        }
        *self.struck.lock().unwrap() = Some(Instant::now());
        let later = |after: Duration, what: fn(&Self)| {
            let shared = Arc::clone(self);
            std::thread::spawn(move || {
                std::thread::sleep(after);
                what(&shared);
            });
        };
        let (agent, controller) = (*self.agent.wait(), *self.controller.wait());
        match kill {
            // What passes is not said yet: it never will be, or later.
            Kill::Agent => {
                signal(agent, Signal::KILL);
                *self.writers[FROM_AGENT].lock().unwrap() = None;
            }
            Kill::AgentStops => {
                signal(agent, Signal::STOP);
                self.hold([Gate::Open, Gate::Held]);
            }
            Kill::AgentPauses => {
                signal(agent, Signal::STOP);
                self.hold([Gate::Open, Gate::Held]);
                later(SHORT, |it| {
                    signal(*it.agent.wait(), Signal::CONT);
                    it.hold([Gate::Open; 2]);
                });
            }
            Kill::Controller => signal(controller, Signal::KILL),
            Kill::ControllerPauses => {
                signal(controller, Signal::STOP);
                later(self.pause, |it| signal(*it.controller.wait(), Signal::CONT));
            }
            Kill::Interrupt => signal(controller, Signal::INT),
            Kill::Way => self.close(),
            Kill::Silence => self.hold([Gate::Held; 2]),
            Kill::ShortSilence => {
                self.hold([Gate::Held; 2]);
                later(SHORT, |it| it.hold([Gate::Open; 2]));
            }
            Kill::OneWay => self.hold([Gate::Open, Gate::Held]),
        }
    }

    fn hold(&self, gates: [Gate; 2]) {
        *self.gates.lock().unwrap() = gates;
        self.changed.notify_all();
    }

    fn close(&self) {
        for writer in &self.writers {
            *writer.lock().unwrap() = None;
        }
    }

    fn write(&self, way: usize, bytes: &[u8]) {
        let gates = self.gates.lock().unwrap();
        let held = |gates: &mut [Gate; 2]| gates[way] == Gate::Held;
        drop(self.changed.wait_while(gates, held).unwrap());
        let mut writer = self.writers[way].lock().unwrap();
        let written = writer
            .as_mut()
            .map(|it| it.write_all(bytes).and_then(|()| it.flush()));
        if let Some(Err(_)) = written {
            *writer = None;
        }
    }

    /// Passes messages on until no more come.
    fn pass<T: Serialize + DeserializeOwned>(
        self: &Arc<Self>,
        way: usize,
        mut from: impl Read,
        phases: impl Fn(&T) -> (Option<Phase>, Option<Phase>, Option<Phase>),
    ) {
        let mut frames = Frames::default();
        let mut bytes = vec![0; 64 << 10];
        self.write(way, PREAMBLE);
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            frames.push(&bytes[..n]);
            while let Ok(Some(message)) = frames.poll::<T>() {
                let (before, amid, after) = phases(&message);
                let frame = encode(&message).unwrap();
                let (first, second) = frame.split_at(frame.len() / 2);
                before.into_iter().for_each(|it| self.strike(it));
                self.write(way, first);
                amid.into_iter().for_each(|it| self.strike(it));
                self.write(way, second);
                after.into_iter().for_each(|it| self.strike(it));
            }
        }
        *self.writers[way].lock().unwrap() = None;
    }
}

impl Relay {
    /// Waits for a client of ssh; an agent is started behind it, whose results are kept in `there`. A controller that pauses
    /// does so for `pause`.
    pub fn start(
        folder: &Path,
        there: &Path,
        plan: (Kill, Phase),
        pause: Duration,
        controller: OnceLock<u32>,
    ) -> Self {
        let at = |name: &str| folder.join(name);
        let (up, down, script) = (at("up"), at("down"), at("relay.sh"));
        for fifo in [&up, &down] {
            let _ = std::fs::remove_file(fifo);
            let made = Command::new("mkfifo").arg(fifo).status().unwrap();
            assert!(made.success());
        }
        // The second one is the process that the controller has started.
        let text = format!("cat {} &\nexec cat > {}\n", down.display(), up.display());
        std::fs::write(&script, text).unwrap();
        let shared = Arc::new(Shared {
            plan,
            pause,
            struck: Mutex::new(None),
            gates: Mutex::new([Gate::Open; 2]),
            changed: Condvar::new(),
            controller,
            agent: OnceLock::new(),
            writers: [Mutex::new(None), Mutex::new(None)],
        });
        let child = Arc::new(Mutex::new(None));
        let (it, child_of, there) = (Arc::clone(&shared), Arc::clone(&child), there.to_owned());
        std::thread::spawn(move || relay(&it, &child_of, (&up, &down), &there));
        let ssh = format!("sh {}", script.display());
        Self { shared, child, ssh }
    }

    /// Who controls.
    pub fn of(&self, controller: u32) {
        self.shared.controller.set(controller).unwrap();
    }

    /// Since when it has happened.
    pub fn struck(&self) -> Option<Instant> {
        *self.shared.struck.lock().unwrap()
    }

    /// Whether the agent has ended by itself until then.
    pub fn has_ended(&self, until: Instant) -> bool {
        loop {
            let mut child = self.child.lock().unwrap();
            if let Some(Ok(Some(_))) = child.as_mut().map(Child::try_wait) {
                return true;
            }
            drop(child);
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.shared.close();
        self.shared.hold([Gate::Open; 2]);
    }
}

fn relay(
    shared: &Arc<Shared>,
    child: &Mutex<Option<Child>>,
    (up, down): (&PathBuf, &PathBuf),
    there: &Path,
) {
    let down = File::options().write(true).open(down).unwrap();
    let up = File::open(up).unwrap();
    let mut agent = Command::new(env!("CARGO_BIN_EXE_uaperf"))
        .args(["agent", "--pipe"])
        .env("UAPERF_PKI", there.join("pki"))
        .env("XDG_STATE_HOME", there)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    *shared.writers[TO_AGENT].lock().unwrap() = Some(Box::new(agent.stdin.take().unwrap()));
    *shared.writers[FROM_AGENT].lock().unwrap() = Some(Box::new(down));
    let from = agent.stdout.take().unwrap();
    shared.agent.set(agent.id()).unwrap();
    *child.lock().unwrap() = Some(agent);
    let it = Arc::clone(shared);
    std::thread::spawn(move || {
        it.pass(FROM_AGENT, from, |message: &FromAgent| match message {
            FromAgent::Hello(_) => (Some(Phase::Hello), None, None),
            FromAgent::Progress(_) => (None, None, Some(Phase::Running)),
            FromAgent::Results { .. } => (Some(Phase::Ending), Some(Phase::Results), None),
            _ => (None, None, None),
        });
    });
    shared.pass(TO_AGENT, up, |message: &ToAgent| match message {
        ToAgent::Share(_) => (Some(Phase::Plan), None, Some(Phase::Ready)),
        ToAgent::Start { .. } => (Some(Phase::Barrier), None, None),
        ToAgent::Taken => (Some(Phase::Taken), None, None),
        _ => (None, None, None),
    });
}
