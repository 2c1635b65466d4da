//! What faults do to the loop and its connections. Which events they hit is with [`Faults`].
//!
//! [`Faults`]: crate::fault::Faults

use std::time::Duration;

use mio::net::TcpListener;
use tracing::warn;
use wire::server::RequestId;
use wire::service::Request;
use wire::template::walk::RequestHead;
use wire::time::Instant;

use super::link::Link;
use super::slower::Slower;
use super::{Account, Due, EventLoop, Mail, PendingRequest, Responder, SlotId};
use crate::fault::{Class, RequestFate, Tick};
use crate::service::served::Served;

/// Who stands still looks this often whether all is over.
const LISTEN: Duration = Duration::from_millis(50);
/// The operating system wakes a thread up later than it was asked to by less than this.
const OVERSLEEP: Duration = Duration::from_millis(1);
/// How long to wait for a port that somebody took meanwhile.
const LISTEN_AGAIN: Duration = Duration::from_millis(50);

/// What faults did to a loop.
#[derive(Debug, Default)]
pub struct Struck {
    /// It works longer than it has to.
    pub slower: Slower,
    /// It stands still until then, and its thread works for others.
    pub still: Option<Instant>,
    /// The faults that others were told of.
    known: u32,
}

impl EventLoop {
    /// A request has come: what faults make of it, then the answer.
    pub(super) fn arrive(&mut self, link: SlotId, id: RequestId, body: &[u8]) {
        let Ok(head) = RequestHead::parse(body) else {
            return self.decode(link, id, body);
        };
        let faults = &self.shared.faults;
        self.responder.work_recorder.came(head.type_id, faults);
        if faults.want(Class::Request) {
            let fate = faults.request(head.type_id, self.responder.now.mono);
            if fate != RequestFate::default() && !self.suffers(link, id, body, &head, fate) {
                return;
            }
        }
        self.request_of(link, id, body, &head);
    }

    /// Lets a request suffer its fate. True if it is to be answered now.
    fn suffers(
        &mut self,
        link: SlotId,
        id: RequestId,
        body: &[u8],
        head: &RequestHead<'_>,
        fate: RequestFate,
    ) -> bool {
        warn!(
            type_id = head.type_id,
            handle = head.request_handle,
            ?fate,
            "a fault rule hits a request"
        );
        if let Some(away) = fate.restart {
            self.loops.tell_all(|| Mail::Restart(away));
        }
        if let Some(time) = fate.stall {
            self.stall_all(time);
        }
        if fate.disconnect || fate.restart.is_some() {
            self.responder.connections.cut(link);
            return false;
        }
        let Some(there) = self.responder.connections.links.get_mut(link) else {
            return false;
        };
        let disturbed = there.disturbed.get_or_insert_default();
        disturbed.expect(id, &fate);
        if let Some(status) = fate.bad {
            let asked = PendingRequest {
                link,
                id,
                handle: head.request_handle,
            };
            let request = Request::decode(body, &self.shared.decoding).ok();
            let served = request.as_ref().and_then(Served::of);
            let service = served.and_then(|it| it.counted);
            let account = self.responder.account(head.authentication_token, service);
            self.responder.has_come(account);
            self.responder.fault(account, asked, status);
            return false;
        }
        // One that shares its thread stands still from its next turn on, and answers this behind that.
        match fate.until.max(self.struck.still) {
            Some(until) => {
                disturbed.keep(id, body.to_vec(), until);
                false
            }
            None => true,
        }
    }

    /// All loops stand still, this one at once.
    fn stall_all(&mut self, time: Duration) {
        let until = self.shared.clock.now().mono + time;
        self.loops.tell_others(|| Mail::Stall(until));
        self.stand_still(until);
    }

    /// Does nothing until then.
    pub(super) fn stand_still(&mut self, until: Instant) {
        if self.is_hosted() {
            // Others of its thread go on.
            self.struck.still = self.struck.still.max(Some(until));
            return;
        }
        loop {
            self.responder.now = self.shared.clock.now();
            let left = until.since(self.responder.now.mono);
            if left.is_zero() || self.shared.status.is_over() {
                return;
            }
            match left.checked_sub(OVERSLEEP) {
                Some(sleep) if !sleep.is_zero() && !self.shared.clock.is_by_hand() => {
                    std::thread::sleep(sleep.min(LISTEN));
                }
                _ => self.shared.clock.pass(until),
            }
        }
    }

    /// What a connection held back until now goes its way.
    pub(super) fn release(&mut self, id: SlotId) {
        let now = self.responder.now.mono;
        let leaves = |link: &Link| link.here.leaving.is_some();
        if self.responder.connections.links.get(id).is_some_and(leaves) {
            return;
        }
        // The connection may move with a request: what is left goes along, and is released there.
        while let Some(link) = self.responder.connections.links.get_mut(id)
            && link.here.leaving.is_none()
        {
            let released = link.release(now);
            for (request, handle, error) in released.failed {
                let asked = PendingRequest {
                    link: id,
                    id: request,
                    handle,
                };
                self.responder.not_sent(Account::NOBODY, asked, &error);
            }
            let Some((request, body)) = released.request else {
                break;
            };
            self.request(id, request, &body);
        }
        self.flush(id);
    }

    /// Something goes wrong by the clock.
    pub(super) fn fault_due(&mut self) {
        for tick in self.shared.faults.tick(self.responder.now.mono) {
            warn!(?tick, "a fault rule is due");
            match tick {
                Tick::Stall(time) => self.stall_all(time),
                Tick::Restart(away) => self.loops.tell_all(|| Mail::Restart(away)),
                Tick::Cut(id) => self.loops.tell_all(|| Mail::Cut(id)),
            }
        }
        self.responder.schedule_faults();
    }

    /// After a turn that may have changed the faults: the first loop drives those that go by the clock.
    pub(super) fn faults_changed(&mut self) {
        let known = self.shared.faults.generation();
        if std::mem::replace(&mut self.struck.known, known) != known
            && let Some(first) = self.loops.get(0_usize)
        {
            first.send(Mail::Faults);
        }
    }

    /// Loses all connections, sessions and subscriptions, and is away for a time. Values stay:
    /// they follow from the clock, or somebody wrote them.
    pub(super) fn begin_anew(&mut self, away: Duration) {
        for id in self.responder.connections.links.ids() {
            self.responder.connections.cut(id);
        }
        for id in self.responder.store.sessions.ids() {
            self.responder.end_session(id, true);
        }
        let left: Vec<u32> = self.responder.store.subscriptions.keys().copied().collect();
        for id in left {
            self.responder.store.forget_subscription(id, &self.shared);
        }
        self.responder.connections.forget_waiting();
        let back = self.responder.now.mono + away;
        if let Some(mut listener) = self.acceptor.listener.take() {
            self.acceptor.away = listener.local_addr().ok().map(|address| (address, back));
            // One that was never registered is closed all the same.
            let _ = self
                .responder
                .connections
                .poll
                .registry()
                .deregister(&mut listener);
            self.responder.store.timers.add(back, Due::Listen);
        } else if let Some((_, there)) = &mut self.acceptor.away
            && *there < back
        {
            // It was away already, and is for longer now.
            *there = back;
            self.responder.store.timers.add(back, Due::Listen);
        }
    }

    /// The server is back.
    pub(super) fn listen_again(&mut self) {
        let Some((address, back)) = self.acceptor.away else {
            return;
        };
        if self.responder.now.mono < back {
            return;
        }
        let listening = TcpListener::bind(address).and_then(|listener| self.accept(listener));
        match listening {
            Ok(()) => {
                self.acceptor.away = None;
                self.shared.status.begins(self.responder.now.utc);
            }
            Err(_) => self
                .responder
                .store
                .timers
                .add(self.responder.now.mono + LISTEN_AGAIN, Due::Listen),
        }
    }
}

impl Responder {
    /// Sees to it that what goes wrong by the clock does so in time.
    pub(super) fn schedule_faults(&mut self) {
        if let Some(at) = self.shared.faults.due(self.now.mono) {
            self.store.timers.add(at, Due::Fault);
        }
    }
}
