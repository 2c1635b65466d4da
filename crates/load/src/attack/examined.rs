//! Calm, attack, calm: kind after kind.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use plan::Nodes;
use plan::unit::Rate;
use record::attack::{Answer, Attacked, Attackers, Held, Seen, Sheet, Verdict};
use record::run::Figure;
use wire::types::{NodeId, ReadRequest, ReadValueId, TimestampsToReturn, VariableId, Variant};

use super::attacker::Told;
use super::good::{self, Good, SETTLING};
use super::watched::{Limits, Look, Watched};
use super::way::{Known, Way};
use super::whose::is_answer;
use super::{Kind, Schedule};
use crate::access::{AccessError, Endpoint, Session};
use crate::engine::{Control, RunError, SessionError, Target};
use crate::transport::Steps;
use crate::work::find;

/// A server that is attacked, by its owner.
#[derive(Debug)]
pub struct Victim {
    /// Who reads and subscribes.
    pub good: Good,
    /// What it offers.
    pub endpoints: Vec<Endpoint>,
    /// The nodes that good clients read.
    pub nodes: Vec<NodeId>,
    /// What is done to it.
    pub kinds: Vec<Kind>,
}

impl Victim {
    /// One whose good client reads these nodes so often.
    pub fn new(
        target: Arc<Target>,
        nodes: &Nodes,
        rate: Rate,
        kinds: Vec<Kind>,
    ) -> Result<Self, SessionError> {
        let timeout = target.access.timeout;
        let endpoints = target.access.offers()?;
        let mut session = target.access.open(&target.opening, &mut Steps::new())?;
        let found = find::nodes(nodes, &target.about.namespaces, &mut session);
        session.leave();
        Ok(Self {
            nodes: found?,
            good: Good::new(target, nodes, rate, timeout)?,
            endpoints,
            kinds,
        })
    }

    /// Tries for so long to come in; why that did not succeed.
    fn come_in(&self, patience: Duration, control: &Control) -> Result<(), AccessError> {
        let target = &self.good.target;
        let began = Instant::now();
        loop {
            match target.access.open(&target.opening, &mut Steps::new()) {
                Ok(session) => {
                    session.leave();
                    return Ok(());
                }
                Err(error) if control.is_stopped() || began.elapsed() > patience => {
                    return Err(error);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

/// Who looks on, and who is told how far it is.
#[allow(missing_debug_implementations)]
pub struct Around<'a> {
    /// Looks at the server's process.
    pub look: &'a mut dyn FnMut() -> Look,
    /// CPU that this thread has taken so far.
    pub own_cpu: &'a (dyn Fn() -> Option<Duration> + Sync),
    /// Why the generator was the limit, if it was.
    pub limits: &'a Limits<'a>,
    /// Told what is done now.
    pub progress: &'a dyn Fn(&str),
    /// Ends it, with what there is.
    pub control: &'a Control,
}

/// Between two looks at the server's process.
const LOOKS: Duration = Duration::from_millis(100);
/// So many in a row that find nobody there, over so much time: the server is gone.
const NOBODY: u32 = 20;
const NOBODY_FOR: Duration = Duration::from_secs(1);
/// A server that gives no session for so long after an attack has not survived it.
const PATIENCE: Duration = Duration::from_secs(5);
/// One that has no session to give is given so long before the next attack.
const RECOVERY: Duration = Duration::from_secs(30);

/// Attacks a server in all these ways, and writes down in the sheet what came of it. The sheet says how.
pub fn examine(
    victim: &Victim,
    sheet: &mut Sheet,
    around: &mut Around<'_>,
) -> Result<(), RunError> {
    let target = &victim.good.target;
    let session = target.access.open(&target.opening, &mut Steps::new());
    let address = match session {
        Ok(session) => {
            let address = session.link().address();
            session.leave();
            address
        }
        Err(error) => {
            return Err(RunError::NoSession {
                url: sheet.url.clone(),
                error: Box::new(error.into()),
            });
        }
    };
    let known = Known {
        access: &target.access,
        about: &target.about,
        endpoints: &victim.endpoints,
        address,
        nodes: &victim.nodes,
        open: usize::try_from(sheet.asked.open).unwrap_or(usize::MAX),
        attackers: sheet.asked.clients.max(1) as usize,
    };
    for (n, &kind) in victim.kinds.iter().enumerate() {
        if around.control.is_stopped() {
            break;
        }
        let place = format!("{kind} ({} of {})", n + 1, victim.kinds.len());
        let mut attacked = Attacked {
            kind: kind.name().to_owned(),
            what: kind.what().to_owned(),
            not_tried: None,
            seen: None,
            verdict: Verdict::NotTried,
            evidence: Vec::new(),
        };
        match Way::of(kind, &known) {
            Ok(way) => {
                let measured = Bench {
                    victim,
                    way: &way,
                    asked: &sheet.asked,
                }
                .measure(&place, around);
                let seen = match measured {
                    Ok(seen) => seen,
                    Err(error) => {
                        attacked.not_tried = Some(error.to_string());
                        sheet.kinds.push(attacked);
                        match is_refusal(&error) {
                            true => continue,
                            false => return Err(error),
                        }
                    }
                };
                sheet.gone = seen.died.clone();
                if seen.turned_away.is_some() {
                    (around.progress)(&format!("{place}: it is waited for a session"));
                    // Where there is none the next kind says so.
                    let _ = victim.come_in(RECOVERY, around.control);
                }
                attacked.seen = Some(seen);
            }
            Err(why) => {
                (around.progress)(&format!("{place}: not tried: {why}"));
                attacked.not_tried = Some(why);
            }
        }
        sheet.kinds.push(attacked);
        if sheet.gone.is_some() {
            break;
        }
    }
    sheet.interrupted = around.control.is_stopped();
    Ok(())
}

/// Whether the server answered, and gave the good client no session.
fn is_refusal(error: &RunError) -> bool {
    match error {
        RunError::NoSession { error, .. } => {
            matches!(&**error, SessionError::Access(error) if is_answer(error))
        }
        _ => false,
    }
}

/// One kind.
struct Bench<'a> {
    victim: &'a Victim,
    way: &'a Way,
    asked: &'a record::attack::Asked,
}

/// What attackers were told, by variant and word.
type Answers = BTreeMap<(&'static str, String, bool), u64>;

/// What is shared by all that goes on at once.
struct Going {
    control: Control,
    nobody: AtomicBool,
    over: AtomicBool,
    /// When the good client began, as soon as that is known.
    began: OnceLock<Instant>,
    answers: Mutex<Answers>,
    /// Attacks that were not made, by what this machine had no more of.
    lacks: Mutex<BTreeMap<&'static str, u64>>,
    cpu: Mutex<Option<Duration>>,
}

impl Going {
    fn goes_on(&self) -> bool {
        !(self.control.is_over() || self.over.load(Ordering::Relaxed))
    }

    fn limits(&self) -> Vec<String> {
        let lacks = self.lacks.lock();
        let lacks = lacks.unwrap_or_else(PoisonError::into_inner);
        let each = lacks.iter();
        each.map(|(lack, n)| format!("{n} attacks were not made: {lack}"))
            .collect()
    }

    fn told(&self, told: Told) {
        if let Some(lack) = told.lack {
            let lacks = self.lacks.lock();
            let mut lacks = lacks.unwrap_or_else(PoisonError::into_inner);
            *lacks.entry(lack).or_default() += 1;
            return;
        }
        let answers = self.answers.lock();
        let mut answers = answers.unwrap_or_else(PoisonError::into_inner);
        let key = (told.variant, told.told, told.refused);
        *answers.entry(key).or_default() += 1;
    }
}

impl Bench<'_> {
    fn step(&self) -> Duration {
        Duration::from_nanos(self.asked.step_ns)
    }

    fn measure(&self, place: &str, around: &mut Around<'_>) -> Result<Seen, RunError> {
        let good = &self.victim.good;
        let target = &good.target;
        (around.progress)(&format!("{place}: calm"));
        let sessions = self.sessions();
        let going = Going {
            control: around.control.for_measurement(),
            nobody: AtomicBool::new(false),
            over: AtomicBool::new(false),
            began: OnceLock::new(),
            answers: Mutex::default(),
            lacks: Mutex::default(),
            cpu: Mutex::new(Some(Duration::ZERO)),
        };
        let length = SETTLING + self.step() * 3;
        let own_cpu = around.own_cpu;
        let (outcome, looks, came, schedule) = std::thread::scope(|scope| {
            let (going, way) = (&going, self.way);
            let good = scope.spawn(move || {
                let outcome = good.run(length, &going.control, |progress| {
                    let ran = Duration::from_nanos(progress.ran_ns);
                    let now = Instant::now();
                    going
                        .began
                        .get_or_init(|| now.checked_sub(ran).unwrap_or(now));
                });
                going.over.store(true, Ordering::Relaxed);
                outcome
            });
            let mut looks = vec![(Instant::now(), (around.look)())];
            while going.began.get().is_none() && !good.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let Some(&began) = going.began.get() else {
                return (good.join(), looks, Ok(Vec::new()), None);
            };
            let newcomers = scope
                .spawn(|| good::come_and_go(&target.access, &target.opening, || going.goes_on()));
            let from = began + SETTLING + self.step();
            let counts = (self.asked.rate_per_s, self.asked.count);
            let schedule = scope.spawn(move || {
                attack(
                    way,
                    (from, self.step()),
                    counts,
                    self.asked.clients,
                    going,
                    own_cpu,
                )
            });
            let mut said = 0;
            while !good.is_finished() {
                std::thread::sleep(LOOKS);
                let look = (around.look)();
                looks.push((Instant::now(), look));
                if look.gone || going.nobody.load(Ordering::Relaxed) {
                    going.control.abort();
                }
                let parts = [(from, "attack"), (from + self.step(), "calm afterwards")];
                if let Some((at, what)) = parts.get(said)
                    && *at <= Instant::now()
                {
                    (around.progress)(&format!("{place}: {what}"));
                    said += 1;
                }
            }
            let outcome = good.join();
            let came = newcomers.join();
            let attackers = schedule.join();
            looks.push((Instant::now(), (around.look)()));
            (outcome, looks, came, Some(attackers))
        });
        let outcome = outcome.unwrap_or(Err(RunError::Thread))?;
        let came = came.map_err(|_| RunError::Thread)?;
        let schedule = schedule.transpose().map_err(|_| RunError::Thread)?;
        let (died, turned_away) =
            self.afterwards(&going, looks.last().is_some_and(|it| it.1.gone), around);
        let sessions = Held {
            before: sessions,
            most: Figure::missing("asked for before and afterwards only"),
            after: match &died {
                None => self.sessions(),
                Some(_) => Figure::missing("the server is gone"),
            },
        };
        let told = Watched {
            outcome: &outcome,
            looks: &looks,
            came: &came,
            step: self.step(),
        };
        let mut seen = told.seen(around.limits);
        seen.limits.extend(going.limits());
        seen.attackers = attackers(schedule, going);
        seen.sessions = sessions;
        seen.died = died;
        seen.turned_away = turned_away;
        Ok(seen)
    }

    /// Why it is taken for dead, if it is; why it gives no session, if it answers all the same.
    fn afterwards(
        &self,
        going: &Going,
        gone: bool,
        around: &Around<'_>,
    ) -> (Option<String>, Option<String>) {
        if gone {
            return (Some("its process is gone".into()), None);
        }
        let Err(why) = self.victim.come_in(PATIENCE, around.control) else {
            return (None, None);
        };
        if around.control.is_stopped() {
            // Nobody waits for it any more: what is known is what attackers found.
            let nobody = going.nobody.load(Ordering::Relaxed);
            return (nobody.then(|| why.to_string()), None);
        }
        let told = format!("no session for {PATIENCE:?} afterwards: {why}");
        match is_answer(&why) {
            true => (None, Some(told)),
            false => (Some(told), None),
        }
    }

    /// Sessions that the server counts (Part 5, 6.3.4), that of who asks left out.
    fn sessions(&self) -> Figure<u64> {
        let target = &self.victim.good.target;
        match target.access.open(&target.opening, &mut Steps::new()) {
            Ok(mut session) => {
                let count = session_count(&mut session);
                session.leave();
                count.map_or_else(Figure::missing, Figure::Known)
            }
            Err(error) => Figure::missing(error.to_string()),
        }
    }
}

fn session_count(session: &mut Session) -> Result<u64, String> {
    let node = VariableId::Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSessionCount;
    let response = session
        .call(ReadRequest {
            request_header: Default::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(vec![ReadValueId::from(NodeId::from(node))]),
        })
        .map_err(|error| error.to_string())?;
    let value = response.results.and_then(|mut all| all.pop());
    match value.and_then(|it| it.value) {
        Some(Variant::UInt32(count)) => Ok(u64::from(count).saturating_sub(1)),
        _ => Err("the server does not count its sessions".into()),
    }
}

/// What attackers were to do and did: fell due, held up, latest, and how long that took.
type Paced = (u64, u64, u64, Duration);

/// Attacks until the time or the number is over.
fn attack(
    way: &Way,
    when: (Instant, Duration),
    (rate, most): (f64, u64),
    clients: u32,
    going: &Going,
    own_cpu: &(dyn Fn() -> Option<Duration> + Sync),
) -> Paced {
    // What takes long ends when the attack does, so that the calm afterwards is one.
    let until = when.0 + when.1;
    let goes_on =
        || going.goes_on() && !going.nobody.load(Ordering::Relaxed) && Instant::now() < until;
    let schedule = Schedule::new(when, rate, most, &goes_on);
    std::thread::scope(|scope| {
        for number in 0..clients {
            let (schedule, goes_on) = (&schedule, &goes_on);
            scope.spawn(move || {
                behind_others();
                let Some(mut attacker) = way.attacker(number.into(), goes_on) else {
                    return;
                };
                let before = own_cpu();
                let mut nobody: Option<(Instant, u32)> = None;
                let mut late = Duration::ZERO;
                while let Some(n) = schedule.wait(&mut late) {
                    let told = attacker.attack(n);
                    nobody = told.nobody.then(|| match nobody {
                        Some((since, times)) => (since, times + 1),
                        None => (Instant::now(), 1),
                    });
                    going.told(told);
                    if nobody.is_some_and(|(since, times)| {
                        times >= NOBODY && since.elapsed() >= NOBODY_FOR
                    }) {
                        going.nobody.store(true, Ordering::Relaxed);
                    }
                }
                // Its sessions and connections end with it.
                drop(attacker);
                let spent = own_cpu().zip(before).map(|(now, then)| now - then);
                let cpu = going.cpu.lock();
                let mut cpu = cpu.unwrap_or_else(PoisonError::into_inner);
                *cpu = cpu.zip(spent).map(|(all, one)| all + one);
            });
        }
    });
    let took = Instant::now().saturating_duration_since(when.0);
    (
        schedule.fell_due(),
        schedule.held_up(),
        schedule.latest_ns(),
        took,
    )
}

/// On a host that is the server's as well, what attackers cost themselves is not the server's doing: they come behind the
/// good clients.
#[cfg(target_os = "linux")]
fn behind_others() {
    const BEHIND: i32 = 10;
    // Where it is not allowed they are like all others, and the result says how much they took. Of Linux it is the
    // thread's own.
    let _ = rustix::process::nice(BEHIND);
}

#[cfg(not(target_os = "linux"))]
fn behind_others() {}

fn attackers(paced: Option<Paced>, going: Going) -> Attackers {
    let answers = going.answers.into_inner();
    let answers = answers.unwrap_or_else(PoisonError::into_inner);
    let cpu = going
        .cpu
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let (planned, held_up, latest_ns, took) = paced.unwrap_or_default();
    let cores = |cpu: Duration| match took.is_zero() {
        true => Figure::missing("no attack was made"),
        false => Figure::Known(cpu.as_secs_f64() / took.as_secs_f64()),
    };
    Attackers {
        planned,
        made: answers.values().sum(),
        held_up,
        latest_ns,
        cores: cpu.map_or_else(
            || Figure::missing("the CPU of a thread is not known here"),
            cores,
        ),
        answers: answers
            .into_iter()
            .map(|((variant, told, refused), count)| Answer {
                variant: variant.to_owned(),
                told,
                refused,
                count,
            })
            .collect(),
    }
}
