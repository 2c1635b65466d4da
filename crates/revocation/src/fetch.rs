//! One exchange over HTTP: a request, and the whole of its answer, within bounds.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use pki::{Ask, Question};

use crate::address::Address;

/// Revocation lists of large authorities weigh megabytes; the folder takes no larger ones either.
const LONGEST_LIST: usize = 32 << 20;
/// An answer of OCSP has a signature and a certificate or two.
const LONGEST_STATUS: usize = 64 << 10;
/// Status line and headers.
pub(crate) const LONGEST_HEAD: usize = 16 << 10;

/// Asks, and gives what came. No redirection is followed.
pub(crate) fn fetch(question: &Question, until: Instant) -> Result<Vec<u8>, String> {
    let address: Address = question.url.parse().map_err(|error| format!("{error}"))?;
    match &question.ask {
        Ask::List => exchange(&address, None, LONGEST_LIST, until),
        Ask::Status(body) => {
            let body = Some(("application/ocsp-request", body.as_slice()));
            exchange(&address, body, LONGEST_STATUS, until)
        }
        Ask::Certificate(_) => Err("it is not asked over HTTP".to_owned()),
    }
}

/// One exchange with whoever answers there: GET, or POST where there is a body (with its type). Gives the body of the
/// answer, of `most` bytes at most, if its status is 200 and all of it came in time.
pub fn exchange(
    address: &Address,
    body: Option<(&str, &[u8])>,
    most: usize,
    until: Instant,
) -> Result<Vec<u8>, String> {
    let mut stream = connect(address, until)?;
    let method = if body.is_some() { "POST" } else { "GET" };
    // Nobody answers HTTP/1.0 in chunks.
    let mut request = format!(
        "{method} {} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n",
        address.path,
        address.authority()
    );
    if let Some((kind, body)) = body {
        request.push_str(&format!("Content-Type: {kind}\r\n"));
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    request.push_str("\r\n");
    let mut request = request.into_bytes();
    request.extend_from_slice(body.map_or(&[], |it| it.1));
    let left = left(until)?;
    stream.set_write_timeout(Some(left)).map_err(text)?;
    stream.write_all(&request).map_err(text)?;
    read(&mut stream, most, until)
}

pub(crate) fn connect(address: &Address, until: Instant) -> Result<TcpStream, String> {
    let mut failed = "its name has no address".to_owned();
    for at in addresses(address, until)? {
        match TcpStream::connect_timeout(&at, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = text(error),
        }
    }
    Err(failed)
}

/// The addresses of a host. A name is looked up by the system.
fn addresses(address: &Address, until: Instant) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = (address.host.clone(), address.port);
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    in_time(until, move || {
        Ok((host, port).to_socket_addrs().map_err(text)?.collect())
    })
    .map_err(|why| match why == LATE {
        true => format!("its name was not looked up in time ({})", address.host),
        false => why,
    })
}

/// What the system's resolver says cannot be waited for with a deadline, and it cannot be told to give up: it does so in a thread
/// of its own, and nobody listens any more.
fn in_time<T: Send + 'static>(
    until: Instant,
    ask: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (tell, told) = channel();
    let thread = std::thread::Builder::new().name("lookup".into());
    thread
        .spawn(move || {
            // Nobody may listen any more.
            let _ = tell.send(ask());
        })
        .map_err(|error| error.to_string())?;
    let answer = told.recv_timeout(left(until)?);
    answer.map_err(|_| LATE.to_owned())?
}

pub(crate) fn left(until: Instant) -> Result<Duration, String> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(LATE.to_owned()),
        false => Ok(left),
    }
}

/// Why nothing is known of what was not answered until its time was over.
pub const LATE: &str = "no answer in time";

pub(crate) fn text(error: std::io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => LATE.to_owned(),
        _ => error.to_string(),
    }
}

/// The body of an answer whose status is 200.
fn read(stream: &mut TcpStream, most: usize, until: Instant) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut head = None;
    let mut buffer = vec![0; 64 << 10];
    loop {
        if head.is_none()
            && let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n")
        {
            head = Some((end + 4, length(bytes.get(..end).unwrap_or_default(), most)?));
        }
        if let Some((start, Some(length))) = head
            && bytes.len() - start >= length
        {
            bytes.truncate(start + length);
            return Ok(bytes.split_off(start));
        }
        let longest = head.map_or(LONGEST_HEAD, |(start, _)| start + most);
        if bytes.len() > longest {
            return Err(format!("more than {most} bytes"));
        }
        stream.set_read_timeout(Some(left(until)?)).map_err(text)?;
        match stream.read(&mut buffer).map_err(text)? {
            0 => {
                return match head {
                    Some((start, None)) => Ok(bytes.split_off(start)),
                    _ => Err("the answer ends too early".to_owned()),
                };
            }
            read => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// How long the body is said to be.
fn length(head: &[u8], most: usize) -> Result<Option<usize>, String> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    let mut words = status.split_ascii_whitespace();
    let version = words.next().unwrap_or_default();
    match words.next() {
        Some("200") if version.starts_with("HTTP/1.") => {}
        Some(code) if version.starts_with("HTTP/1.") && code.parse::<u16>().is_ok() => {
            return Err(format!("HTTP status {code}"));
        }
        _ => return Err("no answer of HTTP".to_owned()),
    }
    for line in lines {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            return match value.trim().parse() {
                Ok(length) if length <= most => Ok(Some(length)),
                Ok(length) => Err(format!("{length} bytes, more than {most}")),
                Err(_) => Err("no answer of HTTP".to_owned()),
            };
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_that_nobody_answers_for_is_given_up_in_time() {
        let began = Instant::now();
        let slow = || {
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        };
        let late = in_time(began + Duration::from_millis(100), slow);
        assert_eq!(late, Err(LATE.to_owned()));
        assert!(began.elapsed() < Duration::from_secs(20));
        let soon = Instant::now() + Duration::from_secs(60);
        assert_eq!(in_time(soon, || Ok(7)), Ok(7));
        let here: Address = "http://localhost:9/".parse().unwrap();
        assert!(!addresses(&here, soon).unwrap().is_empty());
    }
}
