//! How long exchanges take over an emulated link, beside what can be calculated for it.
//!
//! `cargo bench -p benches --bench link` takes the relay, then the link of packets between two network namespaces
//! (Linux, as root). `-- relay`, `-- packets`, `-- loss` and `-- rate` take one part.

#![allow(
    clippy::expect_used,
    reason = "a bench has nobody to tell but its user"
)]

#[cfg(target_os = "linux")]
mod packets;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use link::{Direction, HEADERS, SEGMENT, Spec};
use load::relay::{Background, Settings};

/// Links whose times are not a matter of chance.
const LINKS: [&str; 12] = [
    "delay=1ms",
    "delay=20ms",
    "64kbit/s",
    "256kbit/s,delay=100ms",
    "1Mbit/s,delay=5ms",
    "2Mbit/s,delay=4630us",
    "2Mbit/s,delay=20ms,queue=64KiB",
    "up.rate=1Mbit/s,down.rate=16Mbit/s,delay=10ms",
    "10Mbit/s,delay=2ms",
    "50Mbit/s,delay=15ms,overhead=80B",
    "100Mbit/s,delay=500us",
    "up.rate=3Mbit/s,down.rate=20Mbit/s,delay=275ms",
];
/// Bytes of request and response: a Read of one value, one of 100, and a large answer.
const EXCHANGES: [(usize, usize); 3] = [(100, 100), (4_000, 2_000), (100, 60_000)];
/// Exchanges of each kind on each link.
const TIMES: usize = 9;

fn main() {
    let parts: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    if wants("relay") {
        println!("over the relay");
        table(over_the_relay);
    }
    #[cfg(target_os = "linux")]
    packets::run(wants);
}

/// Measures all exchanges on all links, and prints them beside what they come to.
fn table(mut exchanges: impl FnMut(Spec, usize, usize) -> Vec<Duration>) {
    println!("request  response   calculated     emulated  p10 to p90 of it          error  link");
    let mut errors = Vec::new();
    for text in LINKS {
        let spec: Spec = text.parse().expect("a link");
        for (request, response) in EXCHANGES {
            let calculated = time(spec.up, request) + time(spec.down, response);
            let mut took = exchanges(spec, request, response);
            took.sort();
            let at = |share: usize| took.get((took.len() - 1) * share / 100).copied();
            let at = |share| at(share).unwrap_or_default();
            let error = at(50).as_secs_f64() / calculated.as_secs_f64() - 1.0;
            errors.push(error.abs());
            println!(
                "{request:>7}  {response:>8}  {:>8.3} ms  {:>8.3} ms  {:>8.3} to {:>8.3} ms  {:>6.2} %  {text}",
                millis(calculated),
                millis(at(50)),
                millis(at(10)),
                millis(at(90)),
                error * 100.0,
            );
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let largest = errors.iter().copied().fold(0.0, f64::max);
    println!(
        "\nmean error {:.2} %, largest {:.2} %\n",
        mean * 100.0,
        largest * 100.0
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// How long so many bytes take in one direction of an idle link.
fn time(direction: Direction, bytes: usize) -> Duration {
    let segments = bytes.div_ceil(SEGMENT) as u64;
    let on_line = bytes as u64 + segments * (HEADERS + direction.overhead.0);
    let seconds = direction
        .rate
        .map_or(0.0, |rate| on_line as f64 * 8.0 / rate.get() as f64);
    direction.delay + Duration::from_secs_f64(seconds)
}

/// Asks a server behind a relay, one question after the other.
fn over_the_relay(spec: Spec, request: usize, response: usize) -> Vec<Duration> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let to = serve(listener, request, response);
    let link = Background::start(Settings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        to: vec![to],
        spec,
        seed: 1,
        connections: 1,
    })
    .expect("a relay");
    let mut socket = TcpStream::connect(link.address()).expect("a connection");
    socket.set_nodelay(true).expect("a socket");
    // The first one waits for the connection's beginning.
    ask(&mut socket, request, response);
    (0..TIMES)
        .map(|_| ask(&mut socket, request, response))
        .collect()
}

/// Asks once.
fn ask(socket: &mut TcpStream, request: usize, response: usize) -> Duration {
    let question = vec![1; request];
    let mut answer = vec![0; response];
    let began = Instant::now();
    socket.write_all(&question).expect("a question");
    socket.read_exact(&mut answer).expect("an answer");
    began.elapsed()
}

/// A server that answers at once, each of its connections in a thread.
fn serve(listener: TcpListener, request: usize, response: usize) -> SocketAddr {
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            socket.set_nodelay(true).expect("a socket");
            std::thread::spawn(move || {
                let mut question = vec![0; request];
                let answer = vec![2; response];
                while socket.read_exact(&mut question).is_ok() {
                    if socket.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
