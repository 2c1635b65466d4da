//! What a person sees and may do on a terminal while phases run.
//!
//! Whoever measures tells its [`Act`] what its cores told; a thread of its own draws that a few times a
//! second and reads the keys. So the generator's threads know nothing of terminals. The screen is there
//! as long as there are acts: between the phases of a scenario lines are printed as ever.

mod keys;
mod terminal;

use crate::screen;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use load::engine::{Control, Progress};
use load::pubsub::Sender;
use plan::{Arrival, Phase};
use report::watch::{self, PhaseSetup, Plan, Scene};

/// One for the program: phases come and go.
static STAGE: OnceLock<Stage> = OnceLock::new();

#[derive(Debug, Default)]
struct Stage {
    /// What is going on now, in the order in which it began.
    acts: Mutex<VecDeque<Arc<Inner>>>,
    plan: Mutex<Plan>,
    drawing: Mutex<Option<JoinHandle<()>>>,
    next: AtomicU64,
}

/// A phase on the stage; it leaves when it is dropped.
#[derive(Debug)]
pub struct Act {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    number: u64,
    scene: Mutex<Scene>,
    /// When its clock showed 0.
    began: Mutex<Option<Instant>>,
    control: Control,
    reach: Reach,
    length: Option<Duration>,
}

/// What a person may do to its load.
#[derive(Debug, Clone, Copy)]
struct Reach {
    /// Requests in flight all in all, in a closed loop.
    in_flight: Option<u64>,
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on phases are shown on the terminal, if there is one: input, output and errors.
pub fn open(plain: bool) {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal =
        std::io::stdin().is_terminal() && screen::out().is_terminal() && screen::is_drawn_on();
    if terminal && !plain && !dumb {
        // A second command in the same process would go on with the first one's.
        let _ = STAGE.set(Stage::default());
    }
}

/// Whether phases are shown.
pub fn is_open() -> bool {
    STAGE.get().is_some()
}

/// What follows stands here in all that was asked for.
pub fn plan(plan: Plan) {
    if let Some(stage) = STAGE.get() {
        *lock(&stage.plan) = plan;
    }
}

impl Act {
    /// A phase begins, if anybody is to see it.
    pub fn begin(about: PhaseSetup, phase: &Phase, control: &Control) -> Option<Self> {
        let stage = STAGE.get()?;
        let sessions = u64::from(phase.sessions) * about.targets.len() as u64;
        let inner = Arc::new(Inner {
            number: stage.next.fetch_add(1, Ordering::Relaxed),
            length: about.length,
            scene: Mutex::new(Scene::new(about)),
            began: Mutex::new(None),
            control: control.clone(),
            reach: Reach {
                in_flight: match &phase.arrival {
                    Arrival::Closed { in_flight, .. } => Some(sessions * u64::from(*in_flight)),
                    Arrival::Open(_) => None,
                },
            },
        });
        let mut acts = lock(&stage.acts);
        acts.push_back(Arc::clone(&inner));
        drop(acts);
        let mut drawing = lock(&stage.drawing);
        if drawing.is_none() {
            let thread = std::thread::Builder::new().name("screen".into());
            // Without a thread nobody sees anything, and it is measured all the same.
            *drawing = thread.spawn(|| terminal::show(stage)).ok();
        }
        Some(Self { inner })
    }

    /// A listener heard these so far.
    pub fn senders(&self, all: Vec<Sender>) {
        let rows = all.into_iter().map(|it| watch::Sender {
            name: it.name,
            how: it.how,
            messages: it.messages,
            lost: it.lost,
        });
        lock(&self.inner.scene).send(rows.collect());
    }

    /// Something happened.
    pub fn tell(&self, progress: &Progress) {
        let inner = &self.inner;
        let mut scene = lock(&inner.scene);
        for (ledger, closed) in &progress.closed {
            scene.add(progress.core, *ledger, closed);
        }
        if let Some(heard) = &progress.heard {
            scene.hear(progress.core, heard);
        }
        scene.spend(progress.core, progress.ran_ns, progress.idle_ns);
        drop(scene);
        let ran = Duration::from_nanos(progress.ran_ns);
        lock(&inner.began).get_or_insert_with(|| {
            let now = Instant::now();
            now.checked_sub(ran).unwrap_or(now)
        });
    }
}

impl Drop for Act {
    fn drop(&mut self) {
        let Some(stage) = STAGE.get() else { return };
        let mut acts = lock(&stage.acts);
        acts.retain(|it| it.number != self.inner.number);
        let empty = acts.is_empty();
        drop(acts);
        if empty && let Some(thread) = lock(&stage.drawing).take() {
            // It sees that nobody is there any more, and gives the terminal back.
            let _ = thread.join();
        }
    }
}
