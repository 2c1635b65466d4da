//! The connections of a loop: their sockets in its poll, the memory that is lent to the one that has its turn, what helpers do for
//! them, and who waits for a turn. Nothing here knows of sessions.

use std::sync::Arc;

use mio::Poll;
use tracing::info;
use wire::certificate::Certificate;
use wire::job::Job;
use wire::policy::Policy;
use wire::server::RequestId;
use wire::service::Request;
use wire::time::Now;
use wire::types::ByteString;

use super::between_loops::Decoded;
use super::connection_state::{HelperTask, Turn};
use super::link::{Link, Standing};
use super::loop_memory::LoopMemory;
use super::queues::Queues;
use super::ready::Ready;
use super::{CROWD, Due, Mail, Post, SlotId, Slots, Timers, token};
use crate::pool::Pool;
use crate::refused::Who;
use crate::service::served::Served;
use crate::shared::Shared;
use crate::space::event::{Audit, Field, audit};
use crate::trust::{Judged, TrustPolicy};

/// Connections beyond the limit that are told so at the same time.
const REFUSING: usize = 64;
/// A chain of certificates that audit events tell of, in bytes.
const LONGEST: usize = 8 * 1024;

/// What a job of a session costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Next to nothing.
    Nothing,
    /// Milliseconds, for RSA or a password.
    Work,
    /// Seconds maybe: an authority is asked about a user's certificate.
    Waiting,
}

/// The connections of a loop.
pub struct Connections {
    pub links: Slots<Link>,
    /// Where their sockets are registered.
    pub poll: Poll,
    /// What the one that has its turn reads into and writes into.
    pub loop_memory: LoopMemory,
    /// Who waits for a turn.
    pub queues: Queues,
    /// Those beyond the limit that are being told so.
    refusing: usize,
    shared: Arc<Shared>,
    /// The helpers.
    pub pool: Pool,
    /// Where they put what they have found out.
    pub post: Post,
}

impl Connections {
    /// None yet.
    pub fn new(shared: Arc<Shared>, pool: Pool, poll: Poll, post: Post) -> Self {
        Self {
            links: Slots::default(),
            poll,
            loop_memory: LoopMemory::default(),
            queues: Queues::default(),
            refusing: 0,
            shared,
            pool,
            post,
        }
    }

    /// Makes a connection one of this loop's.
    pub fn keep(&mut self, mut link: Link, timers: &mut Timers) -> Option<SlotId> {
        let registry = self.poll.registry();
        let mut registered = false;
        let id = self.links.insert_with(|id| {
            registered = link.socket.register(registry, token(id)).is_ok();
            link
        });
        match registered {
            true => {
                self.schedule(id, timers);
                // What came in part before has its time from now on, whether more comes or not.
                let waits =
                    |link: &Link| link.socket.has_waiting() || link.socket.partial().is_some();
                if self.links.get(id).is_some_and(waits) {
                    self.look_again(id);
                }
                Some(id)
            }
            false => {
                self.drop_link(id);
                None
            }
        }
    }

    /// Gives a connection out of keeping. What was received and not looked at goes along.
    pub fn part_with(&mut self, id: SlotId) -> Option<Link> {
        self.take_back(id);
        let mut link = self.links.remove(id)?;
        // A socket that is not registered here is none that rings here.
        link.socket.deregister(self.poll.registry());
        Some(link)
    }

    /// Ends a connection.
    pub fn drop_link(&mut self, id: SlotId) {
        if let Some(mut link) = self.part_with(id) {
            link.connection
                .span()
                .in_scope(|| info!("connection closed"));
            if let Some(line) = link.line.take() {
                line.lost();
            }
            link.socket.close();
            match link.standing {
                Standing::Refused => self.refusing = self.refusing.saturating_sub(1),
                Standing::Nobodys | Standing::Known => self.shared.counters.connections.sub(1),
            }
        }
    }

    /// Ends a connection without a word.
    pub fn cut(&mut self, id: SlotId) {
        if let Some(link) = self.links.get_mut(id) {
            link.connection.lost();
            self.drop_link(id);
        }
    }

    /// Cuts those connections that a fault names.
    pub fn cut_some(&mut self, fault: u32, now: Now) {
        for id in self.links.ids() {
            if self.shared.faults.cuts(fault, now.mono) {
                self.cut(id);
            }
        }
    }

    /// Whether one more connection beyond the limit is told so: a few at a time are; a flood is not.
    pub fn may_refuse(&mut self) -> bool {
        let may = self.refusing < REFUSING;
        self.refusing += usize::from(may);
        may
    }

    /// Takes back the memory that was lent to a connection, if it has it still.
    pub fn take_back(&mut self, id: SlotId) {
        if self.loop_memory.is_out() {
            self.loop_memory.take_back(self.links.get_mut(id));
        }
    }

    /// Sees to it that a connection is looked at when it has to be.
    pub fn schedule(&mut self, id: SlotId, timers: &mut Timers) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        let Some(at) = link.connection.poll_timeout() else {
            return;
        };
        // One entry that is early enough will do: whoever wakes up too early sleeps again.
        if link.here.timer.is_none_or(|there| at < there) {
            link.here.timer = Some(at);
            timers.add(at, Due::Link(id));
        }
    }

    /// Sees to it that what a connection holds back goes when it is time.
    pub fn schedule_release(&mut self, id: SlotId, timers: &mut Timers) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        let Some(disturbed) = &link.disturbed else {
            return;
        };
        match disturbed.due() {
            Some(at) if link.here.release.is_none_or(|there| at < there) => {
                link.here.release = Some(at);
                timers.add(at, Due::Release(id));
            }
            None if disturbed.is_empty() => link.disturbed = None,
            _ => {}
        }
    }

    /// Whether a session was activated over it, or used.
    pub fn is_known(&self, id: SlotId) -> bool {
        self.links.get(id).is_some_and(Link::is_known)
    }

    /// Whether its channel is that of all connections over HTTPS.
    pub fn is_shared(&self, id: SlotId) -> bool {
        self.links.get(id).is_some_and(Link::is_shared)
    }

    /// There may be more to read than a connection was given time for.
    pub fn look_again(&mut self, id: SlotId) {
        match self.is_known(id) {
            true => self.queues.again.push(id),
            false => self.wait(
                id,
                Ready {
                    readable: true,
                    ..Ready::default()
                },
            ),
        }
    }

    /// Something happened on a connection without a session: it is looked at when it is its turn.
    pub fn wait(&mut self, id: SlotId, ready: Ready) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        match &mut link.here.waiting {
            Some(waiting) => {
                waiting.readable |= ready.readable;
                waiting.writable |= ready.writable;
                waiting.due |= ready.due;
            }
            waiting => {
                *waiting = Some(ready);
                self.queues.unauthenticated.look(id);
            }
        }
    }

    /// Mail to the loop `core` that is of a connection without a session waits like it.
    pub fn put_off(&mut self, mail: Mail, core: u8) -> Option<Mail> {
        let unauthenticated = match &mail {
            // Nobody is logged in on one that comes from the acceptor; over HTTPS they come from other loops, too.
            Mail::Led(led) => !led.link.is_known(),
            Mail::Dialled(_) | Mail::Secured(_) => true,
            Mail::Channel(link, _) | Mail::Judged(link, _) | Mail::Decoded(link, _) => {
                !self.is_known(*link)
            }
            Mail::Created(asked, ..) | Mail::NotActivated(asked, _) => !self.is_known(asked.link),
            Mail::Proven(caller, ..) if caller.core == core => !self.is_known(caller.asked.link),
            Mail::Proven(caller, ..) => !caller.known,
            Mail::Activate(wish) => !wish.caller.known,
            _ => false,
        };
        match unauthenticated {
            true => {
                self.queues.unauthenticated.open(mail);
                None
            }
            false => Some(mail),
        }
    }

    /// Has a connection go on when others had their turn; until then nothing of it is answered.
    pub fn write_later(&mut self, id: SlotId) {
        if let Some(link) = self.links.get_mut(id)
            && link.here.turn != Turn::Queued
        {
            link.here.turn = Turn::Queued;
            self.queues.unwritten.push_back(id);
        }
    }

    /// The next of those who have more to write than they were given time for: it is its turn.
    pub fn next_unwritten(&mut self) -> Option<SlotId> {
        while let Some(id) = self.queues.unwritten.pop_front() {
            // One that is gone or moved meanwhile takes nobody's turn.
            if let Some(link) = self.links.get_mut(id)
                && link.here.turn == Turn::Queued
            {
                link.here.turn = Turn::Paused;
                return Some(id);
            }
        }
        None
    }

    /// Whether each connection that is queued will have its turn. Of a crowd nobody is looked at: it takes too long.
    pub fn queues_hold(&self) -> bool {
        let queued = |id: &SlotId| {
            let link = self.links.get(*id);
            link.is_some_and(|link| link.here.turn == Turn::Queued)
        };
        let has_turn = |id: SlotId| self.queues.unwritten.contains(&id);
        self.links.places() > CROWD || self.links.ids().into_iter().filter(queued).all(has_turn)
    }

    /// Sends all away who wait for a turn, and those who were on their way to this loop.
    pub fn forget_waiting(&mut self) {
        self.queues.again.clear();
        self.queues.unwritten.clear();
        for mail in std::mem::take(&mut self.queues.unauthenticated).into_mail() {
            match mail {
                Mail::Led(_) => self.shared.counters.connections.sub(1),
                // It is dialled again when the server is back.
                Mail::Dialled(dialled) => dialled.line.lost(),
                _ => {}
            }
        }
    }

    /// Hands an expensive step of a channel to the pool.
    pub fn take_job(&mut self, id: SlotId) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        if let Some(job) = link.connection.poll_job() {
            link.here.busy += 1;
            let post = self.post.clone();
            self.pool
                .submit(move || post.send(Mail::Channel(id, job.run())));
        }
    }

    /// Asks whether a client may open or renew a channel: for a renewal, too, it may not be trusted any more, be
    /// revoked or have expired (Part 4, 6.1.3).
    pub fn judge(&mut self, id: SlotId, certificate: Certificate, policy: Policy, now: Now) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        let trust = &self.shared.config.trust;
        if let TrustPolicy::All = trust
            && trust
                .judge(certificate.as_bytes(), pki::Role::Client, policy)
                .is_ok()
        {
            link.connection.decide(Ok(()), now);
            return;
        }
        let (shared, post) = (Arc::clone(&self.shared), self.post.clone());
        link.here.busy += 1;
        let address = link.address();
        let pool = self.pool.clone();
        self.pool.submit(move || {
            let trust = &shared.config.trust;
            let begun = trust.begin(certificate.as_bytes(), pki::Role::Client, policy);
            let (told, named) = (Arc::clone(&shared), certificate.clone());
            let tell = move |judged| {
                if let Err(status) = judged {
                    let who = Who::Certificate(Who::common_name(named.as_bytes()));
                    told.refused.note(told.clock.now(), address, &who, status);
                    told.audit(|| {
                        let kind = audit::certificate(status);
                        // Whoever is refused sends what it likes: what is longer is not kept.
                        let sent = named.as_bytes();
                        let sent = (sent.len() <= LONGEST).then(|| ByteString::from(sent.to_vec()));
                        Audit::new(kind, told.clock.now().utc, status)
                            .with(Field::Certificate, sent.unwrap_or_else(ByteString::null))
                    });
                }
                post.send(Mail::Judged(id, judged));
            };
            match begun {
                Judged::Done(judged) => tell(judged),
                // Those who help with what takes milliseconds do not wait for an authority.
                Judged::Asks(asking) => pool.wait_for(move || {
                    let (sent, role) = (certificate.as_bytes(), pki::Role::Client);
                    tell(shared.config.trust.finish(*asking, sent, role, policy));
                }),
            }
        });
    }

    /// Millions of values in a request take a hundred milliseconds. What the connection asks next waits meanwhile.
    pub fn have_decoded(&mut self, link: SlotId, id: RequestId, body: &[u8]) {
        let Some(there) = self.links.get_mut(link) else {
            return;
        };
        there.here.helper_task = HelperTask::Decoding(body.len());
        there.here.busy += 1;
        let (shared, post) = (Arc::clone(&self.shared), self.post.clone());
        let mut body = body.to_vec();
        self.pool.submit(move || {
            let result = Request::decode(&body, &shared.decoding);
            let served = result.as_ref().ok().and_then(Served::of);
            let walked = served.is_some_and(Served::is_walked);
            if let (true, Ok(request)) = (walked, &result) {
                body.clear();
                // Nothing of it can be too much to be written again.
                let _ = request.encode(&mut body);
            }
            let result = if walked { None } else { Some(result) };
            let decoded = Decoded { id, body, result };
            post.send(Mail::Decoded(link, Box::new(decoded)));
        });
    }

    /// Runs a session's job, for a request of this connection: at once where it costs nothing, and then gives what came of it; or by
    /// helpers, and where authorities may have to be asked by those who wait for them.
    pub fn run_job<T: Send + 'static>(
        &mut self,
        link: Option<SlotId>,
        cost: Cost,
        job: Job<T>,
        mail: impl FnOnce(T) -> Mail + Send + 'static,
    ) -> Option<T> {
        if cost == Cost::Nothing {
            return Some(job.run());
        }
        // Helpers take one job after the other: with one of each connection nobody waits for another one's crowd.
        if let Some(link) = link.and_then(|link| self.links.get_mut(link)) {
            link.here.helper_task = HelperTask::Proving;
        }
        let post = self.post.clone();
        let work = move || post.send(mail(job.run()));
        match cost {
            Cost::Waiting => self.pool.wait_for(work),
            _ => self.pool.submit(work),
        }
        None
    }

    /// A helper is done with what a connection waited for.
    pub fn proved(&mut self, link: SlotId) {
        let link = self.links.get_mut(link);
        if let Some(link) = link.filter(|link| link.here.helper_task == HelperTask::Proving) {
            link.here.helper_task = HelperTask::None;
        }
    }
}
