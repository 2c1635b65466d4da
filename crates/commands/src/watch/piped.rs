//! `uaperf watch --pipe`: looks here for somebody at the other end of standard input and output. Agents look for their
//! controllers in the same way.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use fleet::Stamp;
use fleet::frame::encode;
use observe::{Figure, NotAvailable, Process, Totals, Tree, name_of, thread_cpu};
use plan::unit::duration::nanos;

use super::process;
use crate::failure::Failure;
use crate::fleet::VERSION;
use crate::fleet::pipe::{self, stamp};
use crate::remote_watch::{CLOSEST, FromWatch, HOST, Hello, ToWatch};

/// Threads one by one are told this often: they are most of what there is to tell.
const CLOSELY: Duration = Duration::from_secs(1);
/// Who says nothing for so long is not there any more.
const SILENCE: Duration = Duration::from_secs(30);

enum Inbox {
    Message(ToWatch, Stamp),
    End,
}

/// What is looked at.
enum Subject {
    Host,
    Process(Box<Process>),
}

impl Subject {
    fn find(what: &str) -> Result<(Self, Option<(String, u32)>), String> {
        if what == HOST {
            return Ok((Self::Host, None));
        }
        let id = process(what).map_err(|error| error.to_string())?;
        let process = Process::of(id).map_err(|why| why.reason().to_owned())?;
        let name = name_of(&Tree::here(), id).unwrap_or_else(|_| id.to_string());
        Ok((Self::Process(Box::new(process)), Some((name, id))))
    }

    /// What was spent by now, or that it has ended.
    fn look(&mut self, closely: bool) -> Result<Totals, String> {
        let Self::Process(process) = self else {
            return Ok(Totals::of_host());
        };
        let (sample, tasks) = process.look();
        if let Err(why) = &sample.threads {
            return Err(why.reason().to_owned());
        }
        let tasks = match closely {
            true => tasks,
            false => Err(NotAvailable::because("found at closer looks only")),
        };
        Ok(Totals::of_process(&sample, tasks))
    }
}

/// Looks until nobody listens any more, or what is looked at has ended.
pub fn serve(what: &str) -> anyhow::Result<ExitCode> {
    let (post, letters) = channel();
    let (out, frames) = channel();
    // It ends with the process: it may stand in a read.
    std::thread::Builder::new()
        .name("listens".into())
        .spawn(move || {
            pipe::read(std::io::stdin(), |message, at| {
                let _ = post.send(Inbox::Message(message, at));
            });
            let _ = post.send(Inbox::End);
        })?;
    let writing = std::thread::Builder::new()
        .name("tells".into())
        .spawn(move || pipe::write(crate::screen::pipe(), &frames))?;
    let found = Subject::find(what);
    match found {
        Ok((subject, process)) => {
            say(&out, &FromWatch::Hello(hello(process)));
            work(subject, &letters, &out);
        }
        Err(why) => {
            say(&out, &FromWatch::Refused { why });
        }
    }
    drop(out);
    // What was said goes out.
    let _ = writing.join();
    Ok(ExitCode::SUCCESS)
}

fn say(out: &Sender<Vec<u8>>, what: &FromWatch) -> bool {
    encode(what).is_ok_and(|frame| out.send(frame).is_ok())
}

fn work(subject: Subject, letters: &Receiver<Inbox>, out: &Sender<Vec<u8>>) {
    let mut observation = Observation::at(subject);
    let (mut next, mut every) = (None::<Instant>, CLOSEST);
    let mut heard = Instant::now();
    loop {
        let now = Instant::now();
        if now.duration_since(heard) > SILENCE {
            return;
        }
        let wait = next.map_or(SILENCE, |it| it.saturating_duration_since(now));
        match letters.recv_timeout(wait.min(SILENCE)) {
            Ok(Inbox::Message(message, received)) => {
                heard = Instant::now();
                match message {
                    // Nothing is looked at for another version, which would not understand it.
                    ToWatch::Hello { version, .. } if version != VERSION => return,
                    ToWatch::Hello { every_ns, .. } => {
                        every = Duration::from_nanos(every_ns).max(CLOSEST);
                        next = Some(heard);
                    }
                    ToWatch::Clock { asked } => {
                        let sent = stamp();
                        say(
                            out,
                            &FromWatch::Clock {
                                asked,
                                received,
                                sent,
                            },
                        );
                    }
                }
            }
            Ok(Inbox::End) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let Some(due) = next.filter(|due| *due <= Instant::now()) else {
            continue;
        };
        let look = observation.look(every);
        if !say(out, &look) || matches!(look, FromWatch::Ended { .. }) {
            return;
        }
        next = Some(after(due, every));
    }
}

/// When it is looked next: looks that would come late are left out.
fn after(due: Instant, every: Duration) -> Instant {
    let mut after = due + every;
    while after <= Instant::now() {
        after += every;
    }
    after
}

/// Who looks, at what.
struct Observation {
    subject: Subject,
    /// The CPU of this thread before it looked.
    before: Figure<Duration>,
    /// When threads are told one by one again.
    closely: Instant,
}

impl Observation {
    fn at(subject: Subject) -> Self {
        Self {
            subject,
            before: thread_cpu(),
            closely: Instant::now(),
        }
    }

    /// What was spent by now, or that it has ended.
    fn look(&mut self, every: Duration) -> FromWatch {
        let close = Instant::now() >= self.closely;
        if close {
            self.closely = Instant::now() + CLOSELY.max(every);
        }
        let at = stamp();
        let totals = match self.subject.look(close) {
            Ok(totals) => Box::new(totals),
            Err(why) => return FromWatch::Ended { why },
        };
        let cost = thread_cpu().and_then(|now| Ok(now.saturating_sub(self.before.clone()?)));
        FromWatch::Look {
            at,
            totals,
            cost_ns: cost.ok().map(nanos),
        }
    }
}

/// Who looks here, and at what.
fn hello(process: Option<(String, u32)>) -> Hello {
    Hello {
        version: VERSION.to_owned(),
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        process,
        // Nothing in it has no form in JSON.
        machine: serde_json::to_vec(&observe::fingerprint()).unwrap_or_default(),
        every_ns: nanos(CLOSEST),
    }
}

/// Looks for a controller of a fleet until it is over or what is looked at has ended; with a last look.
pub fn look(
    what: &str,
    every: Duration,
    begin: &dyn Fn() -> bool,
    tell: &dyn Fn(&FromWatch),
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let (subject, process) = Subject::find(what).map_err(Failure::new)?;
    if !begin() {
        return Err(Failure::interrupted().into());
    }
    tell(&FromWatch::Hello(hello(process)));
    let every = every.max(CLOSEST);
    let mut observation = Observation::at(subject);
    let mut due = Instant::now();
    loop {
        let over = is_over();
        if over || due <= Instant::now() {
            let look = observation.look(every);
            tell(&look);
            if over || matches!(look, FromWatch::Ended { .. }) {
                return Ok(());
            }
            due = after(due, every);
        }
        let left = due.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(CLOSEST / 2));
    }
}
