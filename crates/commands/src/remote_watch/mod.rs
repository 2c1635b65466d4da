//! What processes and machines of other hosts spend: figures that somebody there finds, as samples on our clock.
//!
//! A [`Site`] says where. Each has a thread, which reads an exporter's page again and again ([`scrape`]) or listens to
//! `uaperf watch --pipe` at the other end of an ssh ([`piped`]) or to an agent at a broker ([`brokered`]). Samples and gaps stand in a [`SampleCourse`].

mod brokered;
mod course;
mod messages;
mod piped;
mod scrape;
mod site;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use record::run::Fingerprint;

pub use self::course::{Event, Point, SampleCourse, SamplePair};
pub use self::messages::{FromWatch, Hello, ToWatch};
pub use self::piped::CLOSEST;
pub use self::site::{HOST, Site};
use crate::failure::Failure;

/// Who is looked at, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// What it is called in results: a process with its host, or the host.
    pub name: String,
    /// Where figures come from: a page, or a host of ssh.
    pub from: String,
    /// Who finds them there, with its version.
    pub by: String,
    /// Whether it is a machine, and not a process.
    pub is_host: bool,
    /// The process there, where that is known.
    pub pid: Option<u32>,
    /// The machine there, where it was told.
    pub machine: Option<Box<Fingerprint>>,
    /// Time between two looks.
    pub every: Duration,
}

/// Somebody looks at it from now on.
#[derive(Debug)]
pub struct RemoteWatch {
    /// Who.
    pub known: Known,
    course: Arc<Mutex<SampleCourse>>,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
    /// Whoever looks has to hear that nobody wants it any more: it would wait for that.
    waits: bool,
}

/// What a thread that looks has.
struct SamplerHandle {
    course: Arc<Mutex<SampleCourse>>,
    stopped: Receiver<()>,
}

impl SamplerHandle {
    fn tell(&self, event: Event) {
        lock(&self.course).push(event);
    }

    fn gap(&self, why: String) {
        self.tell(Event::Gap {
            at: Instant::now(),
            why,
        });
    }
}

fn lock(course: &Mutex<SampleCourse>) -> MutexGuard<'_, SampleCourse> {
    course.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteWatch {
    /// Looks once, and goes on doing so; refused where that is of no use. `every` is the time between two looks.
    pub fn open(site: &Site, every: Duration) -> anyhow::Result<Self> {
        let (stop, stopped) = channel();
        let handle = SamplerHandle {
            course: Arc::default(),
            stopped,
        };
        let course = Arc::clone(&handle.course);
        let (known, thread) = match site {
            Site::Prometheus { page, name } => scrape::open(site, page, name.as_deref(), every, handle),
            Site::Ssh { way, what } => piped::open(site, way, what, every, handle),
            Site::Nats { spec, what } => brokered::open(site, spec, what, every, handle),
        }
        .map_err(|why| {
            let hint = match site {
                Site::Prometheus { .. } => "open the page in a browser: it has to be in the text format of Prometheus",
                Site::Ssh { .. } => "uaperf of the same version has to be there, and ssh to log in without a password",
                Site::Nats { .. } => "on its host: uaperf agent --nats URL --tag TAG --allow-from FILE --targets HOST --loads watch",
            };
            Failure::usage(format!("{site}: {why}")).hint(hint)
        })?;
        Ok(Self {
            known,
            course,
            stop,
            thread: Some(thread),
            waits: matches!(site, Site::Nats { .. }),
        })
    }

    /// What came since it was asked last; it is not kept.
    pub fn take(&self) -> Vec<Event> {
        lock(&self.course).take()
    }

    /// Whether nothing more comes.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it with a last look, and gives what came.
    pub fn finish(mut self) -> (Known, SampleCourse) {
        self.end();
        let course = std::mem::take(&mut *lock(&self.course));
        (self.known.clone(), course)
    }

    fn end(&mut self) {
        // Gone only if the thread has ended.
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for RemoteWatch {
    fn drop(&mut self) {
        if self.waits {
            self.end();
        }
    }
}
