//! Subscriptions and items as they are made and changed.

use std::ops::Range;

use super::subscription::{
    ABSENT, FLAGS, HELD, Item, KEPT, MODE, OFF, PATIENT, RESENT, Subscription, UNDATED, UNJUDGED,
};
use super::terms::Group;
use super::{
    ItemTerms, Monitoring, NotificationLedger, Seat, SetUpStep, SubscriptionTerms, WatchedValue,
};

impl NotificationLedger {
    /// A step of setting up was taken, for so many things at once. What is created while measuring is made again.
    pub fn step(&mut self, step: SetUpStep, began: u64, ended: u64, things: u32) {
        let step = match (step, self.measuring) {
            (SetUpStep::CreateSubscription, Some(_)) => SetUpStep::RecreateSubscription,
            (SetUpStep::CreateItems, Some(_)) => SetUpStep::RecreateItems,
            (step, _) => step,
        };
        if let Some(times) = self.steps.get_mut(step as usize) {
            times.add(began, ended, things);
        }
    }

    /// A subscription was created; gives its number here.
    pub fn subscription(&mut self, seat: Seat, terms: SubscriptionTerms) -> u32 {
        self.subscriptions.push(Subscription::new(seat, terms));
        (self.subscriptions.len() - 1) as u32
    }

    /// Terms of a subscription were changed.
    pub fn revised(&mut self, subscription: u32, terms: SubscriptionTerms) {
        let Some(there) = self.subscriptions.get_mut(subscription as usize) else {
            return;
        };
        there.row.terms = terms;
        there.row.keep_alive_ns = there.row.keep_alive_ns.max(terms.keep_alive_ns());
        // Neither interval tells how far this publishing is from the next.
        there.publish = 0;
        for group in &mut self.groups {
            if group.subscription == subscription {
                *group = Group::new(subscription, group.terms, terms.publishing_ns);
            }
        }
    }

    /// Client handles for items of a subscription, one after the other.
    pub fn reserve(&mut self, subscription: u32, count: u32) -> Range<u32> {
        let first = self.items.len() as u32;
        let Some(there) = self.subscriptions.get_mut(subscription as usize) else {
            return first..first;
        };
        let range = first..first.saturating_add(count);
        self.items
            .resize(range.end as usize, Item::reserved(subscription));
        match there.handles.last_mut() {
            Some(last) if last.end == first => last.end = range.end,
            _ => there.handles.push(range.clone()),
        }
        range
    }

    /// An item was created, or changed, with these revised terms. Of what happened between its last
    /// value and the next nothing is judged.
    pub fn item(&mut self, handle: u32, mut terms: ItemTerms) {
        let Some(item) = self.items.get(handle as usize) else {
            return;
        };
        let known = item.group().and_then(|at| self.groups.get(at as usize));
        let subscription = known.map_or(item.cycle, |group| group.subscription);
        let new = known.is_none();
        let origin = match &mut terms.watch {
            WatchedValue::Counter(counter) => counter.origin.take(),
            WatchedValue::Unknown | WatchedValue::Changes(_) | WatchedValue::Events(_) => None,
        };
        let group = self.group(subscription, terms);
        if let Some(item) = self.items.get_mut(handle as usize) {
            item.origin = origin.unwrap_or(UNDATED);
            item.group = (item.group & (FLAGS | MODE)) | UNJUDGED | group;
        }
        if new && let Some(there) = self.subscriptions.get_mut(subscription as usize) {
            there.row.items += 1;
        }
    }

    fn group(&mut self, subscription: u32, terms: ItemTerms) -> u32 {
        let alike = |group: &Group| group.subscription == subscription && group.terms == terms;
        let Some(there) = self.subscriptions.get_mut(subscription as usize) else {
            return ABSENT;
        };
        // Nearly all items of a subscription have the same terms.
        if self.groups.get(there.group as usize).is_some_and(alike) {
            return there.group;
        }
        let known = self.groups.iter().rposition(alike);
        let at = known.unwrap_or(self.groups.len());
        if known.is_none() {
            self.groups.push(Group::new(
                subscription,
                terms,
                there.row.terms.publishing_ns,
            ));
        }
        there.group = at as u32;
        there.group
    }

    /// An item was not created.
    pub fn item_refused(&mut self, status: u32) {
        self.status("item", status);
    }

    /// An item was deleted.
    pub fn item_deleted(&mut self, handle: u32) {
        let Some(item) = self.items.get_mut(handle as usize) else {
            return;
        };
        let group = item.group().and_then(|at| self.groups.get(at as usize));
        let Some(subscription) = group.map(|group| group.subscription) else {
            return;
        };
        *item = Item::reserved(subscription);
        if let Some(there) = self.subscriptions.get_mut(subscription as usize) {
            there.row.items = there.row.items.saturating_sub(1);
        }
    }

    /// The mode of an item was changed (Part 4, 5.13.1.3 and 5.13.4). One that only samples keeps
    /// what it sees in its queue and tells it once it reports: late, but within its queue without
    /// loss. One that is disabled forgets: nothing is promised up to the next value, which may be
    /// its last one again.
    pub fn monitored(&mut self, handle: u32, mode: Monitoring, at: u64) {
        let Some(item) = self.items.get_mut(handle as usize) else {
            return;
        };
        let was_off = item.group & OFF != 0;
        item.group &= !MODE;
        item.group |= match mode {
            Monitoring::Reporting => 0,
            Monitoring::Sampling => HELD,
            Monitoring::Disabled => HELD | OFF,
        };
        item.group |= match was_off || mode == Monitoring::Disabled {
            true => UNJUDGED | RESENT,
            false => KEPT | RESENT,
        };
        let group = item.group().and_then(|at| self.groups.get(at as usize));
        if mode == Monitoring::Reporting
            && let Some(group) = group
            && let Some(there) = self.subscriptions.get_mut(group.subscription as usize)
        {
            there.patient = Some(there.cycle.wrapping_add(PATIENT));
            there.released = there.released.max(at);
        }
    }
}
