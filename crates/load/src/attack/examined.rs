//! Calm, attack, calm: kind after kind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use plan::Nodes;
use plan::unit::Rate;
use record::attack::{Attacked, Held, Sheet, Stages, Verdict};
use record::run::Figure;
use wire::types::{NodeId, ReadRequest, ReadValueId, TimestampsToReturn, VariableId, Variant};

use super::Kind;
use super::attack_state::{AttackState, attack, attackers};
use super::good::{self, Good, SETTLING};
use super::watched::{Limits, Look, Watched};
use super::way::{Known, Way};
use super::whose::{is_answer, lack_for};
use crate::access::{AccessError, Endpoint, Session};
use crate::engine::{Control, Progress, RunError, SessionError, Target};
use crate::transport::Steps;
use crate::work::find;

/// A server that is attacked, by its owner.
#[derive(Debug)]
pub struct TargetServer {
    /// Who reads and subscribes.
    pub good: Good,
    /// What it offers.
    pub endpoints: Vec<Endpoint>,
    /// The nodes that good clients read.
    pub nodes: Vec<NodeId>,
    /// What is done to it.
    pub kinds: Vec<Kind>,
}

impl TargetServer {
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
pub struct Observers<'a> {
    /// Looks at the server's process.
    pub look: &'a mut dyn FnMut() -> Look,
    /// CPU that this thread has taken so far.
    pub own_cpu: &'a (dyn Fn() -> Option<Duration> + Sync),
    /// Why the generator was the limit, if it was.
    pub limits: &'a Limits<'a>,
    /// Told what is done now.
    pub progress: &'a dyn Fn(&str),
    /// Told what the good client does meanwhile, by its own thread.
    pub good: &'a (dyn Fn(Moment<'_>) + Sync),
    /// Ends it, with what there is.
    pub control: &'a Control,
}

/// What the good client tells while it runs.
#[derive(Debug)]
pub struct Moment<'a> {
    /// Which measurement it is.
    pub place: usize,
    /// What is done to the server in it.
    pub kind: Kind,
    /// Which part of it goes on: `calm`, `attack`, `calm afterwards`.
    pub part: &'static str,
    /// Attacks that were made so far.
    pub attacks: u64,
    /// What it did.
    pub progress: &'a Progress,
}

/// The parts of a measurement.
const PARTS: [&str; 3] = ["calm", "attack", "calm afterwards"];

/// Between two looks at the server's process.
const LOOKS: Duration = Duration::from_millis(100);
/// A server that gives no session for so long after an attack has not survived it.
const PATIENCE: Duration = Duration::from_secs(5);
/// One that has no session to give is given so long before the next attack.
const RECOVERY: Duration = Duration::from_secs(30);

/// Attacks a server in all these ways, and writes down in the sheet what came of it. The sheet says how.
pub fn examine(
    victim: &TargetServer,
    sheet: &mut Sheet,
    observers: &mut Observers<'_>,
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
        if observers.control.is_stopped() {
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
                    number: n,
                    kind,
                    way: &way,
                    asked: &sheet.asked,
                }
                .measure(&place, observers);
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
                    (observers.progress)(&format!("{place}: it is waited for a session"));
                    // Where there is none the next kind says so.
                    let _ = victim.come_in(RECOVERY, observers.control);
                }
                attacked.seen = Some(seen);
            }
            Err(why) => {
                (observers.progress)(&format!("{place}: not tried: {why}"));
                attacked.not_tried = Some(why);
            }
        }
        sheet.kinds.push(attacked);
        if sheet.gone.is_some() {
            break;
        }
    }
    sheet.interrupted = observers.control.is_stopped();
    Ok(())
}

/// Whether the server answered and gave the good client no session, or it is this machine that has no socket for one.
fn is_refusal(error: &RunError) -> bool {
    match error {
        RunError::NoSession { error, .. } => {
            matches!(&**error, SessionError::Access(error) if is_answer(error) || lack_for(error).is_some())
        }
        _ => false,
    }
}

/// One kind.
struct Bench<'a> {
    victim: &'a TargetServer,
    number: usize,
    kind: Kind,
    way: &'a Way,
    asked: &'a record::attack::AttackSettings,
}

impl Bench<'_> {
    fn step(&self) -> Duration {
        Duration::from_nanos(self.asked.step_ns)
    }

    /// Which part of the measurement it is, so long after it began.
    fn part(&self, ran: Duration) -> &'static str {
        let [calm, attack, afterwards] = PARTS;
        match ran.checked_sub(SETTLING + self.step()) {
            None => calm,
            Some(since) if since < self.step() => attack,
            Some(_) => afterwards,
        }
    }

    fn measure(&self, place: &str, observers: &mut Observers<'_>) -> Result<Stages, RunError> {
        let good = &self.victim.good;
        let target = &good.target;
        let [calm, attacked, afterwards] = PARTS;
        (observers.progress)(&format!("{place}: {calm}"));
        let sessions = self.sessions();
        let state = AttackState::new(observers.control.for_measurement());
        let length = SETTLING + self.step() * 3;
        let (own_cpu, told) = (observers.own_cpu, observers.good);
        let (outcome, looks, came, schedule) = std::thread::scope(|scope| {
            let (state, way) = (&state, self.way);
            let good = scope.spawn(move || {
                let outcome = good.run(length, &state.control, |progress| {
                    let ran = Duration::from_nanos(progress.ran_ns);
                    let now = Instant::now();
                    state
                        .began
                        .get_or_init(|| now.checked_sub(ran).unwrap_or(now));
                    told(Moment {
                        place: self.number,
                        kind: self.kind,
                        part: self.part(ran),
                        attacks: state.made(),
                        progress: &progress,
                    });
                });
                state.over.store(true, Ordering::Relaxed);
                outcome
            });
            let mut looks = vec![(Instant::now(), (observers.look)())];
            while state.began.get().is_none() && !good.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let Some(&began) = state.began.get() else {
                return (good.join(), looks, Ok(Vec::new()), None);
            };
            let newcomers = scope
                .spawn(|| good::come_and_go(&target.access, &target.opening, || state.goes_on()));
            let from = began + SETTLING + self.step();
            let counts = (self.asked.rate_per_s, self.asked.count);
            let schedule = scope.spawn(move || {
                attack(
                    way,
                    (from, self.step()),
                    counts,
                    self.asked.clients,
                    state,
                    own_cpu,
                )
            });
            let mut said = 0;
            while !good.is_finished() {
                std::thread::sleep(LOOKS);
                let look = (observers.look)();
                looks.push((Instant::now(), look));
                if look.gone || state.nobody.load(Ordering::Relaxed) {
                    state.control.abort();
                }
                let parts = [(from, attacked), (from + self.step(), afterwards)];
                if let Some((at, what)) = parts.get(said)
                    && *at <= Instant::now()
                {
                    (observers.progress)(&format!("{place}: {what}"));
                    said += 1;
                }
            }
            let outcome = good.join();
            let came = newcomers.join();
            let attackers = schedule.join();
            looks.push((Instant::now(), (observers.look)()));
            (outcome, looks, came, Some(attackers))
        });
        let outcome = outcome.unwrap_or(Err(RunError::Thread))?;
        let came = came.map_err(|_| RunError::Thread)?;
        let schedule = schedule.transpose().map_err(|_| RunError::Thread)?;
        let (died, turned_away) =
            self.afterwards(&state, looks.last().is_some_and(|it| it.1.gone), observers);
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
        let mut seen = told.seen(observers.limits);
        seen.limits.extend(state.limits());
        seen.attackers = attackers(schedule, state);
        seen.sessions = sessions;
        seen.died = died;
        seen.turned_away = turned_away;
        Ok(seen)
    }

    /// Why it is taken for dead, if it is; why it gives no session, if it answers all the same.
    fn afterwards(
        &self,
        state: &AttackState,
        gone: bool,
        observers: &Observers<'_>,
    ) -> (Option<String>, Option<String>) {
        if gone {
            return (Some("its process is gone".into()), None);
        }
        let Err(why) = self.victim.come_in(PATIENCE, observers.control) else {
            return (None, None);
        };
        if observers.control.is_stopped() {
            // Nobody waits for it any more: what is known is what attackers found.
            let nobody = state.nobody.load(Ordering::Relaxed);
            return (nobody.then(|| why.to_string()), None);
        }
        if let Some(lack) = lack_for(&why) {
            state.lacks(lack);
            return (None, None);
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
