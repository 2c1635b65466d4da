//! Messages that a broker brought.

use std::net::{IpAddr, Ipv4Addr};

use pubsub::Tolerance;
use pubsub::json::scan::Text;
use pubsub::json::{JsonView, MessageType};
use pubsub::mqtt::topic::is_json_data;
use pubsub::security::KeyRing;

use super::super::arrivals::{ReceivedDatagram, Source};
use super::super::followed::{DatagramContents, Followed};
use super::{Received, STREAMS};

/// A publisher and group at a topic, as messages in JSON name them.
#[derive(Debug, PartialEq, Eq)]
pub struct Topical {
    pub publisher: Option<String>,
    pub group: Option<String>,
    pub place: usize,
}

/// A message that a broker brought.
#[derive(Debug, Clone, Copy)]
pub struct BrokerMessage<'a> {
    pub topic: &'a str,
    pub payload: &'a [u8],
    /// It is of an earlier time: the broker had kept it.
    pub retained: bool,
    /// When it came, in nanoseconds since 1970.
    pub at: u64,
    /// Whether the publisher has the clock of this host.
    pub same_clock: bool,
}

impl Received {
    /// Takes a message of a broker.
    pub fn take_carried(
        &mut self,
        message: BrokerMessage<'_>,
        keys: &mut KeyRing,
        tolerance: Tolerance,
    ) {
        let first = message.payload.iter().find(|it| !it.is_ascii_whitespace());
        let json = matches!(first, Some(b'{' | b'['));
        // A retained message that is taken back is empty.
        if message.payload.is_empty() {
            return;
        }
        if json {
            let said = self.read_carried(message);
            return self.book_carried(message, said);
        }
        let mut bytes = message.payload.to_vec();
        if message.retained {
            return self.told(&mut bytes, keys, tolerance);
        }
        let here = message
            .same_clock
            .then_some(Source::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let came = ReceivedDatagram {
            len: bytes.len(),
            source: here,
            here: message.same_clock,
            ..ReceivedDatagram::default()
        };
        let topic = match self.numbers.get(message.topic) {
            Some(number) => *number,
            None if self.numbers.len() >= STREAMS => 0,
            None => {
                let number = self.numbers.len() + 1;
                self.numbers.insert(message.topic.to_owned(), number);
                number
            }
        };
        let streams = self.streams.len();
        self.take_of(topic, &mut bytes, came, Some(message.at), keys, tolerance);
        if let Some(new) = self.streams.get_mut(streams) {
            new.topic = Some(message.topic.to_owned());
        }
    }

    /// Counts it, unless it was not of this time, or describes others.
    fn book_carried(
        &mut self,
        message: BrokerMessage<'_>,
        said: Result<Option<DatagramContents>, String>,
    ) {
        let said = match said {
            Ok(None) => return,
            Ok(Some(said)) => Some(said),
            Err(reason) => {
                self.refuse(reason);
                None
            }
        };
        self.datagrams += 1;
        self.bytes += message.payload.len() as u64;
        if let Some(said) = said {
            self.values += said.values;
        }
        if let Some(open) = &mut self.open {
            open.note(message.payload.len(), Some(message.at), said);
        }
    }

    /// What a text says; none if that is no data of this time.
    fn read_carried(
        &mut self,
        message: BrokerMessage<'_>,
    ) -> Result<Option<DatagramContents>, String> {
        let view = JsonView::parse(message.payload, is_json_data(message.topic));
        let view = view.map_err(|error| error.to_string())?;
        let data = view.message_type == MessageType::Data;
        if data && message.retained {
            return Ok(None);
        }
        let first = view.sets().next().and_then(Result::ok);
        let publisher = view.publisher_id.or(first.and_then(|it| it.publisher_id));
        let group = view.writer_group.or(first.and_then(|it| it.writer_group));
        if !data {
            self.described(&view, publisher);
            return Ok(None);
        }
        if !self.choice.is_all() && !self.choice.takes_text(publisher, group) {
            self.not_chosen += 1;
            return Ok(None);
        }
        let Some(place) = self.followed_topic(message.topic, publisher, group) else {
            self.not_followed += 1;
            return Ok(Some(DatagramContents::default()));
        };
        let Some(stream) = self.streams.get_mut(place) else {
            return Ok(Some(DatagramContents::default()));
        };
        let said = stream.take_text(&view, message.payload.len(), message.at, message.same_clock);
        said.map(Some).map_err(|error| error.to_string())
    }

    /// Where it is in `streams`. Nothing is allocated for one that was heard before.
    fn followed_topic(
        &mut self,
        topic: &str,
        publisher: Option<Text<'_>>,
        group: Option<Text<'_>>,
    ) -> Option<usize> {
        let same = |known: &Option<String>, is: Option<Text<'_>>| match (known, is) {
            (Some(known), Some(is)) => is.is(known),
            (None, None) => true,
            _ => false,
        };
        let all = self.topics.get(topic).into_iter().flatten();
        let mut all = all.filter(|it| same(&it.publisher, publisher) && same(&it.group, group));
        if let Some(found) = all.next() {
            return Some(found.place);
        }
        if self.streams.len() >= STREAMS {
            return None;
        }
        let owned = |it: Option<Text<'_>>| it.map(|it| it.read().into_owned());
        let place = self.streams.len();
        self.topics
            .entry(topic.to_owned())
            .or_default()
            .push(Topical {
                publisher: owned(publisher),
                group: owned(group),
                place,
            });
        let mut stream = Followed::of("JSON", self.ahead);
        stream.topic = Some(topic.to_owned());
        self.streams.push(stream);
        Some(place)
    }

    /// What is known of a publisher from its own words: how it is.
    fn described(&mut self, view: &JsonView<'_>, publisher: Option<Text<'_>>) {
        let (MessageType::Status, Some(publisher)) = (view.message_type, publisher) else {
            return;
        };
        let Some(status) = view.status() else { return };
        let publisher = publisher.read().into_owned();
        if self.statuses.len() < STREAMS || self.statuses.contains_key(&publisher) {
            self.statuses.insert(publisher, status.name());
        }
    }
}
