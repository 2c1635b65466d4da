//! How many Reads a server answers to one connection: `reads [URL] IN_FLIGHT BATCH SECONDS`.
//!
//! Without a URL a plant is started in this process. Prints requests and values per second and,
//! on Linux, what each request cost both sides together.

#![allow(clippy::unwrap_used, reason = "a measurement that fails must stop")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use plant::{Clock, Config, Profile, Server};
use wire::client::{self, Connection, Event};
use wire::service::{Response, Service};
use wire::session::client::Session;
use wire::session::token::Credentials;
use wire::session::{Channel, Nonce};
use wire::template::{Template, walk};
use wire::types::{
    ApplicationDescription, AttributeId, ContextOwned, NodeId, QualifiedName, ReadRequest,
    ReadValueId, RequestHeader, TimestampsToReturn,
};

fn random(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).unwrap();
}

struct Client {
    socket: TcpStream,
    connection: Connection,
    clock: Clock,
}

impl Client {
    fn flush(&mut self) {
        while !self.connection.pending().is_empty() {
            let n = self.socket.write(self.connection.pending()).unwrap();
            self.connection.wrote(n);
        }
    }

    fn receive(&mut self) {
        let n = self.socket.read(self.connection.space(1 << 18)).unwrap();
        assert_ne!(n, 0, "the server closed the connection");
        self.connection.filled(n);
    }

    fn call<S: Service>(&mut self, request: S) -> S::Response {
        let mut request = request.into();
        let deadline = self.clock.now().mono + Duration::from_secs(10);
        let send = |out: &mut Vec<u8>, number| {
            request.header_mut().request_handle = number;
            request.encode(out).unwrap();
        };
        self.connection.send(deadline, send).unwrap();
        self.flush();
        loop {
            let now = self.clock.now();
            while let Some(event) = self.connection.poll_event(now) {
                if let Event::Response { body, .. } = event {
                    let response = Response::decode(body, &Default::default()).unwrap();
                    return S::Response::try_from(response).unwrap();
                }
            }
            self.receive();
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let url = arguments.next_if(|word| word.starts_with("opc.tcp"));
    let mut number = |otherwise| arguments.next().map_or(otherwise, |n| n.parse().unwrap());
    let (in_flight, batch, seconds) = (number(64), number(1), number(3));
    let server = url.is_none().then(|| {
        Server::start(Config {
            profiles: vec![Profile::Bench { update: None }],
            ..Config::default()
        })
        .unwrap()
    });
    let url = url.unwrap_or_else(|| server.as_ref().unwrap().url().to_owned());

    let clock = Clock::start();
    let socket = TcpStream::connect(url.strip_prefix("opc.tcp://").unwrap()).unwrap();
    socket.set_nodelay(true).unwrap();
    let config = client::Config::new(&*url, Box::new(random));
    let connection = Connection::new(config, clock.now());
    let mut client = Client {
        socket,
        connection,
        clock,
    };
    client.flush();
    while !client.connection.is_open() {
        client.receive();
        while client.connection.poll_event(clock.now()).is_some() {}
        client.flush();
    }
    let channel = Channel {
        id: client.connection.channel_id(),
        protection: client.connection.protection(),
        peer: None,
    };
    let config = wire::session::client::Config::new(ApplicationDescription::default(), &*url);
    let mut session = Session::new(config, channel);
    let mut nonce = Nonce::default();
    random(&mut nonce);
    let response = client.call(session.create_request(nonce, clock.now()));
    let verified = session.created(response).unwrap().run();
    session.verified(verified).unwrap();
    let job = session.activate(&Credentials::Anonymous, None, clock.now());
    let response = client.call(job.unwrap().run().unwrap());
    session.activated(response).unwrap();

    let nodes = (0..batch).map(|n| ReadValueId {
        node_id: NodeId::new(2, 1000 + (n % 500) as u32),
        attribute_id: AttributeId::Value as u32,
        index_range: Default::default(),
        data_encoding: QualifiedName::null(),
    });
    let request = ReadRequest {
        request_header: RequestHeader {
            authentication_token: session.authentication_token(),
            ..Default::default()
        },
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(nodes.collect()),
    };
    let context = ContextOwned::default();
    let template = Template::new(&request, &context.context()).unwrap();

    let (mut done, mut to_send) = (0u64, in_flight);
    let (start, cpu) = (Instant::now(), cpu());
    let limit = Duration::from_secs(seconds as u64);
    while start.elapsed() < limit {
        let now = clock.now();
        let deadline = now.mono + Duration::from_secs(60);
        for _ in 0..to_send {
            let append = |out: &mut Vec<u8>, number| template.append(out, number, now.utc);
            client.connection.send(deadline, append).unwrap();
        }
        to_send = 0;
        client.flush();
        client.receive();
        while let Some(event) = client.connection.poll_event(now) {
            if let Event::Response { body, .. } = event {
                walk::check_read(body, batch).unwrap();
                to_send += 1;
                done += 1;
            }
        }
    }
    let (elapsed, cpu) = (start.elapsed().as_secs_f64(), self::cpu() - cpu);
    let rate = done as f64 / elapsed;
    println!(
        "{rate:.0} requests/s, {:.0} values/s, {:.2} µs of CPU each",
        rate * batch as f64,
        cpu / done as f64 * 1e6
    );
}

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |n: usize| {
        fields
            .get(n)
            .and_then(|f| f.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}
