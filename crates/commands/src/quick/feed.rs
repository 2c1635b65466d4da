//! What other programs are told while phases run: a file that grows, and figures for those who read or take them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use load::engine::Progress;
use record::Closed;
use report::running::{Running, families};

use crate::failure::Failure;
use crate::lost;
use crate::metrics;
use crate::written;

/// What is told while it runs.
#[derive(Debug, Default, clap::Args)]
#[group(id = "feed")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// While it runs, write a line of JSON each second; a file that is there is replaced
    #[arg(long, value_name = "FILE")]
    pub live_file: Option<PathBuf>,
    #[command(flatten)]
    pub metrics: metrics::Args,
}

/// Phases that run side by side tell the same listeners.
#[derive(Debug)]
struct Feed {
    phases: Mutex<Vec<Running>>,
    /// Where a scenario stands.
    point: Mutex<Option<String>>,
    file: Option<Mutex<LiveFile>>,
}

/// The file that grows.
struct LiveFile {
    path: PathBuf,
    file: Box<dyn Write + Send>,
    /// Lines that it did not take.
    lost: u64,
}

impl std::fmt::Debug for LiveFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl LiveFile {
    /// A full disk does not stop a measurement. What is lost is reported once, when the command ends.
    fn write(&mut self, line: &str) {
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.flush());
        if let Err(error) = written {
            if self.lost == 0 {
                lost::add(written::cannot("--live-file", &self.path, &error));
            }
            self.lost += 1;
        }
    }
}

/// One for the program: the phases of a scenario come and go, who listens stays.
static FEED: OnceLock<Arc<Feed>> = OnceLock::new();

/// Between two lines of a phase.
const LINE: Duration = Duration::from_secs(1);

impl Args {
    /// Opens what was asked for. Has to be called before anything is measured.
    pub fn open(&self) -> Result<(), Failure> {
        if self.live_file.is_none() && self.metrics.is_none() {
            return Ok(());
        }
        let file = match &self.live_file {
            Some(path) => {
                let file = written::create(path)
                    .map_err(|error| written::cannot("--live-file", path, &error))?;
                Some(Mutex::new(LiveFile {
                    path: path.clone(),
                    file,
                    lost: 0,
                }))
            }
            None => None,
        };
        let feed = Arc::new(Feed {
            phases: Mutex::default(),
            point: Mutex::default(),
            file,
        });
        let told = Arc::clone(&feed);
        let all = move || {
            let phases = told.phases.lock().unwrap_or_else(PoisonError::into_inner);
            // Phases are not held up while their figures are written: a copy is.
            let phases = phases.clone();
            families(&phases)
        };
        self.metrics.open()?.begin(all, metrics::warn)?;
        // A second command in the same process would go on with the first one's.
        let _ = FEED.set(feed);
        Ok(())
    }
}

/// What is measured from now on belongs to this point of a scenario.
pub fn point(name: &str) {
    if let Some(feed) = FEED.get() {
        *feed.point.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }
}

/// What a phase did in one go, if anybody listens: a measurement of its own, with one line.
pub fn told(command: &str, phase: &str, closed: Closed) {
    let Some(mut feed_sender) = FeedSender::of(command, phase) else {
        return;
    };
    feed_sender.follow(&Progress {
        core: 0,
        ran_ns: closed.width_ns,
        closed: vec![(0, closed)],
        heard: None,
        idle_ns: 0,
        last: true,
    });
}

/// A phase that tells what it does, if anybody listens.
#[derive(Debug)]
pub struct FeedSender {
    feed: Arc<Feed>,
    at: usize,
    next: Duration,
}

impl FeedSender {
    /// For a phase of this name.
    pub fn of(command: &str, phase: &str) -> Option<Self> {
        let feed = Arc::clone(FEED.get()?);
        let mut phases = feed.phases.lock().unwrap_or_else(PoisonError::into_inner);
        let at = phases.iter().position(|it| it.is(command, phase));
        let at = at.unwrap_or_else(|| {
            phases.push(Running::new(command, phase));
            phases.len() - 1
        });
        let point = feed.point.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = phases.get_mut(at) {
            it.begin(point.clone());
        }
        drop((phases, point));
        Some(Self {
            feed,
            at,
            next: LINE,
        })
    }

    /// Has its phase changed by what happened; none if it has gone.
    fn phase<T>(&self, change: impl FnOnce(&mut Running) -> T) -> Option<T> {
        let phases = self.feed.phases.lock();
        let mut phases = phases.unwrap_or_else(PoisonError::into_inner);
        phases.get_mut(self.at).map(change)
    }

    /// Intervals that a core closed, and what its subscriptions brought.
    pub fn add(&self, progress: &Progress) {
        self.phase(|phase| {
            for (ledger, closed) in &progress.closed {
                phase.add(progress.core, *ledger, closed);
            }
            if let Some(heard) = &progress.heard {
                phase.hear(progress.core, heard);
            }
        });
    }

    /// The same of a load of one core, with a line when a second has passed or it is over.
    pub fn follow(&mut self, progress: &Progress) {
        let ran = Duration::from_nanos(progress.ran_ns);
        self.add(progress);
        match progress.last {
            true => self.line(ran),
            false => self.tick(ran),
        }
    }

    /// A server is attacked meanwhile: which part of that it is, and how many attacks were made so far.
    pub fn attacked(&self, part: &str, so_far: u64) {
        self.phase(|phase| phase.attacked(part, so_far));
    }

    /// Writes a line when a second has passed.
    pub fn tick(&mut self, elapsed: Duration) {
        if elapsed >= self.next {
            self.next = Duration::from_secs(elapsed.as_secs()) + LINE;
            self.line(elapsed);
        }
    }

    /// Writes a line now: the phase is over.
    pub fn line(&self, elapsed: Duration) {
        let Some(file) = &self.feed.file else { return };
        let line = self.phase(|phase| phase.line(SystemTime::now().into(), elapsed));
        let Some(line) = line else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write(&format!("{line}\n"));
    }
}
