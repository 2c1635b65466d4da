//! Connections, renewals and Reads over each policy and mode, in turn.

use std::time::{Duration, Instant};

use plan::unit::duration::nanos;
use record::run::Figure;
use record::security::{self, Range, Size, Spread, Way};
use wire::channel::Protection;
use wire::service::{Limits, Request, Response};
use wire::types::{
    NodeId, ReadRequest, ReadResponse, ReadValueId, StatusCode, TimestampsToReturn, UserTokenType,
};

use super::handshakes::SeenHandshakes;
use super::spent::{Spent, since};
use super::{Done, Observers, Settings, done};
use crate::access::{Access, Credentials, Opening, Session, user_kind};
use crate::transport::{CallError, Steps, TransportStep};

/// Fewer Reads of a size in a round say nothing of it.
const FEWEST: usize = 10;
/// Renewals in a round.
const RENEWALS: usize = 3;

/// What was seen of a policy and mode.
pub(super) struct Measured {
    protection: Protection,
    users: Vec<SeenUser>,
    failed: Option<String>,
    steps: Vec<(TransportStep, Duration)>,
    connects: Vec<u64>,
    connect_cpu: Spent,
    handshakes: SeenHandshakes,
    renewals: Vec<u64>,
    sizes: Vec<SeenSize>,
}

/// A kind of user that it takes.
struct SeenUser {
    kind: UserTokenType,
    in_the_clear: bool,
    /// How to come in as one, or why that is not tried.
    way: Result<(Access, Opening), String>,
    activations: Vec<u64>,
}

/// Reads of so many values.
struct SeenSize {
    values: u32,
    times: Vec<u64>,
    /// By round.
    medians: Vec<Option<u64>>,
    requests: u64,
    sent: u64,
    received: u64,
    cpu: Spent,
}

impl Measured {
    /// Nothing yet; finds out how to come in as which user.
    pub(super) fn new(
        access: Access,
        protection: Protection,
        kinds: Vec<(UserTokenType, bool)>,
        settings: &Settings,
        observers: &Observers<'_>,
    ) -> Self {
        let user = |(kind, in_the_clear)| {
            let anonymous = [Credentials::Anonymous];
            let given = settings
                .users
                .iter()
                .chain(&anonymous)
                .find(|it| it.kind() == kind);
            let way = match given {
                None => Err(format!("no {} was given", user_kind(kind))),
                Some(user) => {
                    let access = Access {
                        user: user.clone(),
                        ..access.clone()
                    };
                    let opening = access
                        .discover()
                        .map_err(|error| (observers.explain)(&error));
                    opening.map(|opening| (access, opening))
                }
            };
            SeenUser {
                kind,
                in_the_clear,
                way,
                activations: Vec::new(),
            }
        };
        let users: Vec<_> = kinds.into_iter().map(user).collect();
        let ways = || users.iter().map(|it| &it.way);
        let failed = match ways().any(Result::is_ok) {
            true => None,
            false => ways().find_map(|it| it.as_ref().err().cloned()),
        };
        Self {
            protection,
            users,
            failed,
            steps: Vec::new(),
            connects: Vec::new(),
            connect_cpu: Spent::default(),
            handshakes: SeenHandshakes::default(),
            renewals: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// All but who can come in: the warm-up is over.
    fn forget(&mut self) {
        self.steps.clear();
        self.connects.clear();
        self.connect_cpu = Spent::default();
        self.handshakes = SeenHandshakes::default();
        self.renewals.clear();
        self.sizes.clear();
        for user in &mut self.users {
            user.activations.clear();
        }
    }

    /// The first way in.
    pub(super) fn first(&self) -> Option<(&Opening, &Access)> {
        let way = self.users.iter().find_map(|it| it.way.as_ref().ok());
        way.map(|(access, opening)| (opening, access))
    }
}

/// Who measures.
pub(super) struct Bench<'a> {
    pub(super) settings: &'a Settings,
    pub(super) observers: &'a Observers<'a>,
    pub(super) node: NodeId,
    pub(super) sizes: Vec<u32>,
}

impl Bench<'_> {
    /// All rounds; whether none was cut short.
    pub(super) fn rounds(&self, all: &mut [Measured]) -> bool {
        let rounds = self.settings.rounds;
        // The first is the warm-up of both ends.
        for round in (0..=rounds).map(|it| it.checked_sub(1)) {
            // There and back: what drifts is nobody's.
            let mut order: Vec<&mut Measured> = all.iter_mut().collect();
            if round.is_some_and(|it| it % 2 == 1) {
                order.reverse();
            }
            let name = match round {
                Some(round) => format!("round {} of {rounds}", round + 1),
                None => "warm-up".to_owned(),
            };
            for way in order.into_iter().filter(|it| it.failed.is_none()) {
                if (self.observers.stopped)() {
                    return false;
                }
                (self.observers.progress)(&format!("{name}: {}", way.protection));
                if let Err(why) = self.round(way, round.unwrap_or(0) as usize) {
                    way.failed = Some(why);
                }
                if round.is_none() {
                    way.forget();
                }
            }
        }
        true
    }

    fn round(&self, way: &mut Measured, round: usize) -> Result<(), String> {
        self.connect(way)?;
        if let Some((opening, access)) = way.first() {
            let seen = super::handshakes::round(opening, access, self.settings, self.observers);
            if let Some(seen) = seen {
                (self.observers.told)(way.protection, Done::Connections, seen.done());
                way.handshakes.add(seen);
            }
        }
        let (opening, access) = way.first().ok_or("nobody can log in")?;
        let mut session = access
            .open(opening, &mut Steps::new())
            .map_err(|error| (self.observers.explain)(&error))?;
        let read = self.read(way, round, &mut session);
        let read = read.and_then(|()| renew(way, &mut session));
        session.leave();
        read.map_err(|error| error.to_string())
    }

    /// Connections, as each kind of user; the first that can log in is the one whose connections count.
    fn connect(&self, way: &mut Measured) -> Result<(), String> {
        let mut came = false;
        let told = |closed| (self.observers.told)(way.protection, Done::Connections, closed);
        for user in &mut way.users {
            let Ok((access, opening)) = &user.way else {
                continue;
            };
            let first = Instant::now();
            let (server, own) = self.clocks();
            let mut failed = None;
            let mut made = 0;
            let mut connects = Vec::new();
            for _ in 0..self.settings.connections {
                let mut steps = Steps::new();
                let began = Instant::now();
                match access.open(opening, &mut steps) {
                    Ok(session) => {
                        connects.push(nanos(began.elapsed()));
                        let _ = session.close(&mut steps);
                    }
                    Err(error) => {
                        failed = Some((self.observers.explain)(&error));
                        break;
                    }
                }
                let activation = steps
                    .iter()
                    .find(|it| it.0 == TransportStep::ActivateSession);
                user.activations.extend(activation.map(|it| nanos(it.1)));
                if !came {
                    way.steps.extend(steps);
                }
                made += 1;
            }
            let (server_end, own_end) = self.clocks();
            told(done(
                connects.clone(),
                failed.is_some().into(),
                0,
                first.elapsed(),
            ));
            if let Some(why) = failed {
                user.way = Err(why);
                continue;
            }
            if !came {
                way.connects.extend(connects);
                way.connect_cpu
                    .add(made, since(server_end, server), since(own_end, own));
            }
            came = true;
        }
        match came {
            true => Ok(()),
            false => {
                let why = way.users.iter().find_map(|it| it.way.as_ref().err());
                Err(why.cloned().unwrap_or_else(|| "nobody can log in".into()))
            }
        }
    }

    fn clocks(&self) -> (Option<Duration>, Option<Duration>) {
        ((self.observers.server_cpu)(), (self.observers.own_cpu)())
    }

    fn read(
        &self,
        way: &mut Measured,
        round: usize,
        session: &mut Session,
    ) -> Result<(), CallError> {
        for (place, &values) in self.sizes.iter().enumerate() {
            let mut encoded = self.request(values, session)?;
            // The first says whether it is answered at all, and warms up both ends.
            ask(&mut encoded, session).and_then(|body| is_good(&body, values))?;
            let carried = session.link().carried();
            let (server, own) = self.clocks();
            let began = Instant::now();
            let mut times = Vec::new();
            while began.elapsed() < self.settings.slice || times.len() < FEWEST {
                let sent = Instant::now();
                ask(&mut encoded, session)?;
                times.push(nanos(sent.elapsed()));
                if (self.observers.stopped)() {
                    break;
                }
            }
            let took = began.elapsed();
            let (server_end, own_end) = self.clocks();
            let carried_end = session.link().carried();
            if way.sizes.len() <= place {
                way.sizes.push(SeenSize {
                    values,
                    times: Vec::new(),
                    medians: vec![None; self.settings.rounds as usize],
                    requests: 0,
                    sent: 0,
                    received: 0,
                    cpu: Spent::default(),
                });
            }
            let Some(size) = way.sizes.get_mut(place) else {
                continue;
            };
            let count = times.len() as u64;
            let read = done(times.clone(), 0, count * u64::from(values), took);
            (self.observers.told)(way.protection, Done::Reads, read);
            size.requests += count;
            size.sent += carried_end.sent - carried.sent;
            size.received += carried_end.received - carried.received;
            size.cpu
                .add(count, since(server_end, server), since(own_end, own));
            let median = Spread::of(&mut times).map(|it| it.median_ns);
            if let Some(place) = size.medians.get_mut(round) {
                *place = median;
            }
            size.times.append(&mut times);
        }
        Ok(())
    }

    /// A Read of so many values, encoded; its handle stays the same, which servers give back and do nothing with.
    fn request(&self, values: u32, session: &mut Session) -> Result<Vec<u8>, CallError> {
        let node = ReadValueId::from(self.node.clone());
        let request = Request::from(ReadRequest {
            request_header: session.header(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Source,
            nodes_to_read: Some(vec![node; values as usize]),
        });
        let mut encoded = Vec::new();
        request.encode(&mut encoded)?;
        Ok(encoded)
    }
}

fn ask(encoded: &mut [u8], session: &mut Session) -> Result<Vec<u8>, CallError> {
    session.exchange(|out, _, _| out.extend_from_slice(encoded))
}

fn is_good(body: &[u8], values: u32) -> Result<(), CallError> {
    let limits = Limits::for_message_size(body.len().max(1 << 16));
    let response: ReadResponse = Response::decode(body, &limits)?.try_into()?;
    let results = response.results.unwrap_or_default();
    let bad = results
        .iter()
        .find_map(|it| it.status.filter(StatusCode::is_bad));
    let bad = bad.or((results.len() != values as usize).then_some(StatusCode::BadUnexpectedError));
    match bad {
        Some(status) => Err(CallError::Aborted(status)),
        None => Ok(()),
    }
}

fn renew(way: &mut Measured, session: &mut Session) -> Result<(), CallError> {
    // All of HTTPS is one channel, which nobody renews.
    if session.link().connection().is_shared() {
        return Ok(());
    }
    for _ in 0..RENEWALS {
        let began = Instant::now();
        session.renew()?;
        way.renewals.push(nanos(began.elapsed()));
    }
    Ok(())
}

/// What came of it, each beside the first, which is the least protected.
pub(super) fn ways(all: Vec<Measured>) -> Vec<Way> {
    let first = all.iter().find(|it| !it.sizes.is_empty());
    let plain: Vec<Vec<Option<u64>>> = first.map_or_else(Vec::new, |it| {
        it.sizes.iter().map(|size| size.medians.clone()).collect()
    });
    all.into_iter().map(|way| finished(way, &plain)).collect()
}

fn spread(mut times: Vec<u64>) -> Figure<Spread> {
    Spread::of(&mut times).map_or_else(|| Figure::missing("nothing was measured"), Figure::Known)
}

fn finished(way: Measured, plain: &[Vec<Option<u64>>]) -> Way {
    let steps = TransportStep::ALL.into_iter().filter_map(|step| {
        let of = way.steps.iter().filter(|it| it.0 == step);
        let mut times: Vec<u64> = of.map(|it| nanos(it.1)).collect();
        Some(security::SecurityStep {
            step: step.name().to_owned(),
            took: Spread::of(&mut times)?,
        })
    });
    let steps = steps.collect();
    let user = |it: SeenUser| security::User {
        kind: user_kind(it.kind).to_owned(),
        in_the_clear: it.in_the_clear,
        activation: match it.way {
            Ok(_) => spread(it.activations),
            Err(why) => Figure::missing(why),
        },
    };
    let none = Vec::new();
    let plain = plain.iter().chain(std::iter::repeat(&none));
    let sizes = way.sizes.into_iter().zip(plain);
    let sizes: Vec<Size> = sizes
        .filter_map(|(size, plain)| of_size(size, plain))
        .collect();
    Way {
        security: way.protection.to_string(),
        deprecated: way.protection.policy.is_deprecated(),
        users: way.users.into_iter().map(user).collect(),
        failed: way.failed,
        steps,
        connect: spread(way.connects),
        server_connect_cpu_ns: way.connect_cpu.server(),
        client_connect_cpu_ns: way.connect_cpu.client(),
        handshakes: way.handshakes.finished(),
        renewal: spread(way.renewals),
        sizes,
        server_cost: Figure::default(),
        client_cost: Figure::default(),
    }
}

fn of_size(mut size: SeenSize, plain: &[Option<u64>]) -> Option<Size> {
    let both = size.medians.iter().zip(plain);
    let ratio =
        |(own, plain): (&Option<u64>, &Option<u64>)| Some((*own)? as f64 / (*plain)?.max(1) as f64);
    let ratio = match Range::of(&both.filter_map(ratio).collect::<Vec<_>>()) {
        Some(ratio) => Figure::Known(ratio),
        None => Figure::missing("there is no round with both"),
    };
    Some(Size {
        values: size.values,
        requests: size.requests,
        request_bytes: size.sent / size.requests.max(1),
        response_bytes: size.received / size.requests.max(1),
        round_trip: Spread::of(&mut size.times)?,
        ratio,
        server_cpu_ns: size.cpu.server(),
        client_cpu_ns: size.cpu.client(),
    })
}
