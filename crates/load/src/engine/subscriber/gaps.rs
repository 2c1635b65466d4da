//! Messages that are missing (Part 4, 5.14.6).

use std::collections::VecDeque;
use std::time::Duration;

use record::notification_ledger::Gap;
use wire::time::Instant;
use wire::types::RepublishRequest;

use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::PendingRequest;
use super::subscriptions::Subscriptions;
use super::supply::Supply;

/// Missing messages of one gap that are asked for; a longer gap is none that could be mended.
const ASKED: usize = 1000;
/// As long as this a missing message may be right behind the one that told of it: servers that publish on
/// several threads send messages in another order than they number them.
const PATIENCE: Duration = Duration::from_millis(10);

/// A message that is to be asked for, unless it comes by itself.
#[derive(Debug, Clone, Copy)]
struct Missing {
    place: u32,
    sequence: u32,
    /// When it is asked for at the latest.
    due: Instant,
    /// It is asked for once so many Publish requests have ended: if it is on its way, then as the answer to one
    /// that was waiting when it was missed.
    behind: u64,
}

/// What is missing and not asked for yet, in the order in which it was missed.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    missing: VecDeque<Missing>,
}

/// The numbers of a gap that are worth asking for.
#[inline]
pub(super) fn worth_asking(gap: Option<Gap>) -> impl Iterator<Item = u32> {
    gap.into_iter().flat_map(Gap::numbers).take(ASKED)
}

/// A request for a message of the server's subscription `id`.
pub(super) fn republish(out: &Outgoing<'_>, id: u32, sequence: u32) -> RepublishRequest {
    RepublishRequest {
        request_header: out.header(),
        subscription_id: id,
        retransmit_sequence_number: sequence,
    }
}

impl Gaps {
    /// A message is missing: it is asked for when it is clear that it does not come by itself.
    pub fn want(&mut self, place: u32, sequence: u32, noticed: Instant, supply: &Supply) {
        self.missing.push_back(Missing {
            place,
            sequence,
            due: noticed + PATIENCE,
            behind: supply.ended() + supply.waiting() as u64,
        });
    }

    /// Whether a message of this subscription is missing.
    pub fn has(&self, place: u32) -> bool {
        self.missing.iter().any(|missing| missing.place == place)
    }

    /// A subscription is not there any more.
    pub fn forget(&mut self, place: u32) {
        self.missing.retain(|missing| missing.place != place);
    }

    /// When the next message is to be asked for.
    pub fn next_question(&self) -> Option<Instant> {
        self.missing.front().map(|missing| missing.due)
    }

    /// Asks for what does not come by itself after so many Publish requests; or for all that is missing.
    pub fn ask_again(
        &mut self,
        out: &mut Outgoing<'_>,
        subscriptions: &Subscriptions,
        ended: u64,
        all: bool,
        notes: &mut Notes<'_>,
    ) {
        while let Some(missing) = self.missing.front_mut()
            && out.has_room()
        {
            let Missing {
                place, sequence, ..
            } = *missing;
            let may_come = out.now.mono < missing.due && ended < missing.behind;
            if may_come && !all {
                return;
            }
            let there = subscriptions.id(place).zip(subscriptions.number(place));
            // It may have come by itself meanwhile.
            let wanted =
                there.filter(|(_, number)| notes.notification_ledger.is_missing(*number, sequence));
            let Some((id, number)) = wanted else {
                self.missing.pop_front();
                continue;
            };
            let about = PendingRequest::Republish {
                subscription: place,
                sequence,
            };
            let request = republish(out, id, sequence);
            if !out.send(request, about) {
                missing.due = out.now.mono + PATIENCE;
                return;
            }
            notes.notification_ledger.republish_asked(number, sequence);
            self.missing.pop_front();
        }
    }
}
