//! `uaperf watch --pipe`: looks here for somebody at the other end of standard input and output.

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use fleet::Stamp;
use fleet::frame::encode;
use observe::{NotAvailable, Process, Totals, Tree, name_of, thread_cpu};
use plan::unit::duration::nanos;

use super::piped::CLOSEST;
use super::site::HOST;
use super::speech::{FromWatch, Hello, ToWatch};
use crate::fleet::VERSION;
use crate::fleet::pipe::{self, stamp};
use crate::watch::process;

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
    let hello = |process| {
        FromWatch::Hello(Hello {
            version: VERSION.to_owned(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            process,
            every_ns: nanos(CLOSEST),
        })
    };
    match found {
        Ok((subject, process)) => {
            say(&out, &hello(process));
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

fn work(mut subject: Subject, letters: &Receiver<Inbox>, out: &Sender<Vec<u8>>) {
    let before = thread_cpu();
    let (mut next, mut every) = (None::<Instant>, CLOSEST);
    let mut closely = Instant::now();
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
        let close = Instant::now() >= closely;
        if close {
            closely = Instant::now() + CLOSELY.max(every);
        }
        let at = stamp();
        let totals = match subject.look(close) {
            Ok(totals) => Box::new(totals),
            Err(why) => {
                say(out, &FromWatch::Ended { why });
                return;
            }
        };
        let cost = thread_cpu().and_then(|now| Ok(now.saturating_sub(before.clone()?)));
        let look = FromWatch::Look {
            at,
            totals,
            cost_ns: cost.ok().map(nanos),
        };
        if !say(out, &look) {
            return;
        }
        // Looks that would come late are left out.
        let mut after = due + every;
        while after <= Instant::now() {
            after += every;
        }
        next = Some(after);
    }
}
