//! Several connections of `opc.https` that are one stream of chunks: Publish requests, whose answers may be long in coming, go over
//! connections of their own, and all else over the first.
//!
//! HTTP/1.1 answers in the order of the requests, so whatever is asked behind a Publish request waits for its answer. Over another
//! connection nothing does. Chunks of two messages must not be mixed, and their numbers follow each other: what comes over each connection is
//! kept until a message is whole, and numbered anew. Messages of a subscription that came over several connections are put into their order, as
//! far as they are here.

use wire::template::walk::ResponseHead;

use crate::http::chunk::{self, HEAD};
use crate::waiting::Waiting;

/// The type of a PublishResponse.
const PUBLISHED: u32 = 829;

/// The NodeId with which a PublishRequest begins.
const PUBLISH: [u8; 4] = [1, 0, 0x3a, 3];

/// Which chunks go where, and what came of all connections.
#[derive(Debug)]
pub struct Merge {
    connections: Vec<Connection>,
    /// Where the message goes that is not out yet.
    going: Option<usize>,
    /// Whole messages, which are given on together.
    whole: Vec<(Order, Vec<u8>)>,
    /// Those that nobody has taken.
    given: Waiting,
    /// The number of the last chunk of them.
    sequence: u32,
}

#[derive(Debug, Default)]
struct Connection {
    /// Of a message that came in part.
    came: Vec<u8>,
    /// Publish requests without an answer.
    waiting: usize,
    /// A message has begun to come there.
    has_begun: bool,
    /// It was closed while nobody waited for anything there.
    is_gone: bool,
}

/// Where a message stands among those that came at once: answers to other requests first, then those of each subscription by their
/// number, and a keep-alive before the message whose number it tells.
type Order = Option<(u32, u32, bool)>;

impl Merge {
    /// For one connection and so many for Publish requests.
    pub fn new(others: usize) -> Self {
        Self {
            connections: (0..=others).map(|_| Connection::default()).collect(),
            going: None,
            whole: Vec::new(),
            given: Waiting::default(),
            sequence: 0,
        }
    }

    /// Where the chunk goes with which these bytes begin, and how long it is; none if it is not whole.
    pub fn route(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        let size = size(bytes)?;
        let whole = bytes.get(..size)?;
        let place = match (self.going, whole.first_chunk()) {
            (Some(place), _) => place,
            (None, Some(b"MSGC" | b"MSGF")) => self.place(whole),
            (None, _) => 0,
        };
        let goes_on = whole.starts_with(b"MSGC");
        self.going = goes_on.then_some(place);
        Some((place, size))
    }

    /// A message that begins so goes where the fewest wait.
    fn place(&mut self, whole: &[u8]) -> usize {
        if whole.get(HEAD..HEAD + PUBLISH.len()) != Some(&PUBLISH) {
            return 0;
        }
        let others = self.connections.iter_mut().enumerate().skip(1);
        let others = others.filter(|(_, it)| !it.is_gone);
        let Some((place, connection)) = others.min_by_key(|(_, it)| it.waiting) else {
            return 0;
        };
        connection.waiting += 1;
        place
    }

    /// Chunks came over a connection.
    pub fn came(&mut self, place: usize, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        connection.came.extend_from_slice(bytes);
        loop {
            let came = &mut connection.came;
            let (mut at, mut is_whole) = (0, false);
            while let Some(size) = size(came.get(at..).unwrap_or_default())
                && at + size <= came.len()
            {
                is_whole = !came.get(at..).is_some_and(|it| it.starts_with(b"MSGC"));
                at += size;
                if is_whole {
                    break;
                }
            }
            if !is_whole {
                return;
            }
            let message: Vec<u8> = came.drain(..at).collect();
            self.whole.push((order(&message), message));
            connection.waiting = connection.waiting.saturating_sub(1);
        }
    }

    /// Whether a message has begun to come over a connection and is not whole: in JSON there are no chunks of it yet.
    pub fn begun(&mut self, place: usize, has_begun: bool) {
        if let Some(connection) = self.connections.get_mut(place) {
            connection.has_begun = has_begun;
        }
    }

    /// Whether a connection that ended is not missed: nothing was awaited there.
    pub fn ends(&mut self, place: usize) -> bool {
        match self.connections.get_mut(place) {
            Some(it) if place > 0 && it.waiting == 0 && it.came.is_empty() => {
                it.is_gone = true;
                true
            }
            _ => false,
        }
    }

    /// Whether it is one of those.
    pub fn is_gone(&self, place: usize) -> bool {
        self.connections.get(place).is_some_and(|it| it.is_gone)
    }

    /// Whether there are whole messages that were not given on.
    pub fn has_come(&self) -> bool {
        !self.whole.is_empty()
    }

    /// All connections were read: what came is given on in its order, but for what stands behind a message that is coming.
    pub fn give(&mut self) {
        let others = self.connections.iter().skip(1);
        let coming: Vec<Order> = others
            .filter(|it| it.has_begun)
            .map(|it| order(&it.came))
            .collect();
        let waits = |own: Order| {
            own.is_some_and(|(subscription, number, _)| {
                coming.iter().any(|it| {
                    // Of one whose beginning is not here nobody knows yet.
                    it.is_none_or(|(of, before, _)| of == subscription && before < number)
                })
            })
        };
        let mut whole = std::mem::take(&mut self.whole);
        whole.sort_by_key(|it| it.0);
        for (order, message) in whole {
            if waits(order) {
                self.whole.push((order, message));
                continue;
            }
            let mut at = self.given.bytes.len();
            self.given.bytes.extend_from_slice(&message);
            while let Some(size) = size(self.given.bytes.get(at..).unwrap_or_default()) {
                self.sequence = chunk::next(self.sequence);
                if let Some(number) = self.given.bytes.get_mut(at + 16..at + 20) {
                    number.copy_from_slice(&self.sequence.to_le_bytes());
                }
                at += size;
            }
        }
    }

    /// Takes of the messages that came as many bytes as there is room for.
    pub fn take(&mut self, into: &mut [u8]) -> usize {
        self.given.take(into)
    }

    /// Whether there are such.
    pub fn has_waiting(&self) -> bool {
        !self.given.is_empty()
    }
}

/// The order of a message whose first chunk says what it needs.
fn order(message: &[u8]) -> Order {
    let body = message.get(HEAD..)?;
    let head = ResponseHead::parse(body).ok()?;
    let rest = body.get(head.end..).filter(|_| head.type_id == PUBLISHED)?;
    let number = |at: usize| rest.get(at..at + 4).map(|it| chunk::number(it, 0));
    // Part 4, 5.14.5: the subscription, numbers that can be asked for again, whether there is more, and the message.
    let available = i32::from_le_bytes(number(4)?.to_le_bytes()).max(0);
    let at = usize::try_from(available).ok()?.checked_mul(4)? + 9;
    let notifications = i32::from_le_bytes(number(at + 12)?.to_le_bytes());
    Some((number(0)?, number(at)?, notifications > 0))
}

/// The length of the chunk with which these bytes begin.
fn size(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..chunk::BEGIN)?;
    Some((chunk::number(head, 4) as usize).max(chunk::BEGIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::chunk::{Kind, head};

    fn chunk_of(kind: Kind, request: u32, body: &[u8]) -> Vec<u8> {
        [&head(kind, request, 7, body.len()), body].concat()
    }

    fn routes(merge: &mut Merge, bytes: &[u8]) -> Vec<usize> {
        let (mut at, mut places) = (0, Vec::new());
        while let Some((place, size)) = merge.route(&bytes[at..]) {
            places.push(place);
            at += size;
        }
        places
    }

    #[test]
    fn publish_requests_go_where_the_fewest_wait_and_all_else_goes_first() {
        let mut merge = Merge::new(2);
        let read = chunk_of(Kind::Final, 1, &[1, 0, 0x77, 2, 9]);
        let publish = chunk_of(Kind::Final, 2, &[1, 0, 0x3a, 3, 9]);
        let asked = [&publish[..], &read, &publish, &publish, &read].concat();
        assert_eq!(routes(&mut merge, &asked), [1, 0, 2, 1, 0]);
        // In parts, whatever the second one begins with.
        let parts = [
            chunk_of(Kind::More, 3, &[1, 0, 0x77, 2]),
            chunk_of(Kind::Final, 3, &PUBLISH),
        ];
        assert_eq!(routes(&mut merge, &parts.concat()), [0, 0]);
        let parts = [chunk_of(Kind::More, 3, &PUBLISH), read.clone(), read];
        assert_eq!(routes(&mut merge, &parts.concat()), [2, 2, 0]);
        // One that is answered makes room.
        merge.came(1, &chunk_of(Kind::Final, 2, b"answer"));
        merge.came(1, &chunk_of(Kind::Final, 2, b"answer"));
        assert_eq!(
            routes(&mut merge, &[publish.clone(), publish].concat()),
            [1, 1]
        );
        assert_eq!(merge.route(&parts[0][..27]), None);
        assert_eq!(merge.route(&parts[0][..7]), None);
    }

    #[test]
    fn messages_come_whole_and_are_numbered_through() {
        for piece in [1, 5, 30, 1000] {
            let mut merge = Merge::new(2);
            let first = [
                chunk_of(Kind::More, 1, b"ab"),
                chunk_of(Kind::More, 1, b"cd"),
                chunk_of(Kind::Final, 1, b""),
                chunk_of(Kind::Final, 4, b"g"),
            ]
            .concat();
            let second = [
                chunk_of(Kind::Final, 2, b"e"),
                chunk_of(Kind::Final, 3, b"f"),
            ]
            .concat();
            let (mut one, mut other) = (first.chunks(piece), second.chunks(piece));
            let mut came = Vec::new();
            loop {
                let (a, b) = (one.next(), other.next());
                a.into_iter().for_each(|it| merge.came(0, it));
                b.into_iter().for_each(|it| merge.came(2, it));
                merge.give();
                let mut into = [0; 7];
                while merge.has_waiting() {
                    let count = merge.take(&mut into);
                    came.extend_from_slice(&into[..count]);
                }
                if a.is_none() && b.is_none() {
                    break;
                }
            }
            let (mut at, mut requests, mut sequence) = (0, Vec::new(), 0);
            while at < came.len() {
                sequence += 1;
                assert_eq!(chunk::number(&came[at..], 16), sequence);
                requests.push(chunk::number(&came[at..], 20));
                at += chunk::number(&came[at..], 4) as usize;
            }
            let of_first = requests.iter().position(|it| *it == 1).unwrap();
            assert_eq!(requests[of_first..of_first + 3], [1, 1, 1]);
            requests.sort_unstable();
            assert_eq!(requests, [1, 1, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn messages_of_a_subscription_are_put_into_their_order() {
        let message = |subscription: u32, number: u32, available: i32, count: i32| {
            let mut body = vec![1, 0, 0x3d, 3];
            body.extend_from_slice(&[0; 8 + 4 + 4 + 1 + 4 + 3]);
            body.extend_from_slice(&subscription.to_le_bytes());
            body.extend_from_slice(&available.to_le_bytes());
            for _ in 0..available {
                body.extend_from_slice(&[9; 4]);
            }
            body.push(0);
            body.extend_from_slice(&number.to_le_bytes());
            body.extend_from_slice(&[0; 8]);
            body.extend_from_slice(&count.to_le_bytes());
            body.extend_from_slice(&[0xff; 8]);
            chunk_of(Kind::Final, number * 10 + subscription, &body)
        };
        let mut merge = Merge::new(3);
        let said = [
            (1, message(2, 5, -1, 1)),
            (2, message(1, 8, 2, 1)),
            (3, message(1, 7, 0, 1)),
            (1, message(2, 5, 1, 0)),
            (0, chunk_of(Kind::Final, 1, b"other")),
        ];
        for (place, bytes) in &said {
            merge.came(*place, bytes);
        }
        merge.give();
        let mut into = vec![0; 10_000];
        let count = merge.take(&mut into);
        let (mut at, mut requests) = (0, Vec::new());
        while at < count {
            requests.push(chunk::number(&into[at..], 20));
            at += chunk::number(&into[at..], 4) as usize;
        }
        assert_eq!(requests, [1, 71, 81, 52, 52]);
        assert!(!merge.has_come() && !merge.has_waiting());
        // One that is coming holds up those behind it, and no others.
        let long = message(1, 9, 0, 1);
        merge.came(1, &long[..long.len() - 1]);
        merge.begun(1, true);
        merge.came(2, &message(1, 10, 0, 1));
        merge.came(3, &message(2, 6, 0, 1));
        merge.give();
        let count = merge.take(&mut into);
        assert_eq!(chunk::number(&into, 20), 62);
        assert_eq!((count, merge.has_come()), (long.len(), true));
        merge.came(1, &long[long.len() - 1..]);
        merge.begun(1, false);
        merge.give();
        let count = merge.take(&mut into);
        assert_eq!(count, 2 * long.len());
        assert_eq!(chunk::number(&into, 20), 91);
        // In JSON, not even whose it is.
        merge.came(2, &message(1, 11, 0, 1));
        merge.begun(3, true);
        merge.give();
        assert!(merge.has_come() && !merge.has_waiting());
        merge.begun(3, false);
        merge.give();
        assert!(!merge.has_come() && merge.has_waiting());
    }

    #[test]
    fn a_connection_that_ends_is_missed_only_where_something_waits() {
        let mut merge = Merge::new(2);
        let publish = chunk_of(Kind::Final, 2, &[1, 0, 0x3a, 3, 9]);
        assert_eq!(routes(&mut merge, &publish), [1]);
        assert!(!merge.ends(1) && !merge.ends(0) && merge.ends(2));
        assert_eq!((merge.is_gone(1), merge.is_gone(2)), (false, true));
        assert_eq!(routes(&mut merge, &publish.repeat(2)), [1, 1]);
        merge.came(1, &chunk_of(Kind::Final, 2, b"answer").repeat(3));
        assert!(merge.ends(1));
        assert_eq!(routes(&mut merge, &publish), [0]);
    }
}
