//! A subscription, its client and their time, all of it pretended.

mod ledger;
mod notification_ledger;
mod publishing;
mod sampling;
mod stored;

use std::time::Duration;

use proptest::prelude::*;
use wire::template::walk::{self, BuiltInType, Notification, RawVariant};
use wire::time::{Instant, Now};
use wire::types::{
    DataChangeFilter, DataChangeTrigger, MonitoringMode, NodeId, NumericRange, ObjectId, StatusCode,
};

use super::{
    Delivery, Filter, Item, Message, Parameters, Subscription, Terms, Tick, WatchedAttribute,
    status_change,
};
use crate::slots::SlotId;
use crate::space::attribute::Timestamps;
use crate::space::value::Scalar;
use crate::space::{
    Builder, NodeIndex, Pattern, Shape, Signal, Source, Space, Stamp, Variable, access,
};

const INTERVAL: Duration = Duration::from_millis(100);
const KEPT: usize = 10;
const OVERFLOW: u32 = 0x480;

/// A node that counts every 10 ms, one that does every second, and one that is written.
const FAST: u32 = 1;
const SLOW: u32 = 2;
const WRITTEN: u32 = 3;
const ANALOG: u32 = 4;

fn space() -> Space {
    let mut builder = Builder::new("urn:test", 0);
    let objects: NodeId = ObjectId::ObjectsFolder.into();
    let counter = |millis| {
        let start = Pattern::Counter { start: 0.0 };
        Source::Signal(Signal::new(
            BuiltInType::Double,
            start,
            Duration::from_millis(millis),
        ))
    };
    let written = || {
        let zero = RawVariant::parse(&[11, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        Source::Scalar(Scalar::new(&zero, stamp(0)).unwrap())
    };
    for (number, source, range) in [
        (FAST, counter(10), None),
        (SLOW, counter(1000), None),
        (WRITTEN, written(), None),
        (ANALOG, written(), Some((-100.0, 100.0))),
    ] {
        let shape = Shape {
            access_level: access::READ | access::WRITE,
            range,
            ..Shape::scalar(NodeId::new(0, 11u32))
        };
        let variable = Variable::new(source, shape);
        builder.variable(&objects, NodeId::new(1, number), "x", variable);
    }
    builder.finish()
}

fn stamp(source: i64) -> Stamp {
    Stamp {
        status: StatusCode::Good,
        source,
    }
}

/// The value of a node.
fn watch(node: NodeIndex, mode: MonitoringMode) -> WatchedAttribute {
    WatchedAttribute {
        node,
        attribute: 13,
        range: NumericRange::None,
        mode,
    }
}

/// A subscription, its client and their time.
struct Bench {
    space: Space,
    subscription: Subscription,
    now: Now,
    /// Publish requests that wait.
    requests: usize,
    /// What was sent: sequence number, values with their overflow bits, and whether more was
    /// promised.
    sent: Vec<Sent>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sent {
    sequence: u32,
    /// Handle, value, status.
    values: Vec<(u32, f64, u32)>,
    more: bool,
}

impl Sent {
    fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|(_, value, _)| *value).collect()
    }
}

fn terms(lifetime: u32, keep_alive: u32) -> Terms {
    Terms {
        interval: INTERVAL,
        lifetime,
        keep_alive,
        most: 0,
        priority: 0,
    }
}

impl Bench {
    fn new(terms: Terms) -> Self {
        // In the middle between updates, where nothing depends on who is first.
        let now = Now {
            mono: Instant::from_nanos(5_000_000),
            utc: 50_000,
        };
        let session = SlotId {
            slot: 0,
            generation: 0,
        };
        Self {
            space: space(),
            subscription: Subscription::new(7, session, terms, true, now),
            now,
            requests: 0,
            sent: Vec::new(),
        }
    }

    fn node(&self, number: u32) -> NodeIndex {
        self.space.find_id(&NodeId::new(1, number)).unwrap()
    }

    fn parameters(&self, handle: u32) -> Parameters {
        Parameters {
            client_handle: handle,
            sampling: Duration::from_millis(10),
            queue_size: 100,
            discard_oldest: true,
            filter: Filter::default(),
            folding: None,
            stamps: Timestamps {
                source: false,
                server: false,
            },
        }
    }

    fn add(&mut self, number: u32, mode: MonitoringMode, parameters: Parameters) -> u32 {
        let node = self.node(number);
        let watch = watch(node, mode);
        let make = |id| Item::new(id, watch, &parameters, &self.space);
        let id = self.subscription.add(make, &self.space, self.now).unwrap();
        self.subscription.settle(self.now);
        id
    }

    fn report(&mut self, number: u32, queue_size: u32) -> u32 {
        let parameters = Parameters {
            queue_size,
            ..self.parameters(number)
        };
        self.add(number, MonitoringMode::Reporting, parameters)
    }

    fn write(&mut self, number: u32, value: f64) {
        let mut encoded = vec![11];
        encoded.extend_from_slice(&value.to_le_bytes());
        let node = self.space.node(self.node(number)).unwrap();
        let value = RawVariant::parse(&encoded).unwrap();
        let stamp = stamp(self.now.utc);
        assert!(node.variable().unwrap().source.set(&value, stamp));
    }

    /// The client sends a Publish request.
    fn ask(&mut self) {
        self.requests += 1;
        self.answer();
    }

    fn answer(&mut self) {
        while self.requests > 0 && self.subscription.wants() {
            self.requests -= 1;
            let (message, out) = self.publish(Delivery::Sent);
            let sent = decoded(&out);
            match message {
                Message::Nothing => panic!("a message of nothing"),
                Message::KeepAlive => assert!(sent.values.is_empty()),
                Message::Notifications(n) => assert_eq!(sent.values.len(), n),
            }
            self.sent.push(sent);
        }
    }

    /// A message to a client that takes any, of which this becomes.
    fn publish(&mut self, fate: Delivery) -> (Message, Vec<u8>) {
        let subscription = &mut self.subscription;
        let draft = subscription.draft(usize::MAX, &self.space, self.now, KEPT, None);
        let (message, mut out) = (draft.message(), Vec::new());
        subscription.encode(&draft, &mut out);
        subscription.commit(draft, KEPT, fate);
        (message, out)
    }

    fn step(&mut self, to: Instant) {
        let passed = to.since(self.now.mono).as_nanos();
        self.now = Now {
            mono: to,
            utc: self.now.utc + (passed / 100) as i64,
        };
    }

    /// Lets publishing intervals go by, with all that is due in them.
    fn intervals(&mut self, n: usize) -> Tick {
        for _ in 0..n {
            let mut end = self.subscription.next;
            while end <= self.now.mono {
                end = end + self.subscription.terms.interval;
            }
            loop {
                let due = self.subscription.due().max(self.now.mono);
                if due > end {
                    break;
                }
                self.step(due);
                if !self.subscription.is_due(self.now) {
                    self.subscription.sample(&self.space, self.now);
                    continue;
                }
                let requests = self.requests > 0;
                if self.subscription.tick(&self.space, self.now, requests) == Tick::Expired {
                    return Tick::Expired;
                }
                self.answer();
            }
            self.step(end);
        }
        Tick::Alive
    }
}

/// What a client reads out of a response, from subscriptionId on.
fn decoded(response: &[u8]) -> Sent {
    let mut body = Vec::new();
    let now = Now {
        mono: Instant::default(),
        utc: 0,
    };
    crate::service::write_head(&mut body, 829, 1, now);
    body.extend_from_slice(response);
    // No results, no diagnostics.
    body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0]);
    let response = walk::PublishResponse::parse(&body).unwrap();
    assert_eq!(response.subscription_id, 7);
    let mut values = Vec::new();
    for notification in response.notifications() {
        let Notification::DataChange(items) = notification.unwrap() else {
            panic!("another notification");
        };
        for item in items {
            let item = item.unwrap();
            let value = item.value.value.and_then(|value| value.as_f64());
            let status = item.value.status().bits();
            values.push((item.client_handle, value.unwrap_or(f64::NAN), status));
        }
    }
    Sent {
        sequence: response.sequence_number,
        values,
        more: response.more_notifications,
    }
}
