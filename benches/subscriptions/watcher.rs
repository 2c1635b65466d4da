//! A client that watches: a blocking socket, `wire`, one thread.

use std::io::{ErrorKind, Read, Write};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use load::access::{Access, Security, Session, TrustRule};
use load::transport::{Clock, Stream};
use pki::Store;
use wire::channel::Protection;
use wire::client::{Connection, Event};
use wire::service::{Request, Response};
use wire::template::PublishTemplate;
use wire::template::walk::{Notification, PublishResponse};
use wire::types::{
    AttributeId, ContextOwned, CreateMonitoredItemsRequest, CreateSubscriptionRequest,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, QualifiedName,
    ReadValueId, RequestHeader, StatusCode, SubscriptionAcknowledgement, TimestampsToReturn,
};

/// What a session is to watch.
#[derive(Debug, Clone)]
pub struct Plan {
    pub subscriptions: usize,
    /// Of each subscription.
    pub items: usize,
    pub publishing: Duration,
    /// Numeric ids in namespace 2, taken in turn.
    pub nodes: Vec<u32>,
    /// The first client handle.
    pub offset: u32,
}

/// What came.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watched {
    pub notifications: u64,
    /// Values that were not one more than the last of their item.
    pub gaps: u64,
}

impl AddAssign for Watched {
    fn add_assign(&mut self, other: Self) {
        self.notifications += other.notifications;
        self.gaps += other.gaps;
    }
}

/// A session.
pub struct Watcher {
    socket: Stream,
    connection: Connection,
    clock: Clock,
    token: NodeId,
    /// The last value of each item, by its handle.
    last: Vec<f64>,
    subscriptions: usize,
    acknowledge: Vec<SubscriptionAcknowledgement>,
    in_flight: usize,
}

const PATIENCE: Duration = Duration::from_secs(30);
/// The calls of a client that does not wait for each answer.
const CALLS_AT_ONCE: usize = 4;

impl Watcher {
    pub fn connect(url: &str) -> anyhow::Result<Self> {
        let access = Access {
            security: Security::Exactly(Protection::NONE),
            trust: TrustRule::Everyone,
            timeout: PATIENCE,
            ..Access::new(
                url.parse()?,
                Store::new(std::env::temp_dir().join("uaperf-bench-unused")),
                pki::make::Request::application("urn:uaperf:bench:watcher").dns("localhost"),
            )
        };
        let opening = access.discover()?;
        let session: Session = access.open(&opening, &mut Vec::new())?;
        let (mut socket, connection, absent) = session.take_apart();
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            socket,
            connection,
            clock: Clock::new(),
            token: absent.token().clone(),
            last: Vec::new(),
            subscriptions: 0,
            acknowledge: Vec::new(),
            in_flight: 0,
        })
    }

    /// Creates subscriptions and items; tells how long the calls for items took, whose requests
    /// are encoded before.
    pub fn create(&mut self, plan: &Plan) -> anyhow::Result<Duration> {
        let millis = plan.publishing.as_secs_f64() * 1e3;
        let mut bodies = Vec::new();
        let mut handle = plan.offset;
        for _ in 0..plan.subscriptions {
            let request = CreateSubscriptionRequest {
                request_header: self.header(),
                requested_publishing_interval: millis,
                requested_lifetime_count: 10_000,
                requested_max_keep_alive_count: 100,
                publishing_enabled: true,
                ..Default::default()
            };
            let response = self.call(&request.into())?;
            let Response::CreateSubscription(created) = response else {
                bail!("another response");
            };
            for from in (0..plan.items).step_by(1000) {
                let items = (from..plan.items.min(from + 1000)).map(|_| {
                    let node = plan.nodes.get(handle as usize % plan.nodes.len().max(1));
                    handle += 1;
                    item(*node.unwrap_or(&0), handle - 1, millis)
                });
                let request = CreateMonitoredItemsRequest {
                    request_header: self.header(),
                    subscription_id: created.subscription_id,
                    timestamps_to_return: TimestampsToReturn::Both,
                    items_to_create: Some(items.collect()),
                };
                let mut body = Vec::new();
                let encoded = Request::from(request).encode(&mut body);
                encoded.map_err(|error| anyhow!("{error}"))?;
                bodies.push(body);
            }
        }
        self.subscriptions += plan.subscriptions;
        self.last.resize(handle as usize, f64::NAN);
        let start = Instant::now();
        let (mut next, mut answered) = (bodies.iter(), 0);
        let mut sent = 0;
        while answered < bodies.len() {
            while sent - answered < CALLS_AT_ONCE
                && let Some(body) = next.next()
            {
                self.send(body)?;
                sent += 1;
            }
            self.flush()?;
            self.receive()?;
            let now = self.clock.now();
            while let Some(event) = self.connection.poll_event(now) {
                match event {
                    Event::Response { body, .. } => {
                        check(body)?;
                        answered += 1;
                    }
                    Event::Closed(error) => return Err(error.into()),
                    _ => {}
                }
            }
        }
        Ok(start.elapsed())
    }

    /// Takes notifications for so long.
    pub fn watch(&mut self, time: Duration) -> anyhow::Result<Watched> {
        let context = ContextOwned::default();
        let template = PublishTemplate::new(self.header(), &context.context())?;
        let mut watched = Watched::default();
        let end = Instant::now() + time;
        while Instant::now() < end {
            // As many as there are subscriptions, and a few that are on their way.
            while self.in_flight < self.subscriptions + 4 {
                let now = self.clock.now();
                let acknowledge = &self.acknowledge;
                let deadline = now.mono + PATIENCE;
                let mut written = Ok(0);
                self.connection.send(deadline, |out, handle| {
                    let start = out.len();
                    out.resize(start + template.len_with(acknowledge.len()), 0);
                    if let Some(place) = out.get_mut(start..) {
                        written = template.write(place, handle, now.utc, acknowledge);
                    }
                })?;
                written?;
                self.acknowledge.clear();
                self.in_flight += 1;
            }
            self.flush()?;
            self.receive()?;
            self.take(&mut watched)?;
        }
        Ok(watched)
    }

    fn take(&mut self, watched: &mut Watched) -> anyhow::Result<()> {
        let now = self.clock.now();
        while let Some(event) = self.connection.poll_event(now) {
            let body = match event {
                Event::Response { body, .. } => body,
                Event::Closed(error) => return Err(error.into()),
                _ => continue,
            };
            self.in_flight -= 1;
            let response = PublishResponse::parse(body)?;
            if response.is_keep_alive() {
                continue;
            }
            self.acknowledge.push(SubscriptionAcknowledgement {
                subscription_id: response.subscription_id,
                sequence_number: response.sequence_number,
            });
            for notification in response.notifications() {
                let Notification::DataChange(items) = notification? else {
                    continue;
                };
                for item in items {
                    let item = item?;
                    watched.notifications += 1;
                    let value = item.value.value.and_then(|value| value.as_f64());
                    let last = self.last.get_mut(item.client_handle as usize);
                    if let (Some(value), Some(last)) = (value, last) {
                        watched.gaps += u64::from(!last.is_nan() && value != *last + 1.0);
                        *last = value;
                    }
                }
            }
        }
        Ok(())
    }

    /// Closes the session with its subscriptions.
    pub fn close(mut self) -> anyhow::Result<()> {
        let request = wire::types::CloseSessionRequest {
            request_header: self.header(),
            delete_subscriptions: true,
        };
        self.call(&request.into()).map(|_| ())
    }

    fn header(&self) -> RequestHeader {
        RequestHeader {
            authentication_token: self.token.clone(),
            timestamp: self.clock.now().utc.into(),
            timeout_hint: 0,
            ..RequestHeader::default()
        }
    }

    fn send(&mut self, body: &[u8]) -> anyhow::Result<()> {
        let deadline = self.clock.now().mono + PATIENCE;
        let append = |out: &mut Vec<u8>, _| out.extend_from_slice(body);
        self.connection.send(deadline, append)?;
        Ok(())
    }

    /// Calls, and takes what else comes meanwhile for nothing.
    fn call(&mut self, request: &Request) -> anyhow::Result<Response> {
        let mut body = Vec::new();
        let encoded = request.encode(&mut body);
        encoded.map_err(|error| anyhow!("{error}"))?;
        self.send(&body)?;
        self.flush()?;
        loop {
            self.receive()?;
            let now = self.clock.now();
            while let Some(event) = self.connection.poll_event(now) {
                match event {
                    Event::Response { body, .. } => {
                        match Response::decode(body, &Default::default())? {
                            Response::Publish(_) => {}
                            Response::Fault(fault) => {
                                match fault.response_header.service_result {
                                    // Publish requests that nobody needs any more.
                                    StatusCode::BadNoSubscription
                                    | StatusCode::BadSessionClosed => {}
                                    status => bail!("{status}"),
                                }
                            }
                            other => return Ok(other),
                        }
                    }
                    Event::Closed(error) => return Err(error.into()),
                    _ => {}
                }
            }
        }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        while !self.connection.pending().is_empty() {
            let n = self.socket.write(self.connection.pending())?;
            self.connection.wrote(n);
        }
        Ok(())
    }

    fn receive(&mut self) -> anyhow::Result<()> {
        match self.socket.read(self.connection.space(256 * 1024)) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(n) => self.connection.filled(n),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn item(node: u32, client_handle: u32, millis: f64) -> MonitoredItemCreateRequest {
    MonitoredItemCreateRequest {
        item_to_monitor: ReadValueId {
            node_id: NodeId::new(2, node),
            attribute_id: AttributeId::Value as u32,
            index_range: Default::default(),
            data_encoding: QualifiedName::null(),
        },
        monitoring_mode: MonitoringMode::Reporting,
        requested_parameters: MonitoringParameters {
            client_handle,
            sampling_interval: millis,
            // What a busy machine publishes late is not lost.
            queue_size: 10,
            discard_oldest: true,
            ..Default::default()
        },
    }
}

/// Whether all items were created.
fn check(body: &[u8]) -> anyhow::Result<()> {
    for item in wire::template::walk::created_items(body)? {
        let status = item?.status;
        if status != StatusCode::Good {
            bail!("an item was refused: {status}");
        }
    }
    Ok(())
}
