//! What the kernel alone takes to carry messages over the loopback.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{CalibrateError, Measured, SLICES};

/// Raw sockets, both ends in this process, nothing looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    /// Bytes of a request, as of a Read of one value.
    pub request_bytes: usize,
    /// Bytes of its response.
    pub response_bytes: usize,
    /// A round trip with one in flight, both ends asleep in between, in nanoseconds.
    pub sleeping_ns: Measured,
    /// The same with both ends spinning. Needs a core for each.
    pub spinning_ns: Measured,
    /// Per request with 64 in flight, in nanoseconds.
    pub pipelined_ns: Measured,
}

/// A Read of one value and its answer, with their headers.
const REQUEST: usize = 130;
const RESPONSE: usize = 100;
/// Requests in flight where there are many.
const MANY: usize = 64;
/// Nobody waits longer than this for the other end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Measures raw sockets for about as long as said.
pub fn raw(budget: Duration) -> Result<Raw, CalibrateError> {
    let each = budget / 3 / SLICES as u32;
    let figure = |in_flight, spin| {
        let slices = (0..SLICES)
            .map(|_| pair(in_flight, spin, each))
            .collect::<Result<Vec<_>, _>>()?;
        Measured::of(slices).ok_or(CalibrateError::Thread)
    };
    Ok(Raw {
        request_bytes: REQUEST,
        response_bytes: RESPONSE,
        sleeping_ns: figure(1, false)?,
        spinning_ns: figure(1, true)?,
        pipelined_ns: figure(MANY, false)?,
    })
}

/// Nanoseconds per request of a pair of sockets.
fn pair(in_flight: usize, spin: bool, length: Duration) -> Result<f64, CalibrateError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    for socket in [&client, &server] {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_nonblocking(spin)?;
    }
    std::thread::scope(|scope| {
        let answering = scope.spawn(move || answer(server));
        let asked = ask(client, in_flight, length);
        answering.join().map_err(|_| CalibrateError::Thread)??;
        Ok(asked?)
    })
}

fn answer(mut socket: TcpStream) -> std::io::Result<()> {
    let (mut buffer, answers) = ([0; 64 * 1024], [0; MANY * RESPONSE]);
    let mut unread = 0;
    loop {
        let n = patiently(|| socket.read(&mut buffer))?;
        if n == 0 {
            return Ok(());
        }
        unread += n;
        let due = unread / REQUEST;
        unread %= REQUEST;
        write(&mut socket, &answers, due * RESPONSE)?;
    }
}

fn ask(mut socket: TcpStream, in_flight: usize, length: Duration) -> std::io::Result<f64> {
    let (mut buffer, requests) = ([0; 64 * 1024], [0; MANY * REQUEST]);
    let start = Instant::now();
    let (mut done, mut unread, mut free) = (0u64, 0, in_flight);
    while start.elapsed() < length {
        write(&mut socket, &requests, free * REQUEST)?;
        let n = patiently(|| socket.read(&mut buffer))?;
        if n == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        unread += n;
        free = unread / RESPONSE;
        unread %= RESPONSE;
        done += free as u64;
    }
    Ok(start.elapsed().as_nanos() as f64 / done.max(1) as f64)
}

/// Over and over, when nothing is there yet.
fn patiently(mut read: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    let start = Instant::now();
    let mut tries = 0u32;
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // The clock is looked at now and then only.
                tries = tries.wrapping_add(1);
                if tries.is_multiple_of(4096) && start.elapsed() > PATIENCE {
                    return Err(error);
                }
            }
            other => return other,
        }
    }
}

fn write(socket: &mut TcpStream, bytes: &[u8], n: usize) -> std::io::Result<()> {
    let mut left = bytes.get(..n).unwrap_or(bytes);
    while !left.is_empty() {
        let n = patiently(|| socket.write(left))?;
        left = left.get(n..).unwrap_or_default();
    }
    Ok(())
}
