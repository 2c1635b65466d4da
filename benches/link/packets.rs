//! The same over a link of packets, with the kernel's TCP on it; what losses do there; how fast packets are carried.

use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use link::Spec;
use load::packet_link::{FAR, PacketLink, Settings};

use crate::{TIMES, ask, millis, serve, table};

/// Takes the parts that are wanted.
pub fn run(wants: impl Fn(&str) -> bool) {
    if let Err(error) = PacketLink::start(&Settings::default()) {
        let hint = error.hint().unwrap_or_default();
        println!("SKIPPED packets: {error}: {hint}");
        return;
    }
    if wants("packets") {
        println!("packets between two namespaces, with the kernel's TCP");
        table(over_packets);
    }
    if wants("loss") {
        losses();
    }
    if wants("rate") {
        rate();
    }
}

fn start(spec: Spec, seed: u64) -> PacketLink {
    let settings = Settings {
        spec,
        seed,
        // It sends at once what it may, and is allowed everywhere. BBR sends at a pace, which takes longer than is
        // calculated.
        congestion: Some("reno".to_owned()),
        ..Settings::default()
    };
    PacketLink::start(&settings).expect("a link")
}

fn server(link: &PacketLink, request: usize, response: usize) -> SocketAddr {
    let listener = link.far().inside(|| TcpListener::bind((FAR, 0)));
    let listener = listener.expect("a namespace").expect("a listener");
    serve(listener, request, response)
}

fn connect(link: &PacketLink, to: SocketAddr) -> TcpStream {
    let socket = link.near().inside(move || TcpStream::connect(to));
    let socket = socket.expect("a namespace").expect("a connection");
    socket.set_nodelay(true).expect("a socket");
    socket
}

/// Asks a server at the far end over one connection, once its window has grown to hold a whole answer.
fn over_packets(spec: Spec, request: usize, response: usize) -> Vec<Duration> {
    let link = start(spec, 1);
    let mut socket = connect(&link, server(&link, request, response));
    for _ in 0..4 {
        ask(&mut socket, request, response);
    }
    (0..TIMES)
        .map(|_| ask(&mut socket, request, response))
        .collect()
}

/// What single losses cost: requests over one connection, and beginnings of new ones.
fn losses() {
    const TEXT: &str = "10Mbit/s,delay=5ms,loss=2%";
    let spec: Spec = TEXT.parse().expect("a link");
    let link = start(spec, 1);
    let to = server(&link, 100, 100);
    let mut socket = connect(&link, to);
    let exchanges: Vec<_> = (0..1000).map(|_| ask(&mut socket, 100, 100)).collect();
    let account = link.finish().expect("an account");
    let lost = account.up.lost + account.down.lost;
    println!("{TEXT}: 1000 exchanges of 100 bytes, one connection; {lost} packets lost");
    steps(&exchanges, &[15, 200, 260, 400, 520]);

    const OPENING: &str = "10Mbit/s,delay=5ms,loss=10%";
    let link = start(OPENING.parse().expect("a link"), 1);
    let to = server(&link, 100, 100);
    // Many at a time: a second each is long.
    let opening: Vec<_> = (0..200)
        .map(|_| {
            let one = link.near().inside(move || {
                std::thread::spawn(move || {
                    let began = Instant::now();
                    TcpStream::connect(to).map(|_| began.elapsed())
                })
            });
            one.expect("a namespace")
        })
        .collect();
    let opened: Vec<_> = opening
        .into_iter()
        .map(|it| it.join().expect("a thread").expect("a connection"))
        .collect();
    println!("{OPENING}: 200 connections are opened");
    steps(&opened, &[200, 1_000, 1_200, 3_000, 3_300, 7_000]);
}

/// How many took how long.
fn steps(all: &[Duration], bounds: &[u64]) {
    let mut from = Duration::ZERO;
    let ends = bounds.iter().map(|it| Duration::from_millis(*it));
    for to in ends.chain([Duration::MAX]) {
        let mut these: Vec<_> = all.iter().filter(|it| (from..to).contains(*it)).collect();
        these.sort();
        if let (Some(first), Some(last), Some(median)) =
            (these.first(), these.last(), these.get(these.len() / 2))
        {
            println!(
                "  {:>5} of {}: {:.2} to {:.2} ms, median {:.2} ms",
                these.len(),
                all.len(),
                millis(**first),
                millis(**last),
                millis(**median),
            );
        }
        from = to;
    }
    println!();
}

/// How many packets a second the link carries, and what one costs.
fn rate() {
    const TIME: Duration = Duration::from_secs(2);
    println!("the link without a limit, for {} s each", TIME.as_secs());
    for (name, size) in [
        ("datagrams of 100 bytes", 100),
        ("datagrams of 1,400 bytes", 1_400),
    ] {
        let link = start(Spec::default(), 1);
        let receiver = link.far().inside(|| UdpSocket::bind((FAR, 0)));
        let receiver = receiver.expect("a namespace").expect("a socket");
        let to = receiver.local_addr().expect("an address");
        let sender = link.near().inside(|| UdpSocket::bind("0.0.0.0:0"));
        let sender = sender.expect("a namespace").expect("a socket");
        let datagram = vec![1; size];
        let began = Instant::now();
        while began.elapsed() < TIME {
            for _ in 0..64 {
                let _ = sender.send_to(&datagram, to);
            }
        }
        report(name, link, began.elapsed());
    }
    let link = start(Spec::default(), 1);
    let answer = 50_000_000;
    let mut socket = connect(&link, server(&link, 100, answer));
    let began = Instant::now();
    let mut bytes = 0;
    while began.elapsed() < TIME {
        ask(&mut socket, 100, answer);
        bytes += answer;
    }
    let elapsed = began.elapsed();
    println!(
        "  one connection of TCP: {:.0} Mbit/s",
        bytes as f64 * 8e-6 / elapsed.as_secs_f64()
    );
    report("its packets, both ways", link, elapsed);
}

fn report(name: &str, link: PacketLink, elapsed: Duration) {
    let account = link.finish().expect("an account");
    let (up, down) = (account.up, account.down);
    let arrived = up.arrived + down.arrived;
    println!(
        "  {name}: {:.0} packets/s carried, {:.2} us of processor time each, {} dropped by the kernel, late by {:.0} us \
         (mean), {:.0} us (p99)",
        arrived as f64 / elapsed.as_secs_f64(),
        account.cpu_ns as f64 / 1e3 / arrived.max(1) as f64,
        up.overrun + down.overrun,
        up.late_mean_ns.max(down.late_mean_ns) as f64 / 1e3,
        up.late_p99_ns.max(down.late_p99_ns) as f64 / 1e3,
    );
}
