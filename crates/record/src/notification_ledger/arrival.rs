//! How a message has come, before its values are looked at: in its turn or not, after how long, and what is
//! missing before it.

use crate::Measure;
use crate::histogram::dense::Dense;

use super::counts::{Cause, Event, Messages};
use super::numbers::{Arrival, Gap, NumberState, Numbers, after};
use super::open::{Head, Open, Way};
use super::subscription::Subscription;

/// A notification message has come by itself: its way, its publishing, and what is missing before.
pub(super) fn arrive(
    subscription: &mut Subscription,
    messages: &mut Messages,
    head: &Head,
    recovery: &mut Dense,
) -> (Way, u32, Option<Gap>) {
    let arrival = subscription.numbers.look(head.sequence);
    let gap = match arrival {
        Arrival::Next => None,
        Arrival::Ahead(gap) => {
            messages.gaps += 1;
            messages.missing_messages += u64::from(gap.count);
            subscription.miss(gap, head.at);
            Some(gap)
        }
        Arrival::Fills(at) => {
            messages.disordered += 1;
            messages.returned += 1;
            let hole = &mut subscription.numbers.holes[at];
            hole.state = NumberState::Returned;
            recovery.record(head.at.saturating_sub(hole.noticed), 1);
            return (Way::Returned, hole.cycle, None);
        }
        Arrival::Repeated => {
            let hole = subscription.numbers.hole(head.sequence);
            if let Some(hole) = hole.and_then(|at| subscription.numbers.holes.get_mut(at))
                && hole.state == NumberState::Recovered
            {
                // Republish was faster: this is the message's own copy.
                hole.state = NumberState::Returned;
                messages.republish_crossed += 1;
                messages.returned += 1;
                messages.disordered += 1;
                return (Way::Overtaken, subscription.cycle, None);
            }
            messages.repeated_messages += 1;
            return (Way::Repeated, subscription.cycle, None);
        }
        Arrival::Renumbered => {
            messages.renumbered += 1;
            subscription.numbers = Numbers::default();
            None
        }
    };
    subscription.numbers.expected = after(head.sequence);
    messages.more += u64::from(head.more);
    if subscription.more {
        messages.bursts += u64::from(!head.more);
    } else {
        subscription.cycle = subscription.cycle.wrapping_add(1);
    }
    (Way::InOrder, subscription.cycle, gap)
}

/// Republish has brought a message.
pub(super) fn recover(
    subscription: &mut Subscription,
    messages: &mut Messages,
    head: &Head,
    recovery: &mut Dense,
) -> (Way, u32, Option<Gap>) {
    let hole = subscription.numbers.hole(head.sequence);
    match hole.and_then(|at| subscription.numbers.holes.get_mut(at)) {
        Some(hole) if hole.state.is_open() => {
            hole.state = NumberState::Recovered;
            recovery.record(head.at.saturating_sub(hole.noticed), 1);
            (Way::Recovered, hole.cycle, None)
        }
        _ => {
            messages.republish_crossed += 1;
            (Way::Crossed, subscription.cycle, None)
        }
    }
}

impl Open<'_> {
    /// What the message as a whole says.
    pub(super) fn begin(&mut self) {
        let head = self.head;
        if let Some(gap) = self.gap {
            let event = Event {
                at_ns: head.at,
                seat: self.subscription.row.seat,
                item: None,
                sequence: gap.first,
            };
            self.firsts.tell(Cause::LostMessage, event);
        }
        if self.is_repeated() {
            return;
        }
        let transport = self.utc.saturating_sub(head.publish_time);
        if head.publish_time != 0 && self.way != Way::Recovered {
            let shortest = self.subscription.shortest.min(transport);
            self.subscription.shortest = shortest;
            self.late = transport - shortest > self.subscription.late_after();
        }
        if let Some((ledger, at)) = &mut self.ledger {
            self.subscription.row.messages += 1;
            if head.publish_time != 0 {
                // Clocks that differ by more than the way takes: values that come before they were are counted (`ahead`).
                let ticks = u64::try_from(transport).unwrap_or(0);
                ledger.note(*at, Measure::PublishDelay, ticks * 100, 1);
            }
        }
        if self.way == Way::InOrder {
            self.pace();
        }
    }

    /// How far this publishing is from the last.
    fn pace(&mut self) {
        let head = self.head;
        let subscription = &mut *self.subscription;
        let interval = subscription.row.terms.publishing_ns as i64;
        let before = std::mem::replace(&mut subscription.published, head.publish_time);
        if std::mem::replace(&mut subscription.more, head.more) {
            return;
        }
        if head.publish_time.saturating_sub(before).saturating_mul(100) < interval / 4 * 3 {
            subscription.short = self.cycle;
        }
        let (publish, received) = (subscription.publish, subscription.received);
        subscription.publish = head.publish_time;
        subscription.received = head.at;
        if publish == 0 || head.publish_time == 0 {
            return;
        }
        let cycle = head
            .publish_time
            .saturating_sub(publish)
            .saturating_mul(100);
        let Some((ledger, at)) = &mut self.ledger else {
            return;
        };
        let arrival = head.at.saturating_sub(received);
        subscription.row.arrivals.add(arrival as i64);
        ledger.note(*at, Measure::Arrival, arrival, 1);
        ledger.note(*at, Measure::Cycle, cycle.max(0) as u64, 1);
        if interval > 0 {
            // With nothing to tell, publishings are left out.
            let whole = ((cycle + interval / 2) / interval).max(1) * interval;
            let off = cycle - whole;
            subscription.row.jitter.add(off);
            ledger.note(*at, Measure::Jitter, off.unsigned_abs(), 1);
        }
    }
}
