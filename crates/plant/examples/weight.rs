//! What connections, sessions and monitored items weigh in a server: `weight [COUNT]`.
//!
//! The server is a process of its own, whose resident bytes are read from /proc; each figure is
//! the slope between a quarter of COUNT and all of them, so that what the server has anyway does
//! not count. For items the processor time of each publishing is shown too.

#![allow(clippy::unwrap_used, reason = "a measurement that fails must stop")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plant::{Clock, Config, Profile, Server};
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::client::{self, Connection, Event};
use wire::policy::{Mode, Policy, PrivateKey};
use wire::service::{Response, Service};
use wire::session::client::Session;
use wire::session::token::Credentials;
use wire::session::{Channel, Nonce};
use wire::types::{
    ApplicationDescription, AttributeId, CreateMonitoredItemsRequest, CreateSubscriptionRequest,
    MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters, NodeId, PublishRequest,
    QualifiedName, ReadValueId, TimestampsToReturn,
};

fn random(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).unwrap();
}

fn identity(key: &[u8], certificate: &[u8]) -> Identity {
    Identity {
        certificate: Certificate::from_der(certificate).unwrap(),
        key: PrivateKey::from_der(key).unwrap(),
    }
}

/// The server's side: says where it is and waits for the end of its input.
fn serve(folder: &str) {
    let key = pki::Key::from_der(&std::fs::read(format!("{folder}/key")).unwrap()).unwrap();
    let certificate = std::fs::read(format!("{folder}/certificate")).unwrap();
    let certificate = pki::Certificate::from_der(&certificate).unwrap();
    let mut config = Config {
        identity: Some(pki::Identity::new(certificate, key)),
        profiles: vec![Profile::Bench {
            update: Some(Duration::from_millis(100)),
        }],
        threads: 1,
        ..Config::default()
    };
    config.limits.connections = 100_000;
    config.limits.sessions = 100_000;
    let server = Server::start(config).unwrap();
    println!("{}", server.url());
    let _ = std::io::stdin().read(&mut [0]);
}

struct Plant {
    process: Child,
    url: String,
}

impl Plant {
    fn start(folder: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["serve", folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let out = process.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        Self { process, url }
    }

    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS"));
        let word = line.unwrap().split_whitespace().nth(1).unwrap();
        word.parse::<u64>().unwrap() * 1024
    }

    /// Nanoseconds of processor time of all threads.
    fn cpu(&self) -> u64 {
        let path = format!("/proc/{}/task", self.process.id());
        let tasks = std::fs::read_dir(path).unwrap();
        let of = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap();
            text.split_whitespace()
                .next()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        tasks.map(|task| of(task.unwrap())).sum()
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

struct Client {
    socket: TcpStream,
    connection: Connection,
    clock: Clock,
}

impl Client {
    fn connect(url: &str, clock: Clock, own: Option<(&Identity, &Identity)>) -> Self {
        let socket = TcpStream::connect(url.strip_prefix("opc.tcp://").unwrap()).unwrap();
        socket.set_nodelay(true).unwrap();
        let mut config = client::Config::new(url, Box::new(random));
        if let Some((own, server)) = own {
            config.protection = Protection {
                policy: Policy::Basic256Sha256,
                mode: Mode::SignAndEncrypt,
            };
            config.identity = Some(own.clone());
            config.server = Some(server.certificate.clone());
        }
        let connection = Connection::new(config, clock.now());
        let mut client = Self {
            socket,
            connection,
            clock,
        };
        loop {
            client.turn();
            while client.connection.poll_event(clock.now()).is_some() {}
            if client.connection.is_open() {
                break;
            }
            // What came may have given a job, whose end is not announced by the socket, or
            // something to send.
            match client.connection.poll_job() {
                Some(job) => {
                    let done = job.run();
                    client.connection.complete(done, clock.now());
                }
                None if client.connection.pending().is_empty() => client.receive(),
                None => {}
            }
        }
        client
    }

    fn turn(&mut self) {
        while let Some(job) = self.connection.poll_job() {
            let done = job.run();
            self.connection.complete(done, self.clock.now());
        }
        while !self.connection.pending().is_empty() {
            let n = self.socket.write(self.connection.pending()).unwrap();
            self.connection.wrote(n);
        }
    }

    fn receive(&mut self) {
        let mut buffer = [0; 65536];
        let n = self.socket.read(&mut buffer).unwrap();
        assert_ne!(n, 0, "the server closed the connection");
        self.connection.receive(&buffer[..n]);
    }

    fn call<S: Service>(&mut self, token: &NodeId, request: S) -> S::Response {
        let mut request = request.into();
        request.header_mut().authentication_token = token.clone();
        let deadline = self.clock.now().mono + Duration::from_secs(60);
        let send = |out: &mut Vec<u8>, number| {
            request.header_mut().request_handle = number;
            request.encode(out).unwrap();
        };
        self.connection.send(deadline, send).unwrap();
        loop {
            self.turn();
            self.receive();
            let now = self.clock.now();
            while let Some(event) = self.connection.poll_event(now) {
                if let Event::Response { body, .. } = event {
                    let response = Response::decode(body, &Default::default()).unwrap();
                    return S::Response::try_from(response).unwrap();
                }
            }
        }
    }

    fn log_in(&mut self, url: &str, own: Option<(&Identity, &Identity)>) -> NodeId {
        let channel = Channel {
            id: self.connection.channel_id(),
            protection: self.connection.protection(),
            peer: own.map(|(_, server)| server.certificate.clone()),
        };
        let application = ApplicationDescription {
            application_uri: "urn:weight".into(),
            ..Default::default()
        };
        let mut config = wire::session::client::Config::new(application, url);
        config.identity = own.map(|(own, _)| own.clone());
        let mut session = Session::new(config, channel);
        if let Some((_, server)) = own {
            session.trust(server.certificate.clone());
        }
        let mut nonce = Nonce::default();
        random(&mut nonce);
        let null = NodeId::null();
        let response = self.call(&null, session.create_request(nonce, self.clock.now()));
        let verified = session.created(response).unwrap().run();
        session.verified(verified).unwrap();
        let job = session.activate(&Credentials::Anonymous, None, self.clock.now());
        let request = job.unwrap().run().unwrap();
        let token = request.request_header.authentication_token.clone();
        let response = self.call(&token, request);
        session.activated(response).unwrap();
        token
    }
}

fn slope(
    what: &str,
    count: usize,
    folder: &str,
    own: Option<(&Identity, &Identity)>,
    session: bool,
) {
    let (plant, clock) = (Plant::start(folder), Clock::start());
    let mut clients = Vec::new();
    let mut before = 0;
    for n in 0..count {
        if n == count / 4 {
            std::thread::sleep(Duration::from_millis(200));
            before = plant.resident();
        }
        let mut client = Client::connect(&plant.url, clock, own);
        if session {
            client.log_in(&plant.url, own);
        }
        clients.push(client);
    }
    std::thread::sleep(Duration::from_millis(200));
    let grown = plant.resident().saturating_sub(before);
    println!("{what}: {} bytes each", grown / (count - count / 4) as u64);
}

fn items(folder: &str, count: usize) {
    let (plant, clock) = (Plant::start(folder), Clock::start());
    let mut client = Client::connect(&plant.url, clock, None);
    let token = client.log_in(&plant.url, None);
    let created = client.call(
        &token,
        CreateSubscriptionRequest {
            requested_publishing_interval: 100.0,
            requested_lifetime_count: 10_000,
            requested_max_keep_alive_count: 100,
            publishing_enabled: true,
            ..Default::default()
        },
    );
    let before = plant.resident();
    for part in 0..count.div_ceil(1000) {
        let items = (0..1000).map(|n| MonitoredItemCreateRequest {
            item_to_monitor: ReadValueId {
                node_id: NodeId::new(2, 1000 + n),
                attribute_id: AttributeId::Value as u32,
                index_range: Default::default(),
                data_encoding: QualifiedName::null(),
            },
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: MonitoringParameters {
                client_handle: (part * 1000) as u32 + n,
                sampling_interval: 100.0,
                queue_size: 1,
                ..Default::default()
            },
        });
        client.call(
            &token,
            CreateMonitoredItemsRequest {
                subscription_id: created.subscription_id,
                timestamps_to_return: TimestampsToReturn::Source,
                items_to_create: Some(items.collect()),
                ..Default::default()
            },
        );
    }
    let weight = plant.resident().saturating_sub(before) / count as u64;
    client.call::<PublishRequest>(&token, PublishRequest::default());
    let (turns, cpu) = (20, plant.cpu());
    for _ in 0..turns {
        client.call::<PublishRequest>(&token, PublishRequest::default());
    }
    let each = (plant.cpu() - cpu) / (turns * count) as u64;
    println!("{count} items, all changing: {weight} bytes and {each} ns per publishing each");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, folder] = words.as_slice()
        && mode == "serve"
    {
        return serve(folder);
    }
    let count = words.first().map_or(1000, |n| n.parse().unwrap());
    let folder = std::env::temp_dir().join(format!("weight-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let key = pki::Key::generate(2048).unwrap();
    let request = pki::make::Request::application("urn:weight").days(3);
    let certificate = request.self_signed(&key, std::time::SystemTime::now().into());
    let certificate = certificate.unwrap();
    std::fs::write(folder.join("key"), key.pkcs8()).unwrap();
    std::fs::write(folder.join("certificate"), certificate.der()).unwrap();
    let both = identity(key.pkcs8(), certificate.der());
    let own = Some((&both, &both));
    let folder = folder.to_str().unwrap();
    slope("connections, None", count, folder, None, false);
    slope("sessions, None", count, folder, None, true);
    slope(
        "sessions, Basic256Sha256",
        count.min(500),
        folder,
        own,
        true,
    );
    items(folder, 1000);
    items(folder, 10_000);
    std::fs::remove_dir_all(folder).unwrap();
}
