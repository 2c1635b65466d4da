//! A link between two network namespaces, with the kernel's own TCP over it. What the kernel does is asserted from its
//! documents (RFC 6298, RFC 6928), what the link does from the model in virtual time.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use link::{LinkDirection, Outcome, Spec};
use load::packet_link::{FAR, PacketLink, Settings};

/// A link, or nothing where this user may not have one.
fn lab_with(text: &str, seed: u64, far: &[IpAddr]) -> Option<PacketLink> {
    let settings = Settings {
        spec: text.parse().unwrap(),
        seed,
        far: far.to_vec(),
        // The one that every kernel has: what this host has otherwise may send at a pace of its own.
        congestion: Some("reno".to_owned()),
    };
    match PacketLink::start(&settings) {
        Ok(link) => Some(link),
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            without::skipped("a link between namespaces", &error.to_string(), &hint);
            None
        }
    }
}

fn lab(text: &str, seed: u64) -> Option<PacketLink> {
    lab_with(text, seed, &[])
}

/// A server at the far end of one connection that answers each request of so many bytes with so many.
fn serve(link: &PacketLink, request: usize, response: usize) -> (SocketAddr, JoinHandle<()>) {
    let listener = link.far().inside(|| TcpListener::bind((FAR, 0))).unwrap();
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_nodelay(true).unwrap();
        let mut question = vec![0; request];
        let answer = vec![2; response];
        while socket.read_exact(&mut question).is_ok() {
            socket.write_all(&answer).unwrap();
        }
    });
    (address, server)
}

/// Connects from the near end, and says how long that took.
fn connect(link: &PacketLink, to: SocketAddr) -> (TcpStream, Duration) {
    let began = Instant::now();
    let socket = link.near().inside(move || TcpStream::connect(to)).unwrap();
    let socket = socket.unwrap();
    let took = began.elapsed();
    socket.set_nodelay(true).unwrap();
    (socket, took)
}

fn ask(socket: &mut TcpStream, request: usize, response: usize) -> Duration {
    let began = Instant::now();
    socket.write_all(&vec![1; request]).unwrap();
    socket.read_exact(&mut vec![0; response]).unwrap();
    began.elapsed()
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Which of the first packets upwards are lost with this seed.
fn lost(spec: &str, seed: u64, first: usize) -> Vec<bool> {
    let spec: Spec = spec.parse().unwrap();
    let mut passage = LinkDirection::new(spec.up, seed, 0);
    let fate = (0..first).map(|n| passage.pass(n as u64, 100).0);
    fate.map(|it| matches!(it, Outcome::Lost { .. })).collect()
}

/// A seed with which exactly this packet of the first ten is lost on the way up.
fn seed_that_loses(spec: &str, which: usize) -> u64 {
    let wanted: Vec<bool> = (0..10).map(|n| n == which).collect();
    (1..100_000)
        .find(|&seed| lost(spec, seed, 10) == wanted)
        .unwrap()
}

#[test]
fn connecting_takes_a_round_trip_and_a_new_connection_starts_slowly() {
    let Some(link) = lab("delay=25ms", 1) else {
        return;
    };
    let (address, server) = serve(&link, 100, 60_000);
    let (mut socket, took) = connect(&link, address);
    assert!((ms(50)..ms(900)).contains(&took), "{took:?}");
    // 42 segments, of which 10 go at once (RFC 6928) and 20 after the next round trip: three in all.
    let first = ask(&mut socket, 100, 60_000);
    assert!(first >= ms(150), "{first:?}");
    // The window has grown since, and all of them go at once; the fastest, as this machine may be busy.
    let later = (0..5).map(|_| ask(&mut socket, 100, 60_000)).min();
    let later = later.unwrap();
    assert!((ms(50)..ms(100)).contains(&later), "{later:?}");
    drop(socket);
    server.join().unwrap();
    let account = link.finish().unwrap();
    assert_eq!(account.up.lost + account.down.lost, 0);
    assert!(account.down.arrived >= 6 * 42, "{account:?}");
    // Each of the 42 segments with 52 bytes of headers.
    assert!(account.down.bytes >= 6 * (60_000 + 42 * 52), "{account:?}");
    for it in [account.up, account.down] {
        assert_eq!(it.packets, it.arrived + it.under_way, "{account:?}");
    }
    assert!(account.cpu_ns > 0, "{account:?}");
}

#[test]
fn a_lost_beginning_costs_a_second_and_a_lost_request_the_retransmission_timeout() {
    let spec = "delay=5ms,up.loss=10%";
    let Some(link) = lab(spec, seed_that_loses(spec, 0)) else {
        return;
    };
    let (address, _server) = serve(&link, 100, 100);
    // RFC 6298, 2.1: the first timeout is a second.
    let (_socket, took) = connect(&link, address);
    assert!((ms(1010)..ms(1900)).contains(&took), "{took:?}");
    assert_eq!(link.finish().unwrap().up.lost, 1);

    // SYN, ACK, the first request, the acknowledgement of its answer (or the next request with it), and so on.
    let link = lab(spec, seed_that_loses(spec, 2)).unwrap();
    let (address, _server) = serve(&link, 100, 100);
    let (mut socket, took) = connect(&link, address);
    assert!(took < ms(900), "{took:?}");
    // 200 ms (Linux's TCP_RTO_MIN) and a round trip.
    let first = ask(&mut socket, 100, 100);
    assert!((ms(210)..ms(800)).contains(&first), "{first:?}");
    let next = ask(&mut socket, 100, 100);
    assert!(next < ms(200), "{next:?}");
    let account = link.finish().unwrap();
    assert_eq!((account.up.lost, account.up.again), (1, 1), "{account:?}");
}

#[test]
fn datagrams_meet_the_fate_that_the_model_has_for_their_numbers() {
    let spec = "up.loss=20%,up.burst=4";
    let (seed, datagrams) = (7, 500);
    let Some(link) = lab(spec, seed) else {
        return;
    };
    let lost = lost(spec, seed, datagrams);
    let expected: Vec<usize> = (0..datagrams).filter(|&n| !lost[n]).collect();
    let receiver = link.far().inside(|| UdpSocket::bind((FAR, 0))).unwrap();
    let receiver = receiver.unwrap();
    let to = receiver.local_addr().unwrap();
    let sender = link.near().inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    let sender = sender.unwrap();
    let sending = std::thread::spawn(move || {
        for n in 0..datagrams {
            sender.send_to(&n.to_le_bytes(), to).unwrap();
            if n % 50 == 0 {
                // The receiver's buffer is not what is tested.
                std::thread::sleep(ms(1));
            }
        }
    });
    receiver.set_read_timeout(Some(ms(500))).unwrap();
    let mut arrived = Vec::new();
    let mut number = [0; 8];
    while arrived.len() < expected.len() && receiver.recv(&mut number).is_ok() {
        arrived.push(usize::from_le_bytes(number));
    }
    sending.join().unwrap();
    assert_eq!(arrived, expected);
    let account = link.finish().unwrap();
    let up = account.up;
    assert_eq!(
        (up.packets, up.overrun),
        (datagrams as u64, 0),
        "{account:?}"
    );
    assert_eq!(up.lost, (datagrams - expected.len()) as u64);
}

#[test]
fn bulk_fills_the_line_and_a_short_queue_makes_the_kernel_send_again() {
    let Some(link) = lab("8Mbit/s,delay=5ms,queue=16KiB", 1) else {
        return;
    };
    let bytes = 500_000;
    let (address, _server) = serve(&link, 100, bytes);
    let (mut socket, _) = connect(&link, address);
    let took = ask(&mut socket, 100, bytes);
    let account = link.finish().unwrap();
    // 346 segments with 66 bytes of headers each, at a megabyte a second; what was lost is sent again.
    let at_least = ms(523);
    assert!(took >= at_least && took < at_least * 4, "{took:?}");
    assert!(account.down.full > 0, "{account:?}");
    assert!(account.down.again >= account.down.full, "{account:?}");
    // 16 KiB take 16.4 ms, and the packet on the line its own time.
    assert!(account.down.waited_max_ns <= 18_000_000, "{account:?}");
}

#[test]
fn who_connects_at_the_far_end_is_led_on_to_a_server_outside() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    let own: IpAddr = [192, 0, 2, 7].into();
    let far = [own, IpAddr::from([127, 0, 0, 1])];
    let Some(mut link) = lab_with("delay=10ms", 1, &far) else {
        return;
    };
    link.lead_to(port, vec![server.local_addr().unwrap()])
        .unwrap();
    // By the address of the link, and by the server's own.
    for address in [IpAddr::from(FAR), own] {
        let (mut socket, took) = connect(&link, (address, port).into());
        assert!(took >= ms(20), "{took:?}");
        let (mut there, _) = server.accept().unwrap();
        socket.write_all(b"hello").unwrap();
        let mut heard = [0; 5];
        there.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
    }
    // Nothing else is to be reached, this host's own loopback not either.
    let elsewhere = link
        .near()
        .inside(move || TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), ms(200)));
    assert!(elsewhere.unwrap().is_err());
    drop(server);
    let (mut socket, _) = connect(&link, (FAR, port).into());
    let ended = socket.read(&mut [0; 1]).map_err(|error| error.kind());
    assert!(
        matches!(ended, Ok(0) | Err(ErrorKind::ConnectionReset)),
        "{ended:?}"
    );
    let account = link.finish().unwrap();
    let led = account.led.unwrap();
    assert_eq!((led.connections, led.refused), (3, 1), "{led:?}");
}

#[test]
fn an_address_of_ipv6_is_reached_over_the_link_too() {
    let own: IpAddr = "2001:db8::7".parse().unwrap();
    let Some(link) = lab_with("delay=10ms", 1, &[own]) else {
        return;
    };
    let listener = link
        .far()
        .inside(move || TcpListener::bind((own, 0)))
        .unwrap();
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => return without::skipped("IPv6", &error.to_string(), "a kernel with IPv6"),
    };
    let (_socket, took) = connect(&link, listener.local_addr().unwrap());
    assert!((ms(20)..ms(200)).contains(&took), "{took:?}");
}
