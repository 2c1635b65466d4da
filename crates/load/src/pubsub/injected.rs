//! Messages that are dropped, repeated, delayed, changed and sealed with another key, and what a listener says of them:
//! held to an oracle that knows each of them by a number that does not wrap.
//!
//! `UAPERF_MESSAGES=10000000 cargo test --release -p load --lib injected` does it with ten million of each publisher.

use std::collections::VecDeque;
use std::time::Duration;

use pubsub::layout::Layout;
use pubsub::raw::RawType;
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy, Sealer};
use pubsub::template::Template;
use pubsub::{Content, Fields, PublisherId, Tolerance};
use wire::template::walk::BuiltInType;

use super::ListenerReport;
use super::arrivals::ReceivedDatagram;
use super::received::{Ending, PhaseClock, Received};

const FIELDS: usize = 10;
/// So many bytes at the end of a message are neither its headers nor its counters: fields and signature.
const BODY: usize = 4 * FIELDS + GroupKeys::SIGNATURE_LEN;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What a listener has to say of one publisher.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    datagrams: u64,
    values: u64,
    lost: u64,
    duplicates: u64,
    late: u64,
    wrong: u64,
    replayed: u64,
}

/// Knows what came of one publisher.
#[derive(Default)]
struct Oracle {
    came: Vec<u64>,
    distinct: u64,
    first: Option<u64>,
    newest: u64,
    account: Account,
}

impl Oracle {
    /// A message of this number came whole; again it is replayed where messages are secured.
    fn comes(&mut self, number: u64, secured: bool) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.came.len() <= word {
            self.came.resize(word + 1, 0);
        }
        let known = self.came[word] & bit != 0;
        self.account.datagrams += 1;
        if known && secured {
            self.account.replayed += 1;
            return;
        }
        self.account.values += FIELDS as u64;
        if known {
            self.account.duplicates += 1;
            return;
        }
        self.came[word] |= bit;
        self.distinct += 1;
        self.account.late += u64::from(self.first.is_some() && number < self.newest);
        self.first.get_or_insert(number);
        self.newest = self.newest.max(number);
    }

    fn close(mut self) -> Account {
        let first = self.first.unwrap_or_default();
        self.account.lost = self.newest + 1 - first - self.distinct;
        self.account
    }
}

fn key(byte: u8) -> GroupKeys {
    GroupKeys::new(PubSubPolicy::Aes256Ctr, &[byte; 68]).unwrap()
}

fn template(publisher: u16, sealer: Option<Sealer>) -> Template {
    let types = vec![RawType::scalar(BuiltInType::UInt32); FIELDS];
    let sets = [(1, Content::Key(Fields::Raw(vec![0; 4 * FIELDS])))];
    let id = PublisherId::UInt16(publisher);
    let message = Layout::Dynamic.message(id, 1, 1, sets);
    Template::new(&message, &[types.as_slice()], sealer).unwrap()
}

/// A publisher whose messages meet with faults on their way.
struct Publisher {
    template: Template,
    /// One with the same counters and another key, if messages are secured.
    intruder: Option<Template>,
    delayed: VecDeque<(u64, u64, Vec<u8>)>,
    oracle: Oracle,
}

impl Publisher {
    fn new(publisher: u16, secured: bool) -> Self {
        let sealer = |byte| Sealer::new(key(byte), 1, Mode::SignAndEncrypt, [7; 4]);
        Self {
            template: template(publisher, secured.then(|| sealer(1))),
            intruder: secured.then(|| template(publisher, Some(sealer(2)))),
            delayed: VecDeque::new(),
            oracle: Oracle::default(),
        }
    }

    fn cycle(&mut self, number: u64, dice: &mut Dice, give: &mut dyn FnMut(&[u8])) {
        let secured = self.intruder.is_some();
        let mut message = Vec::new();
        assert!(self.template.write(0, &mut message));
        let mut intruded = Vec::new();
        if let Some(intruder) = &mut self.intruder {
            assert!(intruder.write(0, &mut intruded));
        }
        match dice.roll(1000) {
            // Dropped.
            0..10 => {}
            // Repeated.
            10..20 => {
                for _ in 0..2 {
                    give(&message);
                    self.oracle.comes(number, secured);
                }
            }
            // Delayed behind some of those that follow it.
            20..30 => {
                let until = number + 1 + dice.roll(20);
                self.delayed.push_back((until, number, message));
            }
            // Changed on its way.
            30..40 if secured => {
                let place = message.len() - 1 - dice.roll(BODY as u64) as usize;
                message[place] ^= 1 << dice.roll(8);
                give(&message);
                self.oracle.account.datagrams += 1;
                self.oracle.account.wrong += 1;
            }
            // Sealed by somebody else.
            40..50 if secured => {
                give(&intruded);
                self.oracle.account.datagrams += 1;
                self.oracle.account.wrong += 1;
            }
            _ => {
                give(&message);
                self.oracle.comes(number, secured);
            }
        }
        let mut kept = VecDeque::new();
        for (until, late, message) in self.delayed.drain(..) {
            if until > number {
                kept.push_back((until, late, message));
                continue;
            }
            give(&message);
            self.oracle.comes(late, secured);
        }
        self.delayed = kept;
    }
}

/// What was heard of a publisher; what could not be read is of the secured one.
fn account(heard: &ListenerReport, publisher: &str, datagrams: u64, secured: bool) -> Account {
    let stream = heard.streams.iter();
    let mut of_it = stream.filter(|it| it.publisher_id.as_deref() == Some(publisher));
    let [writer] = &of_it.next().unwrap().writers[..] else {
        unreachable!("one writer: {heard:?}")
    };
    let counted = writer.sequence.unwrap();
    assert_eq!(counted.restarts, 0, "{counted:?}");
    let unread = |words: &str| {
        let mut all = heard.unread.iter().filter(|it| it.reason.contains(words));
        let found = all.next().map_or(0, |it| it.datagrams);
        found * u64::from(secured)
    };
    Account {
        datagrams,
        values: writer.messages * FIELDS as u64,
        lost: counted.lost,
        duplicates: counted.duplicates,
        late: counted.late,
        wrong: unread("signature is wrong"),
        replayed: unread("was used before"),
    }
}

#[test]
fn every_message_that_met_with_a_fault_has_its_place_in_the_account() {
    let asked = std::env::var("UAPERF_MESSAGES").ok();
    let messages: u64 = asked.map_or(70_000, |it| it.parse().unwrap());
    let clock = PhaseClock {
        origin_ns: 0,
        end_ns: u64::MAX,
        cut_ns: 0,
        ahead_ns: None,
    };
    let types = vec![RawType::scalar(BuiltInType::UInt32); FIELDS];
    let mut received = Received::writing(clock, types);
    let mut keys = KeyRing::new(None, Tolerance::NONE);
    keys.insert(1, key(1));
    let mut buffer = vec![0; 2048];
    let mut at = 0;
    let mut give = |bytes: &[u8]| {
        let len = bytes.len();
        buffer[..len].copy_from_slice(bytes);
        at += 1_000;
        let came = ReceivedDatagram {
            len,
            ..ReceivedDatagram::default()
        };
        received.take(&mut buffer, came, Some(at), &mut keys, Tolerance::NONE);
    };
    let mut dice = Dice(0x5eed);
    let mut plain = Publisher::new(1, false);
    let mut secured = Publisher::new(2, true);
    for number in 0..messages {
        plain.cycle(number, &mut dice, &mut give);
        secured.cycle(number, &mut dice, &mut give);
    }
    let tally = received.take_tally(at).unwrap();
    let heard = received.close(Ending {
        from: String::new(),
        elapsed: Duration::from_nanos(at),
        drops: None,
        buffer: 0,
        interrupted: false,
        capture: None,
    });
    let want = [plain, secured].map(|it| it.oracle.close());
    let counts = want.each_ref().map(|it| it.datagrams);
    let got = [
        account(&heard, "1", counts[0], false),
        account(&heard, "2", counts[1], true),
    ];
    assert_eq!(got, want);
    assert!(want.iter().all(|it| it.lost > 0 && it.late > 0), "{want:?}");
    assert!(want[0].duplicates > 0 && want[1].replayed > 0 && want[1].wrong > 0);
    // All of it together, as the result has it.
    assert_eq!(heard.datagrams, counts[0] + counts[1]);
    let values = want[0].values + want[1].values;
    assert_eq!(heard.values, values);
    let counters = tally.window(0, u64::MAX).sum.counters;
    assert_eq!(
        (counters.completed, counters.values),
        (heard.datagrams, values)
    );
}
