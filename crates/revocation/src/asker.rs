//! Asks what judging wants to know: so many at once, each for so long, and nothing twice that is still true.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use pki::{
    Accepted, Answer, Ask, Checked, Expected, Judging, Moment, Next, Question, Refusal, Source,
    Trust,
};
use tracing::{debug, warn};

use crate::fetch::{LATE, fetch};
use crate::waited::Waited;

/// How long an authority has for its answer, if nothing else is said. A certificate that names four that do not answer is
/// judged before opening a channel takes too long.
pub const TIMEOUT: Duration = Duration::from_secs(2);
/// So many are asked at a time; whoever comes then waits.
const AT_ONCE: usize = 16;
/// An answer is not kept longer, however late a new one is due.
const KEPT: Duration = Duration::from_secs(3600);
/// Who did not answer is not asked again for so long, where answers are kept at all.
const FAILED: Duration = Duration::from_secs(10);
/// More answers are not kept.
const MOST_KEPT: usize = 1024;
/// Nor more bytes of revocation lists, as they were sent.
const MOST_BYTES: usize = 64 << 20;

/// Another OPC UA server that checks certificates: a certificate manager (Part 12, 7.9.11).
pub trait CertificateManager: std::fmt::Debug + Send + Sync {
    /// What it thinks of each of these certificates, as DER, in their order; or why that is not known. May wait until then.
    fn check(&self, certificates: &[&[u8]], until: Instant) -> Vec<Result<Checked, String>>;
}

/// Asks authorities or a certificate manager, and keeps their answers.
#[derive(Debug)]
pub struct Asker {
    timeout: Duration,
    manager: Option<Arc<dyn CertificateManager>>,
    state: Mutex<AskerState>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct AskerState {
    busy: usize,
    asked: u64,
    kept: HashMap<Question, CachedAnswer>,
}

#[derive(Debug, Clone)]
struct CachedAnswer {
    found: Found,
    until: Moment,
    bytes: usize,
}

type Found = Result<Answer, String>;

/// A certificate that is judged once some authorities have answered.
#[derive(Debug)]
pub struct Asking<'a> {
    judging: Judging<'a>,
    questions: Vec<Question>,
    source: Source,
    now: Moment,
}

impl Default for Asker {
    fn default() -> Self {
        Self::new(TIMEOUT)
    }
}

impl Asker {
    /// Gives each authority so long.
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            manager: None,
            state: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// Asks this certificate manager where one is to be asked.
    #[must_use]
    pub fn with_manager(self, manager: Arc<dyn CertificateManager>) -> Self {
        Self {
            manager: Some(manager),
            ..self
        }
    }

    /// How often an authority or the certificate manager was asked.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    fn lock(&self) -> MutexGuard<'_, AskerState> {
        // Nothing is left half done by a thread that panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges as far as that goes without asking anybody.
    pub fn begin<'a>(
        &self,
        trust: Arc<Trust>,
        sent: &[u8],
        expected: Expected<'a>,
    ) -> Result<Result<Accepted, Asking<'a>>, Refusal> {
        let mut judging = Judging::new(trust, sent, expected)?;
        loop {
            match judging.advance() {
                Next::Accepted(accepted) => return Ok(Ok(accepted)),
                Next::Refused(refusal) => return Err(refusal),
                Next::Ask(questions) => {
                    let source = expected.revocation.source;
                    let now = expected.now;
                    let kept: Vec<_> = {
                        let state = self.lock();
                        let kept = |it: &Question| state.kept(it, source, now);
                        questions.iter().map(kept).collect()
                    };
                    if kept.iter().any(Option::is_none) {
                        return Ok(Err(Asking {
                            judging,
                            questions,
                            source,
                            now,
                        }));
                    }
                    for (question, found) in questions.into_iter().zip(kept.into_iter().flatten()) {
                        judging.answer(question, found);
                    }
                }
            }
        }
    }

    /// Asks, waits and judges to the end; adds up how long it waited.
    pub fn finish(
        self: &Arc<Self>,
        asking: Asking<'_>,
        waited: &mut Waited,
    ) -> Result<Accepted, Refusal> {
        let Asking {
            mut judging,
            mut questions,
            source,
            now,
        } = asking;
        loop {
            for (question, found) in self.ask(questions, source, now, waited) {
                judging.answer(question, found);
            }
            match judging.advance() {
                Next::Accepted(accepted) => return Ok(accepted),
                Next::Refused(refusal) => return Err(refusal),
                Next::Ask(more) => questions = more,
            }
        }
    }

    /// Both at once: for whoever may wait.
    pub fn judge(
        self: &Arc<Self>,
        trust: Arc<Trust>,
        sent: &[u8],
        expected: Expected<'_>,
        waited: &mut Waited,
    ) -> Result<Accepted, Refusal> {
        match self.begin(trust, sent, expected)? {
            Ok(accepted) => Ok(accepted),
            Err(asking) => self.finish(asking, waited),
        }
    }

    /// Asks all of them at the same time; the certificate manager for all of its in one go.
    fn ask(
        self: &Arc<Self>,
        questions: Vec<Question>,
        source: Source,
        now: Moment,
        waited: &mut Waited,
    ) -> Vec<(Question, Found)> {
        let begun = Instant::now();
        let until = begun + self.timeout;
        let (send, receive) = mpsc::channel();
        let mut found: Vec<(Question, Option<Found>)> = Vec::new();
        for question in questions {
            let kept = self.lock().kept(&question, source, now);
            found.push((question, kept));
        }
        let open = found.iter().filter(|(_, found)| found.is_none());
        let open = open.map(|(question, _)| question.clone());
        let (of_manager, of_authorities): (Vec<_>, Vec<_>) =
            open.partition(|question| matches!(question.ask, Ask::Certificate(_)));
        let mut groups: Vec<_> = of_authorities.into_iter().map(|it| vec![it]).collect();
        if !of_manager.is_empty() {
            groups.push(of_manager);
        }
        let mut waiting = 0;
        let mut take = |question: &Question, answer: Found| {
            if let Some(place) = found.iter_mut().find(|it| it.0 == *question) {
                place.1 = Some(answer);
            }
        };
        for group in groups {
            match self.spawn(group.clone(), until, now, send.clone()) {
                Ok(()) => waiting += group.len(),
                Err(why) => group.iter().for_each(|it| take(it, Err(why.clone()))),
            }
        }
        // A thread that panics answers nothing, and is not waited for.
        drop(send);
        let mut last = None;
        for _ in 0..waiting {
            // A name that is not looked up in time has a thread of its own that goes on waiting.
            let left = until.saturating_duration_since(Instant::now());
            let Ok((question, answer)) = receive.recv_timeout(left) else {
                last = None;
                break;
            };
            take(&question, answer);
            last = Some(question.ask);
        }
        let unanswered = || found.iter().find(|(_, found)| found.is_none());
        if let Some(ask) = last.or_else(|| unanswered().map(|(question, _)| question.ask.clone())) {
            waited.add(&ask, begun.elapsed());
        }
        let late = |question: &Question| match question.ask {
            Ask::Certificate(_) => Err(format!("the certificate manager: {LATE}")),
            _ => Err(LATE.to_owned()),
        };
        let found = found.into_iter();
        let told = found.map(|(question, found)| {
            let found = found.unwrap_or_else(|| late(&question));
            (question, found)
        });
        told.collect()
    }

    /// Asks on a thread of its own, once there is room for one.
    fn spawn(
        self: &Arc<Self>,
        questions: Vec<Question>,
        until: Instant,
        now: Moment,
        send: mpsc::Sender<(Question, Found)>,
    ) -> Result<(), String> {
        let mut state = self.lock();
        while state.busy >= AT_ONCE {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("{AT_ONCE} are being asked and do not answer"));
            }
            let woken = self.freed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.busy += 1;
        state.asked += 1;
        drop(state);
        let asker = Arc::clone(self);
        let busy = Busy(Arc::clone(self));
        let thread = std::thread::Builder::new().name("revocation".into());
        let spawned = thread.spawn(move || {
            let begun = Instant::now();
            let answers = asker.exchange(&questions, until);
            let took = begun.elapsed();
            let mut state = asker.lock();
            for (question, (found, weight)) in questions.iter().zip(&answers) {
                let url = &question.url;
                match found {
                    Ok(_) => debug!(url, ?took, bytes = weight, "an authority answered"),
                    Err(why) => warn!(url, ?took, why, "an authority did not answer"),
                }
                state.keep(question, found, *weight, now);
            }
            drop(state);
            drop(busy);
            for (question, (found, _)) in questions.into_iter().zip(answers) {
                // Whoever asked may be gone.
                let _ = send.send((question, found));
            }
        });
        spawned.map(drop).map_err(|error| error.to_string())
    }

    /// One answer for each, and how many bytes it had.
    fn exchange(&self, questions: &[Question], until: Instant) -> Vec<(Found, usize)> {
        let certificates: Vec<&[u8]> = questions
            .iter()
            .filter_map(|question| match &question.ask {
                Ask::Certificate(der) => Some(der.as_slice()),
                _ => None,
            })
            .collect();
        if certificates.is_empty() {
            return questions.iter().map(|it| read(it, until)).collect();
        }
        let Some(manager) = &self.manager else {
            let nobody = || (Err("no certificate manager is named".to_owned()), 0);
            return questions.iter().map(|_| nobody()).collect();
        };
        let mut checked = manager.check(&certificates, until);
        let none = || Err("the certificate manager gave too few answers".to_owned());
        checked.resize_with(certificates.len(), none);
        let checked = checked.into_iter();
        checked.map(|it| (it.map(Answer::Checked), 0)).collect()
    }
}

/// One of those that are asked at a time; there is room for another one when it is dropped, however it ends.
struct Busy(Arc<Asker>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.freed.notify_one();
    }
}

/// Asks an authority over HTTP.
fn read(question: &Question, until: Instant) -> (Found, usize) {
    let bytes = fetch(question, until);
    let weight = bytes.as_ref().map_or(0, Vec::len);
    (bytes.and_then(|bytes| question.read(&bytes)), weight)
}

impl AskerState {
    /// What was answered before, where that will do.
    fn kept(&self, question: &Question, source: Source, now: Moment) -> Option<Found> {
        if !source.keeps() {
            return None;
        }
        let kept = self.kept.get(question)?;
        (now < kept.until).then(|| kept.found.clone())
    }

    fn keep(&mut self, question: &Question, found: &Found, bytes: usize, now: Moment) {
        let until = match found {
            Ok(answer) => answer.next_update().map(|due| due.min(now.plus(KEPT))),
            Err(_) => Some(now.plus(FAILED)),
        };
        let Some(until) = until else { return };
        self.kept.retain(|_, kept| now < kept.until);
        self.kept.remove(question);
        let total: usize = self.kept.values().map(|kept| kept.bytes).sum();
        // Whoever comes then is asked each time: better than to forget those that many ask for.
        if self.kept.len() < MOST_KEPT && total.saturating_add(bytes) <= MOST_BYTES {
            let kept = CachedAnswer {
                found: found.clone(),
                until,
                bytes,
            };
            self.kept.insert(question.clone(), kept);
        }
    }
}
