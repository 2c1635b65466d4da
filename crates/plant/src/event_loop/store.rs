//! Who is served in a loop, apart from the connections they come by: sessions, their subscriptions, and when something is
//! due.

use std::time::Duration;

use wire::time::{Instant, Now};
use wire::types::{StatusCode, TransferResult};

use super::session_table::Sessions;
use super::{CROWD, Due, SlotId, Timers};
use crate::internals::LoopWork;
use crate::service::ServiceContext;
use crate::service::session::Session;
use crate::session::Owner;
use crate::shared::Shared;
use crate::subscription::{Subscription, Subscriptions, Tick};

/// How long a session may be there after its timeout.
const SLACK: Duration = Duration::from_millis(50);

/// Sessions, subscriptions, and when something is due.
pub struct SessionStore {
    pub sessions: Sessions,
    pub subscriptions: Subscriptions,
    pub timers: Timers,
}

/// What became of a subscription whose timer rang.
pub enum TimerOutcome {
    /// Nothing for anybody else to do.
    Quiet,
    /// There is more to do for it, after others had their turn.
    More,
    /// Its session has something to be told now.
    Tells(SlotId),
}

impl SessionStore {
    /// Of this loop; nobody is there yet.
    pub fn new(core: u8) -> Self {
        Self {
            sessions: Sessions::new(core),
            subscriptions: Subscriptions::default(),
            timers: Timers::default(),
        }
    }

    /// What a service works with; none if the session is not there.
    pub fn context<'a>(
        &'a mut self,
        shared: &'a Shared,
        id: SlotId,
        now: Now,
    ) -> Option<ServiceContext<'a>> {
        Some(ServiceContext {
            shared,
            id,
            session: self.sessions.get_mut(id)?,
            subscriptions: &mut self.subscriptions,
            timers: &mut self.timers,
            now,
        })
    }

    /// Whether what is told of sessions is what they have. Of a crowd nobody is looked at: it takes too long.
    pub fn counts_hold(&self) -> bool {
        let told = |session: &Session| session.record.publishing.get() as usize;
        let holds = |session: &Session| told(session) == session.requests.len();
        let hold = |id: SlotId| self.sessions.get(id).is_none_or(holds);
        self.sessions.places() > CROWD || self.sessions.ids().into_iter().all(hold)
    }

    /// Sees to it that a session dies when nobody uses it.
    pub fn watch(&mut self, id: SlotId) {
        let deadline = self.sessions.get(id).and_then(|s| s.protocol.deadline());
        if let Some(at) = deadline {
            // A bit later: most of those that end were used for a moment only after they had come.
            self.timers.add(at + SLACK, Due::Session(id));
        }
    }

    /// A session has its message, and does not need it any more.
    pub fn acknowledge(
        &mut self,
        session: SlotId,
        (subscription, sequence): (u32, u32),
        shared: &Shared,
        now: Now,
    ) -> StatusCode {
        let found = self.subscriptions.get_mut(&subscription);
        match found.filter(|subscription| subscription.session == Some(session)) {
            None => StatusCode::BadSubscriptionIdInvalid,
            Some(subscription) => match subscription.acknowledge(sequence, now) {
                true => {
                    shared.counters.acknowledged.add(1);
                    StatusCode::Good
                }
                false => StatusCode::BadSequenceNumberUnknown,
            },
        }
    }

    /// The subscription of a session that is served first: by priority, then the one that waited longest.
    pub fn next_waiting(&mut self, session: SlotId, now: Now) -> Option<u32> {
        let Self {
            sessions,
            subscriptions,
            timers,
        } = self;
        let held = sessions.get_mut(session)?;
        held.waiting.retain(|id| {
            let Some(subscription) = subscriptions.get_mut(id) else {
                return false;
            };
            if subscription.wants() && subscription.looks_first(now) {
                timers.follow(subscription);
            }
            subscription.wants()
        });
        let priority = |id: &u32| subscriptions.get(id).map_or(0, |s| s.terms.priority);
        let highest = held.waiting.iter().map(priority).max()?;
        let at = held.waiting.iter().position(|id| priority(id) == highest)?;
        // Behind the others of its priority, should it want more.
        let id = held.waiting.remove(at);
        held.waiting.push(id);
        Some(id)
    }

    /// A timer of a subscription rang.
    pub fn ring(
        &mut self,
        (id, at): (u32, Instant),
        shared: &Shared,
        work: &LoopWork,
        now: Now,
    ) -> TimerOutcome {
        let found = self.subscriptions.get_mut(&id);
        let Some(subscription) = found.filter(|subscription| subscription.wake == at) else {
            return TimerOutcome::Quiet;
        };
        let session = subscription.session;
        let done = if subscription.is_due(now) {
            let held = session.and_then(|session| self.sessions.get(session));
            let parked = held.map_or(0, |held| held.requests.len());
            match subscription.tick(&shared.space, now, parked > 0) {
                Tick::Expired => return self.expire(id, shared),
                Tick::Looking => false,
                Tick::Alive => {
                    work.publishing_due(subscription.queued(), parked as u64);
                    true
                }
            }
        } else {
            subscription.sample(&shared.space, now)
        };
        shared.counters.overflows.add(subscription.take_dropped());
        if !done {
            subscription.wake = now.mono;
            self.timers.add(now.mono, Due::Subscription(id));
            return TimerOutcome::More;
        }
        let wants = subscription.wants();
        self.timers.follow(subscription);
        let Some(session) = session.filter(|_| wants) else {
            return TimerOutcome::Quiet;
        };
        if let Some(held) = self.sessions.get_mut(session)
            && !held.waiting.contains(&id)
        {
            held.waiting.push(id);
        }
        TimerOutcome::Tells(session)
    }

    /// Nobody asked for what a subscription has for too long.
    fn expire(&mut self, id: u32, shared: &Shared) -> TimerOutcome {
        let session = self.subscriptions.get(&id).and_then(|s| s.session);
        self.forget_subscription(id, shared);
        let Some(session) = session else {
            return TimerOutcome::Quiet;
        };
        // Row 27 of the table in Part 4, 5.14.1.2.
        self.leave(session, id, StatusCode::BadTimeout);
        TimerOutcome::Tells(session)
    }

    /// Forgets a subscription that its session does not name any more.
    pub fn forget_subscription(&mut self, id: u32, shared: &Shared) {
        if let Some(items) = self.subscriptions.end(id) {
            shared.register.drop_subscription(id);
            let counters = &shared.counters;
            counters.subscriptions.sub(1);
            counters.items.sub(items as u64);
        }
    }

    /// A session is without a subscription from now on, and is to be told why.
    fn leave(&mut self, session: SlotId, id: u32, why: StatusCode) {
        if let Some(held) = self.sessions.get_mut(session) {
            held.subscriptions.retain(|other| *other != id);
            held.waiting.retain(|other| *other != id);
            held.endings.push_back((id, why));
        }
    }

    /// Takes a subscription out for the session `to` of this loop or one elsewhere, if its owner may have it. The session
    /// that had it is told next.
    pub fn give(
        &mut self,
        id: u32,
        to: Option<SlotId>,
        owner: &Owner,
        shared: &Shared,
    ) -> Result<(Box<Subscription>, Option<SlotId>), StatusCode> {
        let subscription = self.subscriptions.get(&id);
        let subscription = subscription.ok_or(StatusCode::BadSubscriptionIdInvalid)?;
        let record = &subscription.record;
        record.transfer_requests.bump();
        if !owner.may_take_from(&subscription.owner, shared.config.transfer) {
            return Err(StatusCode::BadUserAccessDenied);
        }
        match owner.application_uri == subscription.owner.application_uri {
            true => record.transferred_same_client.bump(),
            false => record.transferred_elsewhere.bump(),
        }
        let old = subscription.session.filter(|old| Some(*old) != to);
        let subscription = self.subscriptions.remove(&id);
        let subscription = subscription.ok_or(StatusCode::BadSubscriptionIdInvalid)?;
        if let Some(old) = old {
            self.leave(old, id, StatusCode::GoodSubscriptionTransferred);
        }
        Ok((Box::new(subscription), old))
    }

    /// Makes a subscription one of this loop, and of a session if it is still there.
    pub fn take(
        &mut self,
        mut subscription: Box<Subscription>,
        session: Option<SlotId>,
        send_initial_values: bool,
        now: Now,
    ) -> TransferResult {
        let id = subscription.id;
        let held = session.and_then(|id| Some((id, self.sessions.get_mut(id)?)));
        match held {
            Some((session, held)) => {
                subscription.join(session, held.record.number, &held.owner);
                subscription.draw_on(&held.budget);
                if !held.subscriptions.contains(&id) {
                    held.subscriptions.push(id);
                }
                if subscription.wants() && !held.waiting.contains(&id) {
                    held.waiting.push(id);
                }
            }
            // It ended while this was under way: what it has no use for, others may ask for.
            None => subscription.leave(),
        }
        subscription.touch(now);
        if send_initial_values {
            subscription.resend();
        }
        let available = subscription.available();
        self.move_in(*subscription);
        TransferResult {
            status_code: StatusCode::Good,
            available_sequence_numbers: Some(available),
        }
    }

    /// Takes in a session that comes from another loop, with its subscriptions.
    pub fn take_in(&mut self, session: Session, subscriptions: Vec<Subscription>) -> SlotId {
        let (owner, number) = (session.owner.clone(), session.record.number);
        let id = self.sessions.take_in(session);
        for mut subscription in subscriptions {
            subscription.join(id, number, &owner);
            self.move_in(subscription);
        }
        self.watch(id);
        id
    }

    fn move_in(&mut self, mut subscription: Subscription) {
        // What rang for it elsewhere does not ring here.
        subscription.wake = Instant::default();
        self.timers.follow(&mut subscription);
        self.subscriptions.insert(subscription.id, subscription);
    }

    /// Gives a session out of keeping to another loop, with its subscriptions.
    pub fn part_with(&mut self, id: SlotId) -> Option<(Session, Vec<Subscription>)> {
        let session = self.sessions.part_with(id)?;
        let numbers = session.subscriptions.iter();
        let subscriptions = numbers.filter_map(|number| self.subscriptions.remove(number));
        let subscriptions = subscriptions.collect();
        Some((session, subscriptions))
    }
}
