//! Connections: how they are missed, lost, and made again.

use super::{BEGIN_TIMEOUT, DOWN, Engine, MOST_DOUBLINGS, NO_LINK, TIMEOUT, UP};
use crate::event::What;
use crate::session::{Message, SessionState, SmallQueue, WINDOW};
use crate::world::ConnectCost;
use record::Histogram;

impl Engine<'_> {
    /// Something of a session was lost: its client may miss it.
    pub(super) fn watch(&mut self, at: usize) {
        let watchdog = self.kind(at).client.watchdog;
        let session = &mut self.sessions[at];
        if session.state == SessionState::Connected
            && !std::mem::replace(&mut session.is_watched, true)
        {
            let (epoch, from) = (session.epoch, session.last_heard);
            let at_time = (from + watchdog).max(self.now);
            self.plan_at(at_time, What::Watchdog, epoch, at);
        }
    }

    /// A client has waited for as long as it does.
    pub(super) fn watchdog(&mut self, at: usize, epoch: u16) {
        let watchdog = self.kind(at).client.watchdog;
        let session = &mut self.sessions[at];
        if session.epoch != epoch || session.state != SessionState::Connected {
            return;
        }
        session.is_watched = false;
        let heard = session.last_heard;
        let node = &self.nodes[session.node as usize];
        let is_cut = node.link != NO_LINK && self.links[node.link as usize].cut > 0;
        let misses = session.stall.is_some() || session.lost_asks > 0 || node.stopped > 0;
        let is_gone = !session.is_alive;
        if self.now >= heard + watchdog && (misses || is_cut || is_gone) {
            self.lose(at);
        } else if misses || is_cut || is_gone {
            // Something has come since.
            self.watch(at);
        }
    }

    /// A client takes its connection for dead, or is told so.
    pub(super) fn lose(&mut self, at: usize) {
        let now = self.now;
        let session = &mut self.sessions[at];
        session.epoch = session.epoch.wrapping_add(1);
        session.state = SessionState::Away;
        session.away_since = session.last_heard;
        (session.attempts, session.tries, session.lost_asks) = (0, 0, 0);
        session.is_watched = false;
        session.was_away = true;
        // Its Publish requests go with it.
        session.tokens = SmallQueue::default();
        session.asked.clear();
        let mut kept = Vec::new();
        while let Some(message) = session.under_way.pop() {
            kept.push(message);
        }
        if let Some(stall) = session.stall.take() {
            kept.extend(stall.messages.into_iter().map(|it| it.0));
        }
        let (epoch, is_alive) = (session.epoch, session.is_alive);
        for message in kept {
            if is_alive {
                self.keep(at, message);
            }
        }
        self.recorder(at).totals.cut += 1;
        self.plan_at(now, What::Connect, epoch, at);
    }

    /// A server keeps a message that was not acknowledged; of too many, the last ones.
    pub(super) fn keep(&mut self, at: usize, message: Message) {
        let kept = &mut self.sessions[at].kept;
        if kept.len() == WINDOW {
            kept.remove(0);
        }
        kept.push(message);
    }

    /// A subscription is over, and what the server kept of it is gone.
    pub(super) fn end_subscription(&mut self, at: usize) {
        let session = &mut self.sessions[at];
        session.is_alive = false;
        session.life = session.life.wrapping_add(1);
        (session.works, session.waits) = (false, false);
        session.tokens = SmallQueue::default();
        session.kept = Vec::new();
    }

    /// An attempt to connect begins.
    pub(super) fn connect(&mut self, at: usize, epoch: u16) {
        let timeout = self.kind(at).client.timeout;
        let session = &mut self.sessions[at];
        if session.epoch != epoch || session.state != SessionState::Away {
            return;
        }
        session.state = SessionState::Connecting;
        (session.step, session.tries) = (0, 0);
        session.resumes = session.is_alive;
        session.attempts = session.attempts.saturating_add(1);
        self.recorder(at).totals.attempts += 1;
        self.plan(timeout, What::GiveUp, epoch, at);
        self.ask_step(at, epoch);
    }

    fn step(&self, at: usize) -> ConnectCost {
        let connect = &self.kind(at).connect;
        let session = &self.sessions[at];
        let steps = match session.resumes {
            true => &connect.resume,
            false => &connect.full,
        };
        let step = usize::from(session.step).min(steps.len() - 1);
        steps[step]
    }

    fn steps(&self, at: usize) -> usize {
        let connect = &self.kind(at).connect;
        match self.sessions[at].resumes {
            true => connect.resume.len(),
            false => connect.full.len(),
        }
    }

    fn is_trying(&self, at: usize, epoch: u16) -> bool {
        let session = &self.sessions[at];
        session.epoch == epoch && session.state == SessionState::Connecting
    }

    /// A step's request is sent.
    pub(super) fn ask_step(&mut self, at: usize, epoch: u16) {
        if !self.is_trying(at, epoch) {
            return;
        }
        let tries = u32::from(self.sessions[at].tries);
        let bytes = u64::from(self.step(at).up_bytes);
        match self.carry(at, UP, bytes, tries) {
            Ok(there) => self.plan_at(there, What::StepAsked, epoch, at),
            Err(_) => self.step_again(at, epoch),
        }
    }

    /// It was lost on the way, or found nobody.
    fn step_again(&mut self, at: usize, epoch: u16) {
        let session = &mut self.sessions[at];
        let first = match session.step {
            0 => BEGIN_TIMEOUT,
            _ => TIMEOUT,
        };
        let wait = first << u32::from(session.tries).min(MOST_DOUBLINGS);
        session.tries = session.tries.saturating_add(1);
        self.plan(wait, What::AgainStep, epoch, at);
    }

    /// A step's request is at the server.
    pub(super) fn step_asked(&mut self, at: usize, epoch: u16) {
        if !self.is_trying(at, epoch) {
            return;
        }
        let node = self.sessions[at].node as usize;
        if self.nodes[node].stopped > 0 {
            self.step_again(at, epoch);
            return;
        }
        let cost = self.step(at).cost;
        let done = self.work(node, cost);
        self.plan_at(done, What::StepDone, epoch, at);
    }

    /// A step's answer is ready. Who has given up meanwhile has cost as much.
    pub(super) fn step_done(&mut self, at: usize, epoch: u16) {
        if !self.is_trying(at, epoch) {
            return;
        }
        let tries = u32::from(self.sessions[at].tries);
        let bytes = u64::from(self.step(at).down_bytes);
        match self.carry(at, DOWN, bytes, tries) {
            Ok(there) => self.plan_at(there, What::StepTaken, epoch, at),
            Err(lost) => {
                let session = &mut self.sessions[at];
                session.tries = session.tries.saturating_add(1);
                self.plan_at(lost.again, What::StepDone, epoch, at);
            }
        }
    }

    /// A step's answer is at the client.
    pub(super) fn step_taken(&mut self, at: usize, epoch: u16) {
        if !self.is_trying(at, epoch) {
            return;
        }
        let last = usize::from(self.sessions[at].step) + 1 >= self.steps(at);
        let session = &mut self.sessions[at];
        session.tries = 0;
        if last && session.resumes && !session.is_alive {
            // The session is not there any more: a new one is made over this connection.
            session.resumes = false;
            self.ask_step(at, epoch);
        } else if last {
            self.connected(at);
        } else {
            session.step += 1;
            self.ask_step(at, epoch);
        }
    }

    fn connected(&mut self, at: usize) {
        let now = self.now;
        let kind = self.kind(at);
        let session = &mut self.sessions[at];
        session.state = SessionState::Connected;
        (session.attempts, session.tries) = (0, 0);
        let outage = now - session.away_since;
        let resumed = session.resumes;
        session.last_heard = now;
        if let Some(it) = &kind.publishing {
            let mut tokens = SmallQueue::default();
            (0..it.window).for_each(|_| tokens.push(now));
            session.tokens = tokens;
            if !resumed {
                session.life = session.life.wrapping_add(1);
                (session.is_alive, session.told) = (true, 0);
                (session.works, session.waits) = (false, false);
                session.kept = Vec::new();
                let life = session.life;
                self.plan(it.every, What::Publish, life, at);
            }
        } else {
            session.is_alive = true;
        }
        let recorder = self.recorder(at);
        recorder.outages.merge(&Histogram::of(outage, 1));
        recorder.ledger.reconnected(now, outage);
        match resumed {
            true => recorder.totals.resumed += 1,
            false => recorder.totals.renewed += 1,
        }
        if resumed {
            self.republish(at);
        }
    }

    /// What the server kept is asked for by Republish, and costs it as much as the first time. That it takes a message
    /// after the other is left out: they come together.
    fn republish(&mut self, at: usize) {
        let kept = std::mem::take(&mut self.sessions[at].kept);
        let kind = self.kind(at);
        let node = self.sessions[at].node as usize;
        for message in kept {
            if let Some(it) = &kind.publishing {
                self.work(node, it.cost);
            }
            self.take(at, message, true);
            // What was missed between them was missed while there was no connection.
            self.sessions[at].was_away = true;
        }
        let session = &self.sessions[at];
        if session.waits {
            let epoch = session.epoch;
            self.plan(0, What::Token, epoch, at);
        }
    }

    /// An attempt has taken too long.
    pub(super) fn give_up(&mut self, at: usize, epoch: u16) {
        if self.is_trying(at, epoch) {
            self.recorder(at).totals.given_up += 1;
            self.back_off(at);
        }
    }

    /// A client waits for its next attempt.
    pub(super) fn back_off(&mut self, at: usize) {
        let it = self.kind(at).client.back_off;
        let session = &mut self.sessions[at];
        session.epoch = session.epoch.wrapping_add(1);
        session.state = SessionState::Away;
        let doublings = u32::from(session.attempts.saturating_sub(1)).min(20);
        let wait = (it.first << doublings).min(it.most.max(it.first));
        let epoch = session.epoch;
        let chance = match it.jitter > 0.0 {
            true => 1.0 + it.jitter * (2.0 * self.random.above_zero() - 1.0),
            false => 1.0,
        };
        let wait = (wait as f64 * chance) as u64;
        self.plan(wait, What::Connect, epoch, at);
    }
}
