//! Notification messages: what a Publish request is answered with, and what became of it. One is made as a [`Draft`], which
//! is encoded into a response and committed with what became of it.

use wire::template::walk::type_id;
use wire::time::Now;
use wire::types::StatusCode;

use super::Subscription;
use super::computed::Pace;
use super::publishing::PublishingState;
use crate::fault::Faults;
use crate::ledger::{Load, Values};
use crate::space::Space;

/// Encoding ids of notifications (Part 6, annex A.3).
const DATA_CHANGE: u16 = type_id::DATA_CHANGE_NOTIFICATION as u16;
const EVENTS: u16 = type_id::EVENT_NOTIFICATION_LIST as u16;
const STATUS_CHANGE: u16 = type_id::STATUS_CHANGE_NOTIFICATION as u16;

/// Bytes before the first notification of a kind: type, length and count.
const HEAD: usize = 16;

/// Bytes of a Publish response from subscriptionId to notificationMessage, but for the numbers that it names: the id, how many
/// numbers, and whether more is left.
const BEFORE: usize = 9;

/// A message that has so many bytes takes no more, whatever its client takes: the rest comes in the next one. Memory and
/// time of making one are bounded, that of its largest value aside.
const ENOUGH: usize = 1024 * 1024;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// So many values.
    Notifications(usize),
    /// That it lives.
    KeepAlive,
    /// There was to be one, and faults left nothing of it.
    Nothing,
}

/// What became of a notification message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// A connection has it.
    Sent,
    /// A fault held it back.
    Dropped,
    /// There was no connection, or it was too large for it.
    Unsent,
}

/// A notification message before anybody has it: what is in it, how long it is and whether more is left. Values that went
/// into it wait no more. It takes its number, and is kept, when it is [committed](Subscription::commit).
#[derive(Debug)]
#[must_use]
pub struct Draft {
    message: Message,
    /// From its sequence number on.
    bytes: Vec<u8>,
    load: Load,
    /// There is more than it holds.
    more: bool,
    /// Of the messages that can be republished so many, the oldest, are not named beside it.
    unnamed: usize,
    /// When it was made, in nanoseconds of monotonic time.
    at: u64,
}

impl Draft {
    /// What it is.
    pub fn message(&self) -> Message {
        self.message
    }

    /// Whether it is one of those that are numbered.
    fn is_numbered(&self) -> bool {
        self.message != Message::KeepAlive
    }
}

impl Subscription {
    /// Makes the message that a Publish request is answered with, perhaps with faults in its values. With what stands before
    /// it ([`encode`](Self::encode)) it has at most `room` bytes. What a client does not take at once comes in several
    /// messages (Part 4, 5.14.1.1). `kept`: so many can be republished.
    pub fn draft(
        &mut self,
        room: usize,
        space: &Space,
        now: Now,
        kept: usize,
        faults: Option<&Faults>,
    ) -> Draft {
        self.touch(now);
        self.catch_up(space, now);
        self.end_gap(now.mono);
        self.record.publish_requests.bump();
        debug_assert!(
            self.items.len() > 1000
                || self.ready == self.items.iter().map(|it| it.ready()).sum::<usize>(),
            "values that wait are those of the items"
        );
        let ready = self.ready();
        let tally = &mut self.account.tally;
        self.kept.shed(|load| tally.forget(load));
        // Those that are named leave room for what is told.
        let available = self.kept.sequences().len() + usize::from(ready);
        let named = available.min(kept.min(room / 16).max(1));
        let until = match room {
            usize::MAX => room,
            room => room.saturating_sub(BEFORE + size_of::<u32>() * named),
        };
        let spare = self.kept.take_spare();
        let is_new = spare.is_none();
        let mut bytes = spare.unwrap_or_default();
        if is_new && ready {
            bytes.reserve_exact(self.estimate().min(until));
        }
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&now.utc.to_le_bytes());
        let mut load = Load::default();
        let message = match ready {
            true => {
                load = self.notifications(space, now, until, faults, &mut bytes);
                match load.total() {
                    0 => Message::Nothing,
                    values => Message::Notifications(values),
                }
            }
            false => {
                // Part 4, 5.14.1.1: a keep-alive has the number of the next message, and no data.
                bytes.extend_from_slice(&0u32.to_le_bytes());
                Message::KeepAlive
            }
        };
        if is_new {
            bytes.shrink_to_fit();
        }
        Draft {
            message,
            bytes,
            load,
            more: ready && self.ready(),
            unnamed: available - named,
            at: now.mono.as_nanos(),
        }
    }

    /// Bytes that a message takes, about: there is room for numbers with all their times.
    fn estimate(&self) -> usize {
        let values = match self.terms.most {
            0 => self.ready,
            most => self.ready.min(most as usize),
        };
        (4 * HEAD + values.saturating_mul(40)).min(ENOUGH)
    }

    /// Appends a Publish response from subscriptionId to notificationMessage.
    pub fn encode(&self, draft: &Draft, out: &mut Vec<u8>) {
        // Part 4, 5.14.5.2: what can be republished, this message among it.
        let sequences = self.kept.sequences();
        let own = draft.is_numbered().then_some(self.sequence);
        let named = sequences.len() + usize::from(own.is_some()) - draft.unnamed;
        out.reserve(BEFORE + size_of::<u32>() * named + draft.bytes.len());
        out.extend_from_slice(&self.id.to_le_bytes());
        out.extend_from_slice(&(named as u32).to_le_bytes());
        for sequence in sequences.skip(draft.unnamed).chain(own) {
            out.extend_from_slice(&sequence.to_le_bytes());
        }
        out.push(u8::from(draft.more));
        out.extend_from_slice(&draft.bytes);
    }

    /// Keeps the message that was made last for Republish, under its number, and says what became of it. Of one with nothing
    /// in it nothing stays.
    pub fn commit(&mut self, draft: Draft, kept: usize, fate: Delivery) {
        self.message_sent = true;
        self.keep_alive = self.terms.keep_alive;
        self.wants = draft.more;
        let tally = &mut self.account.tally;
        match draft.message {
            Message::Nothing => self.kept.give_back(draft.bytes),
            Message::KeepAlive => {
                if self.state == PublishingState::Late {
                    self.state = PublishingState::KeepAlive;
                }
                tally.messages.keep_alives += 1;
                self.kept.give_back(draft.bytes);
            }
            Message::Notifications(values) => {
                let load = draft.load;
                tally.messages.made += 1;
                tally.load(load, |values| &mut values.reported);
                let (message, value): (_, fn(&mut Values) -> &mut u64) = match fate {
                    Delivery::Sent => (&mut tally.messages.sent, |values| &mut values.sent),
                    Delivery::Dropped => {
                        (&mut tally.messages.dropped, |values| &mut values.dropped)
                    }
                    Delivery::Unsent => (&mut tally.messages.unsent, |values| &mut values.unsent),
                };
                *message += 1;
                tally.load(load, value);
                let numbered = (self.sequence, draft.at);
                self.kept
                    .keep(numbered, draft.bytes, load, kept, |load| tally.forget(load));
                self.advance();
                self.state = PublishingState::Normal;
                self.record.data_changes.add(load.computed + load.stored);
                self.record.events.add(load.event);
                self.record.notifications.add(values as u32);
            }
        }
        self.account.settle();
        self.tell();
    }

    fn advance(&mut self) {
        // Part 4, 5.14.1.1: after the largest number comes 1.
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
    }

    /// Appends notificationData: what changed, what happened, or both; tells how much.
    fn notifications(
        &mut self,
        space: &Space,
        now: Now,
        until: usize,
        faults: Option<&Faults>,
        out: &mut Vec<u8>,
    ) -> Load {
        let mut load = Load::default();
        let both = self.ready > 0 && self.events.ready();
        let parts_at = out.len();
        out.extend_from_slice(&[1 + u8::from(both), 0, 0, 0]);
        if self.ready > 0 {
            self.changes(space, now, until, faults, &mut load, out);
        }
        let most = match self.terms.most {
            0 => usize::MAX,
            most => (most as usize).saturating_sub(load.total()),
        };
        let next = self.events.next_len().unwrap_or(0);
        let enough = until.min(parts_at.saturating_add(ENOUGH));
        let full = load.total() > 0 && out.len() + HEAD + next > enough;
        if both && (most == 0 || full || self.ready > 0) {
            // The message is full of values: events come with the next.
            if let Some(parts) = out.get_mut(parts_at) {
                *parts = 1;
            }
        } else if self.events.ready() {
            self.happenings((most, enough), now, faults, &mut load, out);
        }
        load
    }

    /// Appends an EventNotificationList.
    fn happenings(
        &mut self,
        (most, until): (usize, usize),
        now: Now,
        faults: Option<&Faults>,
        load: &mut Load,
        out: &mut Vec<u8>,
    ) {
        let body = begin(out, EVENTS);
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let lose = |node| faults.is_some_and(|faults| faults.report(node, now.mono).lost);
        let tally = &mut self.account.tally;
        let memory = &self.memory;
        let count = self
            .events
            .report((most, until), lose, load, memory, tally, out);
        if let Some(place) = out.get_mut(count_at..count_at + 4) {
            place.copy_from_slice(&(count as u32).to_le_bytes());
        }
        end(out, body);
    }

    /// Appends a DataChangeNotification. A value of a computed item takes about 15 ns
    /// (`examples/weight.rs`).
    fn changes(
        &mut self,
        space: &Space,
        now: Now,
        until: usize,
        faults: Option<&Faults>,
        load: &mut Load,
        out: &mut Vec<u8>,
    ) {
        let body = begin(out, DATA_CHANGE);
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let most = match self.terms.most {
            0 => usize::MAX,
            most => most as usize,
        };
        let mut count = 0;
        let mut pace = Pace::default();
        let enough = out.len().saturating_add(ENOUGH);
        // Behind the values: that there are no diagnostics.
        let until = until.saturating_sub(4);
        let items = self.items.len();
        let mut at = self.turn;
        for _ in 0..items {
            if self.ready == 0 {
                break;
            }
            if at >= items {
                at = 0;
            }
            let Some(item) = self.items.get_mut(at) else {
                break;
            };
            let ready = item.ready();
            for _ in 0..ready.min(most - count) {
                if count > 0 && out.len() >= enough {
                    break;
                }
                if until < usize::MAX - 4 && out.len() + item.next_len() > until {
                    if count > 0 {
                        break;
                    }
                    // Larger than any message that the client takes: that it was there is said, with its times.
                    item.withhold();
                }
                let mark = faults.map(|faults| faults.report(item.node, now.mono));
                let mark = mark.unwrap_or_default();
                self.ready -= 1;
                if mark.lost {
                    item.lose(&self.memory, &mut self.account.tally);
                    continue;
                }
                item.report(mark, space, &mut pace, &self.memory, out);
                load.count(item.kind());
                count += 1;
            }
            if item.ready() > 0 {
                // The message is full: this one goes on in the next.
                self.turn = at;
                break;
            }
            item.set_triggered(false);
            at += 1;
        }
        if let Some(place) = out.get_mut(count_at..count_at + 4) {
            place.copy_from_slice(&(count as u32).to_le_bytes());
        }
        // No diagnostics.
        out.extend_from_slice(&(-1i32).to_le_bytes());
        end(out, body);
    }

    /// Says that its last message was sent once more.
    pub fn repeated(&mut self) {
        self.account.tally.messages.repeated += 1;
        self.account.settle();
    }
}

/// Appends the beginning of an ExtensionObject; gives the place of its length.
fn begin(out: &mut Vec<u8>, type_id: u16) -> usize {
    let [low, high] = type_id.to_le_bytes();
    out.extend_from_slice(&[1, 0, low, high, 1]);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    at
}

/// Writes the length at `at`.
fn end(out: &mut [u8], at: usize) {
    let len = (out.len() - at - 4) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&len.to_le_bytes());
    }
}

/// Appends, from subscriptionId on, that a subscription has ended or moved (Part 4, 7.25.4).
pub fn status_change(id: u32, status: StatusCode, now: Now, out: &mut Vec<u8>) {
    out.extend_from_slice(&id.to_le_bytes());
    // Nothing to republish, nothing more.
    out.extend_from_slice(&[0, 0, 0, 0, 0]);
    // Not one of the numbered messages of a subscription that is gone.
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&now.utc.to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    let body = begin(out, STATUS_CHANGE);
    out.extend_from_slice(&status.bits().to_le_bytes());
    out.push(0);
    end(out, body);
}
