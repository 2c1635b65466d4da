//! A plant that serves a client in the same process: what a Read and a notification cost.
//!
//! `read-N`: a round is 16 Reads of N nodes that come together. `publish-N`: a round is a publishing interval in which N
//! items have a value to report, its Publish request and its acknowledgement. The client's part is counted, too, and is small.

use std::path::Path;
use std::time::Duration;

use plant::in_memory::{ClientEnd, InMemory};
use plant::{Config, Limits, Plant};
use wire::client::{self, Connection, Event};
use wire::service::{Response, Service};
use wire::session::client::Session;
use wire::session::token::Credentials;
use wire::session::{Channel, Nonce};
use wire::template::{Template, walk};
use wire::types::{
    ApplicationDescription, AttributeId, ContextOwned, CreateMonitoredItemsRequest,
    CreateSubscriptionRequest, MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters,
    NodeId, PublishRequest, QualifiedName, ReadRequest, ReadValueId, RequestHeader,
    SubscriptionAcknowledgement, TimestampsToReturn,
};

const AT_ONCE: usize = 16;
const INTERVAL: Duration = Duration::from_millis(100);
const TEXT: &str = r#"
name = "served"
[[namespace]]
uri = "urn:served"
[[namespace.signals]]
ids = "i=1000..1999"
type = "Double"
pattern = "counter"
update = "100ms"
"#;

fn random(bytes: &mut [u8]) {
    bytes.fill(7);
}

struct Bench {
    server: InMemory,
    end: ClientEnd,
    client: Connection,
    token: NodeId,
}

impl Bench {
    fn new() -> Self {
        let plant = Plant::parse(TEXT, "served", Path::new("")).unwrap();
        let mut server = InMemory::new(plant.config(Config {
            profiles: Vec::new(),
            threads: 1,
            limits: Limits {
                message_timeout: Duration::from_secs(3600),
                ..Limits::default()
            },
            ..Config::default()
        }))
        .unwrap();
        let end = server.connect(usize::MAX);
        let url = "opc.tcp://served:4840";
        let client = Connection::new(client::Config::new(url, Box::new(random)), server.now());
        let mut bench = Self {
            server,
            end,
            client,
            token: NodeId::null(),
        };
        while !bench.client.is_open() {
            bench.turn();
            while bench.client.poll_event(bench.server.now()).is_some() {}
        }
        let channel = Channel {
            id: bench.client.channel_id(),
            protection: bench.client.protection(),
            peer: None,
        };
        let config = wire::session::client::Config::new(ApplicationDescription::default(), url);
        let mut session = Session::new(config, channel);
        let mut nonce = Nonce::default();
        random(&mut nonce);
        let response = bench.call(session.create_request(nonce, bench.server.now()));
        let verified = session.created(response).unwrap().run();
        session.verified(verified).unwrap();
        let job = session.activate(&Credentials::Anonymous, None, bench.server.now());
        let request = job.unwrap().run().unwrap();
        bench.token = session.authentication_token();
        let response = bench.call(request);
        session.activated(response).unwrap();
        bench
    }

    /// What both have for each other is taken, and the server has a turn.
    fn turn(&mut self) {
        let pending = self.client.pending();
        let count = pending.len();
        self.end.send(pending);
        self.client.wrote(count);
        self.server.turn();
        self.client.receive(&self.end.take(usize::MAX));
    }

    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>, u32)) {
        let deadline = self.server.now().mono + Duration::from_secs(3600);
        self.client.send(deadline, write).unwrap();
    }

    fn put<S: Service>(&mut self, request: S) {
        let mut request = request.into();
        request.header_mut().authentication_token = self.token.clone();
        self.send(|out, number| {
            request.header_mut().request_handle = number;
            request.encode(out).unwrap();
        });
    }

    /// Takes turns until there is an answer.
    fn answer<T>(&mut self, look: impl Fn(&[u8]) -> T) -> T {
        for _ in 0..1000 {
            self.turn();
            let now = self.server.now();
            while let Some(event) = self.client.poll_event(now) {
                match event {
                    Event::Response { body, .. } => return look(body),
                    Event::Closed(error) => panic!("{error}"),
                    _ => {}
                }
            }
        }
        panic!("no answer")
    }

    fn call<S: Service>(&mut self, request: S) -> S::Response {
        self.put(request);
        let response = self.answer(|body| Response::decode(body, &Default::default()).unwrap());
        S::Response::try_from(response).unwrap()
    }

    fn read(&mut self, nodes: usize, rounds: usize) {
        let request = ReadRequest {
            request_header: RequestHeader {
                authentication_token: self.token.clone(),
                ..Default::default()
            },
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Source,
            nodes_to_read: Some((0..nodes).map(value).collect()),
        };
        let context = ContextOwned::default();
        let template = Template::new(&request, &context.context()).unwrap();
        for _ in 0..rounds {
            let now = self.server.now();
            for _ in 0..AT_ONCE {
                self.send(|out, number| template.append(out, number, now.utc));
            }
            let mut left = AT_ONCE;
            while left > 0 {
                self.turn();
                while let Some(event) = self.client.poll_event(now) {
                    if let Event::Response { body, .. } = event {
                        walk::check_read(body, nodes).unwrap();
                        left -= 1;
                    }
                }
            }
        }
    }

    fn publish(&mut self, items: usize, rounds: usize) {
        let subscription = self.call(CreateSubscriptionRequest {
            requested_publishing_interval: INTERVAL.as_secs_f64() * 1000.0,
            requested_lifetime_count: 10_000,
            requested_max_keep_alive_count: 100,
            publishing_enabled: true,
            ..Default::default()
        });
        let id = subscription.subscription_id;
        let items_to_create = (0..items).map(|n| MonitoredItemCreateRequest {
            item_to_monitor: value(n),
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: MonitoringParameters {
                client_handle: n as u32,
                sampling_interval: INTERVAL.as_secs_f64() * 1000.0,
                queue_size: 1,
                ..Default::default()
            },
        });
        self.call(CreateMonitoredItemsRequest {
            subscription_id: id,
            timestamps_to_return: TimestampsToReturn::Source,
            items_to_create: Some(items_to_create.collect()),
            ..Default::default()
        });
        let mut last = None;
        for _ in 0..rounds {
            let acknowledged = last.map(|sequence_number| SubscriptionAcknowledgement {
                subscription_id: id,
                sequence_number,
            });
            self.put(PublishRequest {
                subscription_acknowledgements: acknowledged.map(|it| vec![it]),
                ..Default::default()
            });
            self.turn();
            self.server.pass(INTERVAL);
            let told = self.answer(|body| {
                let response = walk::PublishResponse::parse(body).unwrap();
                (response.sequence_number, body.len())
            });
            assert!(told.1 > 20 * items, "{} bytes of {items} values", told.1);
            last = Some(told.0);
        }
    }
}

fn value(n: usize) -> ReadValueId {
    ReadValueId {
        node_id: NodeId::new(2, 1000 + n as u32),
        attribute_id: AttributeId::Value as u32,
        index_range: Default::default(),
        data_encoding: QualifiedName::null(),
    }
}

/// Serves so many rounds.
pub fn run(path: &str, rounds: u32) {
    let (what, many) = path.split_once('-').expect("read-N or publish-N");
    let many = many.parse().expect("a number");
    let rounds = rounds as usize;
    let mut bench = Bench::new();
    match what {
        "read" => bench.read(many, rounds),
        "publish" => bench.publish(many, rounds),
        other => panic!("{other}: read or publish"),
    }
}
