//! Raw sockets over the loopback: what the kernel alone takes for the same bytes, written in the
//! same groups. Nothing is looked at; messages are counted by their lengths.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use observe::thread_cpu;

use crate::place::{Place, pin};
use crate::slice::{Slice, Trips, Work};

/// Bytes on the wire of a request and of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub request: usize,
    pub response: usize,
}

/// How much one read takes, on both sides: as much as the plant's.
const READ: usize = 256 * 1024;

/// Nobody waits longer than this for the other side.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the server of a pair answers.
#[derive(Debug, Clone, Copy)]
pub struct Answers {
    /// How many it writes at once.
    pub at_once: usize,
    /// How long it computes for each before it writes.
    pub busy: Duration,
}

/// A pair over TCP.
pub fn tcp(
    place: Place,
    sizes: Sizes,
    work: Work,
    answers: Answers,
    duration: Duration,
) -> anyhow::Result<Slice> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let server: JoinHandle<anyhow::Result<Option<Duration>>> = std::thread::spawn(move || {
        pin(place.server)?;
        let socket = prepared(listener.accept()?.0, work.spin)?;
        let cpu = thread_cpu().ok();
        serve(socket, sizes, answers)?;
        Ok(since(cpu))
    });
    let client = std::thread::spawn(move || {
        pin(place.client)?;
        let socket = prepared(TcpStream::connect(address)?, work.spin)?;
        ask(socket, sizes, work, duration)
    });
    let slice = joined(client);
    let server_cpu = joined(server);
    Ok(Slice {
        server_cpu: server_cpu?,
        ..slice?
    })
}

fn prepared(socket: TcpStream, spin: bool) -> anyhow::Result<TcpStream> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_nonblocking(spin)?;
    Ok(socket)
}

fn joined<T>(thread: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))?
}

fn since(earlier: Option<Duration>) -> Option<Duration> {
    Some(thread_cpu().ok()?.saturating_sub(earlier?))
}

/// Reads, sleeping or not.
fn read(socket: &mut TcpStream, buffer: &mut [u8], limit: Instant) -> anyhow::Result<usize> {
    let mut tries = 0u32;
    loop {
        match socket.read(buffer) {
            Ok(n) => return Ok(n),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // Spinning: the clock is looked at now and then only.
                tries = tries.wrapping_add(1);
                if tries.is_multiple_of(1024) && Instant::now() > limit {
                    return Err(error).context("the other side is silent");
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes all, sleeping or not.
fn write(socket: &mut TcpStream, mut bytes: &[u8]) -> anyhow::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn serve(mut socket: TcpStream, sizes: Sizes, answers: Answers) -> anyhow::Result<()> {
    let mut buffer = vec![0; READ];
    let response = vec![0x5a; sizes.response * answers.at_once];
    let mut unread = 0;
    loop {
        let n = read(&mut socket, &mut buffer, Instant::now() + PATIENCE)?;
        if n == 0 {
            return Ok(());
        }
        unread += n;
        let mut due = unread / sizes.request;
        unread %= sizes.request;
        while due > 0 {
            let now = due.min(answers.at_once);
            compute(answers.busy * now as u32);
            write(
                &mut socket,
                response.get(..now * sizes.response).unwrap_or_default(),
            )?;
            due -= now;
        }
    }
}

/// Takes the core for as long.
fn compute(duration: Duration) {
    let start = Instant::now();
    while !duration.is_zero() && start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

fn ask(
    mut socket: TcpStream,
    sizes: Sizes,
    work: Work,
    duration: Duration,
) -> anyhow::Result<Slice> {
    let mut buffer = vec![0; READ];
    let requests = vec![0xa5; sizes.request * work.in_flight];
    let mut trips = Trips::default();
    let cpu = thread_cpu().ok();
    let start = Instant::now();
    let end = start + duration;
    let (mut calls, mut reads, mut in_flight, mut to_send, mut unread) =
        (0, 0, 0, work.in_flight, 0);
    let mut now = start;
    loop {
        if to_send > 0 {
            write(
                &mut socket,
                requests.get(..to_send * sizes.request).unwrap_or_default(),
            )?;
            in_flight += to_send;
        }
        if in_flight == 0 {
            break;
        }
        let n = read(&mut socket, &mut buffer, end + PATIENCE)?;
        if n == 0 {
            return Err(anyhow!("the server left with {in_flight} in flight"));
        }
        reads += 1;
        unread += n;
        let done = unread / sizes.response;
        unread %= sizes.response;
        calls += done as u64;
        in_flight -= done;
        let then = std::mem::replace(&mut now, Instant::now());
        if work.in_flight == 1 && done == 1 {
            trips.add(now - then);
        }
        to_send = if now < end { done } else { 0 };
    }
    Ok(Slice {
        calls,
        elapsed: start.elapsed(),
        client_cpu: since(cpu),
        p50: (work.in_flight == 1).then(|| trips.median()).flatten(),
        reads: Some(reads),
        ..Slice::default()
    })
}

/// What ends a UDP server: a datagram that no message looks like.
const END: &[u8] = &[0];

/// A pair over UDP, a datagram for each message. Datagrams that got lost count as bad.
pub fn udp(place: Place, sizes: Sizes, work: Work, duration: Duration) -> anyhow::Result<Slice> {
    let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let here = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    there.connect(here.local_addr()?)?;
    here.connect(there.local_addr()?)?;
    for socket in [&here, &there] {
        socket.set_nonblocking(work.spin)?;
    }
    // Shorter on the client's side: it notices what got lost while the server still waits.
    there.set_read_timeout(Some(PATIENCE))?;
    here.set_read_timeout(Some(Duration::from_millis(200)))?;
    let server = std::thread::spawn(move || {
        pin(place.server)?;
        let cpu = thread_cpu().ok();
        let mut buffer = [0; 65_536];
        let response = vec![0x5a; sizes.response];
        let mut limit = Instant::now() + PATIENCE;
        while let Some(n) = datagram(&there, &mut buffer, work.spin, limit)? {
            if n == END.len() {
                break;
            }
            send(&there, &response)?;
            if work.spin {
                limit = Instant::now() + PATIENCE;
            }
        }
        anyhow::Ok(since(cpu))
    });
    let client = std::thread::spawn(move || {
        pin(place.client)?;
        let slice = ask_udp(&here, sizes, work, duration);
        send(&here, END)?;
        slice
    });
    let slice = joined(client);
    let server_cpu = joined(server);
    Ok(Slice {
        server_cpu: server_cpu?,
        ..slice?
    })
}

fn ask_udp(
    socket: &UdpSocket,
    sizes: Sizes,
    work: Work,
    duration: Duration,
) -> anyhow::Result<Slice> {
    let mut buffer = [0; 65_536];
    let request = vec![0xa5; sizes.request];
    let mut trips = Trips::default();
    let cpu = thread_cpu().ok();
    let start = Instant::now();
    let end = start + duration;
    let (mut calls, mut lost, mut in_flight) = (0, 0, 0);
    let mut now = start;
    loop {
        while in_flight < work.in_flight && now < end {
            send(socket, &request)?;
            in_flight += 1;
        }
        if in_flight == 0 {
            break;
        }
        let then = now;
        match datagram(
            socket,
            &mut buffer,
            work.spin,
            end + Duration::from_millis(200),
        )? {
            Some(_) => {
                calls += 1;
                in_flight -= 1;
            }
            None => {
                lost += in_flight as u64;
                in_flight = 0;
            }
        }
        now = Instant::now();
        if work.in_flight == 1 {
            trips.add(now - then);
        }
    }
    Ok(Slice {
        calls,
        bad: lost,
        elapsed: start.elapsed(),
        client_cpu: since(cpu),
        p50: (work.in_flight == 1).then(|| trips.median()).flatten(),
        ..Slice::default()
    })
}

/// The length of the next datagram; nothing when none came in time.
fn datagram(
    socket: &UdpSocket,
    buffer: &mut [u8],
    spin: bool,
    limit: Instant,
) -> anyhow::Result<Option<usize>> {
    let mut tries = 0u32;
    loop {
        match socket.recv(buffer) {
            Ok(n) => return Ok(Some(n)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                tries = tries.wrapping_add(1);
                if !spin || (tries.is_multiple_of(1024) && Instant::now() > limit) {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn send(socket: &UdpSocket, bytes: &[u8]) -> anyhow::Result<()> {
    loop {
        match socket.send(bytes) {
            Ok(_) => return Ok(()),
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
