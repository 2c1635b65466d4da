//! Subscriptions: from a publishing interval that is over to a message that has come.

use super::set_up::values;
use super::{DOWN, Engine, UP};
use crate::event::What;
use crate::session::{Message, SessionState};
use crate::world::Publishing;

impl Engine<'_> {
    /// The newest value that was sampled by now: when it changed.
    #[inline]
    fn fresh(&self, session: usize, it: &Publishing) -> u64 {
        let node = &self.nodes[self.sessions[session].node as usize];
        // Sampling that is as slow as publishing happens when there is a publishing.
        let sampled = match it.sampling == it.every {
            true => self.now,
            false => self.now - self.now % it.sampling,
        };
        match sampled.checked_sub(node.update_phase) {
            Some(since) => sampled - since % it.change,
            None => 0,
        }
    }

    /// A publishing interval is over.
    #[inline]
    pub(super) fn publishing_due(&mut self, at: usize, life: u16) {
        let session = &self.sessions[at];
        if session.life != life || !session.is_alive {
            return;
        }
        let kind = self.kind(at);
        let Some(it) = &kind.publishing else { return };
        let fresh = self.fresh(at, it);
        let now = self.now;
        self.plan(it.every, What::Publish, life, at);
        let session = &mut self.sessions[at];
        if fresh < session.told {
            return;
        }
        if session.works {
            // Its last message is not made yet: this interval has none of its own.
            self.recorder(at).totals.skipped += 1;
            return;
        }
        if session.waits {
            // Part 4, 5.14.1.2: a subscription whose client does not ask ends with its lifetime.
            if now - session.waits_since > it.lifetime {
                self.end_subscription(at);
            } else {
                // Queues of one keep the newest value.
                (session.due, session.fresh) = (now, fresh);
            }
            return;
        }
        (session.due, session.fresh) = (now, fresh);
        self.begin_message(at, it);
    }

    /// Makes a message, if there is a Publish request to answer.
    #[inline]
    fn begin_message(&mut self, at: usize, it: &Publishing) {
        let now = self.now;
        let session = &mut self.sessions[at];
        match session.tokens.first() {
            Some(there) if there <= now => {
                session.tokens.pop();
                session.works = true;
                session.waits = false;
                session.told = session.fresh + 1;
                let (node, life) = (session.node as usize, session.life);
                let done = self.work(node, it.cost);
                self.plan_at(done, What::Published, life, at);
            }
            next => {
                if !std::mem::replace(&mut session.waits, true) {
                    session.waits_since = now;
                    self.recorder(at).totals.waited += 1;
                }
                if let Some(there) = next {
                    let epoch = self.sessions[at].epoch;
                    self.plan_at(there, What::Token, epoch, at);
                }
            }
        }
    }

    /// A Publish request has come that was waited for.
    pub(super) fn token(&mut self, at: usize, epoch: u16) {
        let session = &self.sessions[at];
        if session.epoch != epoch || !session.waits || session.works || !session.is_alive {
            return;
        }
        if session.tokens.first().is_none_or(|it| it > self.now) {
            return;
        }
        if let Some(it) = &self.kind(at).publishing {
            self.begin_message(at, it);
        }
    }

    /// A message is made, and sent.
    #[inline]
    pub(super) fn published(&mut self, at: usize, life: u16) {
        let session = &mut self.sessions[at];
        if session.life != life || !session.is_alive {
            return;
        }
        session.works = false;
        let message = Message {
            due: session.due,
            fresh: session.fresh,
            sent: self.now,
        };
        if session.state != SessionState::Connected {
            // It stays with the server, which tells it again when it is asked (Part 4, 5.14.1.1).
            self.keep(at, message);
            return;
        }
        let bytes = self.message_bytes(at);
        self.send(at, message, bytes);
    }

    fn message_bytes(&self, at: usize) -> u64 {
        let client = self.sessions[at].number;
        self.kind(at).publishing.as_ref().map_or(0, |it| {
            let values = values(&it.values, client);
            u64::from(it.head_bytes) + u64::from(it.value_bytes) * u64::from(values)
        })
    }

    #[inline]
    fn send(&mut self, at: usize, message: Message, bytes: u64) {
        if let Some(stall) = &mut self.sessions[at].stall {
            stall.messages.push_back((message, bytes));
            return;
        }
        match self.carry(at, DOWN, bytes, 0) {
            Ok(arrives) => self.under_way(at, message, arrives),
            Err(lost) => {
                let mut stall = Box::<crate::session::Stall>::default();
                stall.messages.push_back((message, lost.bytes));
                let session = &mut self.sessions[at];
                session.stall = Some(stall);
                let epoch = session.epoch;
                self.plan_at(lost.again, What::AgainDown, epoch, at);
                self.watch(at);
            }
        }
    }

    #[inline]
    fn under_way(&mut self, at: usize, message: Message, arrives: u64) {
        let session = &mut self.sessions[at];
        session.under_way.push(message);
        let epoch = session.epoch;
        self.plan_at(arrives, What::Arrives, epoch, at);
    }

    /// What was lost is sent again, and then what waited behind it.
    pub(super) fn again_down(&mut self, at: usize, epoch: u16) {
        if self.sessions[at].epoch != epoch {
            return;
        }
        let Some(mut stall) = self.sessions[at].stall.take() else {
            return;
        };
        self.recorder(at).totals.sent_again += 1;
        while let Some(&(message, bytes)) = stall.messages.front() {
            match self.carry(at, DOWN, bytes, stall.tries) {
                Ok(arrives) => {
                    stall.messages.pop_front();
                    stall.tries = 0;
                    self.under_way(at, message, arrives);
                }
                Err(lost) => {
                    stall.tries += 1;
                    stall.messages[0].1 = lost.bytes;
                    self.sessions[at].stall = Some(stall);
                    self.plan_at(lost.again, What::AgainDown, epoch, at);
                    return;
                }
            }
        }
    }

    /// A message is there.
    #[inline]
    pub(super) fn arrives(&mut self, at: usize, epoch: u16) {
        let session = &mut self.sessions[at];
        if session.epoch != epoch {
            return;
        }
        let Some(message) = session.under_way.pop() else {
            return;
        };
        self.take(at, message, false);
        let ask = self
            .kind(at)
            .publishing
            .as_ref()
            .map_or(0, |it| it.ask_bytes);
        self.ask(at, u64::from(ask), 0);
    }

    /// A client takes a message.
    #[inline]
    pub(super) fn take(&mut self, at: usize, message: Message, again: bool) {
        let Some(it) = &self.kind(at).publishing else {
            return;
        };
        let bytes = self.message_bytes(at);
        let now = self.now;
        let session = &mut self.sessions[at];
        session.last_heard = now;
        let values = values(&it.values, session.number);
        // As many intervals with news as lie between two messages should have had one.
        let every = it.every.max(it.change).max(it.sampling);
        let between = message.due.saturating_sub(session.last_due);
        let missed = ((between + every / 2) / every).saturating_sub(1);
        let missed = missed * u64::from(values);
        let was_away = std::mem::take(&mut session.was_away);
        let cycle = message.sent.saturating_sub(session.last_sent);
        let first = session.last_sent == 0;
        (session.last_due, session.last_sent) = (message.due, message.sent);
        let usual = it.every + it.sampling + it.change;
        let recorder = self.recorder(at);
        recorder.came(now, message, values, usual);
        if !first {
            recorder.cycle(now, cycle);
        }
        recorder.totals.bytes += bytes;
        recorder.ledger.received_bytes(now, bytes as u32, 1);
        match was_away {
            true => recorder.totals.missed += missed,
            false => recorder.totals.overwritten += missed,
        }
        recorder.totals.recovered += u64::from(again) * u64::from(values);
    }

    /// A client sends a Publish request.
    #[inline]
    pub(super) fn ask(&mut self, at: usize, bytes: u64, tries: u32) {
        match self.carry(at, UP, bytes, tries) {
            Ok(there) => {
                let session = &mut self.sessions[at];
                session.tokens.push(there);
                if session.waits {
                    let epoch = session.epoch;
                    self.plan_at(there, What::Token, epoch, at);
                }
            }
            Err(lost) => {
                let session = &mut self.sessions[at];
                session.lost_asks += 1;
                let epoch = session.epoch;
                if session.lost_asks == 1 {
                    self.plan_at(lost.again, What::AgainUp, epoch, at);
                    self.watch(at);
                }
            }
        }
    }

    /// Publish requests that were lost are sent again.
    pub(super) fn again_up(&mut self, at: usize, epoch: u16) {
        let session = &mut self.sessions[at];
        if session.epoch != epoch {
            return;
        }
        let lost = std::mem::take(&mut session.lost_asks);
        session.tries = session.tries.saturating_add(1);
        let tries = u32::from(session.tries);
        let ask = self
            .kind(at)
            .publishing
            .as_ref()
            .map_or(0, |it| it.ask_bytes);
        for _ in 0..lost {
            self.ask(at, u64::from(ask), tries);
        }
        if self.sessions[at].lost_asks == 0 {
            self.sessions[at].tries = 0;
        }
    }

    /// A round of a server's update loop.
    pub(super) fn update(&mut self, node: usize) {
        let kind = &self.world.kinds[self.nodes[node].kind as usize];
        let Some(it) = kind.updates else { return };
        if self.nodes[node].stopped == 0 {
            self.work(node, it.cost);
        }
        self.plan(it.every, What::Update, 0, node);
    }
}
