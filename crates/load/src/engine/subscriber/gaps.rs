//! Messages that are missing (Part 4, 5.14.6).

use std::time::Duration;

use record::receipt::{Gap, Head};
use wire::client::Connection;
use wire::template::walk::RepublishResponse;
use wire::time::{Instant, Now};
use wire::types::{RepublishRequest, StatusCode, SubscriptionAcknowledgement};

use super::message::hear;
use super::{BACKLOG, PendingRequest, Post, Subscriber, SubscriberStep};
use crate::engine::recorder::NotificationTracker;

/// Missing messages of one gap that are asked for; a longer gap is none that could be mended.
const ASKED: usize = 1000;
/// As long as this a missing message may be right behind the one that told of it: servers that publish on
/// several threads send messages in another order than they number them.
const PATIENCE: Duration = Duration::from_millis(10);

/// A message that is to be asked for, unless it comes by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    pub(super) place: u32,
    sequence: u32,
    /// When it is asked for at the latest.
    due: Instant,
    /// It is asked for once so many Publish requests have ended: if it is on its way, then as the answer to one
    /// that was waiting when it was missed.
    behind: u64,
}

/// The number behind; after the largest comes 1 (Part 4, 7.25).
pub(super) fn after(sequence: u32) -> u32 {
    sequence.checked_add(1).unwrap_or(1)
}

impl Subscriber {
    /// A message with this number has come; a keep-alive has the number of the next one.
    #[inline]
    pub(super) fn expect(&mut self, place: u32, sequence: u32, is_keep_alive: bool) {
        if let Some(subscription) = self.subscription(place) {
            let next = match is_keep_alive {
                true => sequence,
                false => after(sequence),
            };
            // What came behind others does not turn the count back, unless it began anew.
            let ahead = next.wrapping_sub(subscription.expected);
            if ahead < u32::MAX / 2 || next <= 2 {
                subscription.expected = next;
            }
        }
    }

    /// Messages are missing: they are asked for when it is clear that they do not come by themselves.
    pub(super) fn miss(&mut self, place: u32, gap: Option<Gap>, now: Now) {
        for sequence in gap.into_iter().flat_map(Gap::numbers).take(ASKED) {
            self.want(place, sequence, now.mono);
        }
    }

    pub(super) fn want(&mut self, place: u32, sequence: u32, noticed: Instant) {
        self.missing.push_back(Missing {
            place,
            sequence,
            due: noticed + PATIENCE,
            behind: self.supply.ended() + self.supply.waiting() as u64,
        });
    }

    /// Messages are missing of a subscription that another session has now, which asks for them.
    pub(super) fn miss_away(&mut self, id: u32, gap: Option<Gap>, now: Now) {
        for sequence in gap.into_iter().flat_map(Gap::numbers).take(ASKED) {
            self.forward(Post::Missing {
                id,
                sequence,
                noticed: now.mono,
            });
        }
    }

    /// When the next message is to be asked for.
    pub(super) fn next_question(&self) -> Option<Instant> {
        self.missing.front().map(|missing| missing.due)
    }

    /// Whether messages before a reconnect are still being fetched.
    pub(super) fn catches_up(&self) -> bool {
        self.to_transfer || self.subscriptions.iter().any(|it| it.catching_up)
    }

    /// Asks for what is missing; at the end for all of it.
    pub(super) fn ask_again(
        &mut self,
        connection: &mut Connection,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        while let Some(missing) = self.missing.front_mut()
            && connection.pending().len() < BACKLOG
        {
            let Missing {
                place, sequence, ..
            } = *missing;
            let may_come = now.mono < missing.due && self.supply.ended() < missing.behind;
            if may_come && self.step < SubscriberStep::Quiet {
                return;
            }
            let there = self.id(place).zip(self.number(place));
            // It may have come by itself meanwhile.
            let wanted = there.filter(|(_, number)| tracker.receipt.is_missing(*number, sequence));
            let Some((id, number)) = wanted else {
                self.missing.pop_front();
                continue;
            };
            let asked = PendingRequest::Republish {
                subscription: place,
                sequence,
            };
            let request = self.republish(id, sequence, now);
            if !self.send(connection, request, asked, now) {
                if let Some(missing) = self.missing.front_mut() {
                    missing.due = now.mono + PATIENCE;
                }
                return;
            }
            tracker.receipt.republish_asked(number, sequence);
            self.missing.pop_front();
        }
    }

    pub(super) fn republish(&self, id: u32, sequence: u32, now: Now) -> RepublishRequest {
        RepublishRequest {
            request_header: self.requests.header(now.utc),
            subscription_id: id,
            retransmit_sequence_number: sequence,
        }
    }

    pub(super) fn republished(
        &mut self,
        place: u32,
        sequence: u32,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let message = match RepublishResponse::parse(body) {
            Ok(message) => message,
            Err(error) => {
                let status = super::answer::wrong(error);
                return self.not_republished(place, sequence, status, tracker);
            }
        };
        let Some(number) = self.number(place) else {
            return;
        };
        self.acknowledge(place, sequence);
        let head = self.head(&message, body, now);
        let open = tracker.receipt.republished(tracker.ledger, number, head);
        let (_, ended) = hear(open, message.notifications(), self.event_places());
        if let Some(status) = ended {
            self.ended(place, status, now, tracker);
        }
    }

    pub(super) fn head(&self, message: &RepublishResponse<'_>, body: &[u8], now: Now) -> Head {
        Head {
            sequence: message.sequence_number,
            publish_time: message.publish_time,
            header_time: 0,
            at: self.at(now.mono),
            more: false,
            bytes: body.len() as u32,
        }
    }

    pub(super) fn not_republished(
        &mut self,
        place: u32,
        sequence: u32,
        status: StatusCode,
        tracker: &mut NotificationTracker<'_>,
    ) {
        if let Some(number) = self.number(place) {
            tracker
                .receipt
                .republish_refused(number, sequence, status.bits());
        }
    }

    pub(super) fn acknowledge(&mut self, place: u32, sequence: u32) {
        if let Some(id) = self.id(place) {
            self.acknowledgements.push(SubscriptionAcknowledgement {
                subscription_id: id,
                sequence_number: sequence,
            });
        }
    }
}
