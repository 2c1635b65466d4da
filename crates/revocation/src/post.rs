//! Sending something over HTTP, and hearing what is said to it, within bounds.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::fetch::{LONGEST_HEAD, connect, left, text};

/// What somebody said to what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The status of HTTP.
    pub status: u16,
    /// How long it wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The beginning of what it said.
    pub text: String,
}

impl HttpReply {
    /// Whether it took what was sent.
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Sends a body by POST, with these headers beside those that tell of its length, and gives what was said to it, if that came
/// in time. However slowly it is taken, and whatever is said: it ends then.
pub fn post(
    address: &Address,
    headers: &[(&str, &str)],
    body: &[u8],
    until: Instant,
) -> Result<HttpReply, String> {
    let mut stream = connect(address, until)?;
    let mut request = format!(
        "POST {} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
        address.path,
        address.authority(),
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    let refused = write(&mut stream, request.as_bytes(), until)
        .and_then(|()| write(&mut stream, body, until))
        .err();
    // Who does not want it says why, and may not read it to its end.
    hear(&mut stream, until).map_err(|error| refused.unwrap_or(error))
}

/// Writes all of it. Each write may take a part only, and none longer than what is left of the time.
fn write(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> Result<(), String> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?)).map_err(text)?;
        match stream.write(bytes) {
            Ok(0) => return Err("it took no more".to_owned()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(text(error)),
        }
    }
    Ok(())
}

/// Of what is said so much is read: a sentence, not a page.
const LONGEST_SAID: usize = 4 << 10;

fn hear(stream: &mut TcpStream, until: Instant) -> Result<HttpReply, String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4 << 10];
    loop {
        if let Some(reply) = said(&bytes, false)? {
            return Ok(reply);
        }
        stream.set_read_timeout(Some(left(until)?)).map_err(text)?;
        match stream.read(&mut buffer) {
            Ok(0) => {
                let whole = said(&bytes, true)?;
                return whole.ok_or_else(|| "the answer ends too early".to_owned());
            }
            Ok(read) => bytes.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The status is there, and why is not worth more time.
            Err(error) => return said(&bytes, true)?.ok_or_else(|| text(error)),
        }
    }
}

/// What these bytes say, once it is enough.
fn said(bytes: &[u8], is_all: bool) -> Result<Option<HttpReply>, String> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return match bytes.len() > LONGEST_HEAD {
            true => Err("no answer of HTTP".to_owned()),
            false => Ok(None),
        };
    };
    let head = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    let mut words = status.split_ascii_whitespace();
    let version = words.next().unwrap_or_default();
    let code = words.next().and_then(|it| it.parse::<u16>().ok());
    let code = code.filter(|_| version.starts_with("HTTP/1."));
    let status = code.ok_or_else(|| "no answer of HTTP".to_owned())?;
    let header = |wanted: &str| {
        let mut all = lines.clone().filter_map(|line| line.split_once(':'));
        let found = all.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    let body = bytes.get(end + 4..).unwrap_or_default();
    let length = match header("content-length") {
        _ if status == 204 => Some(0),
        length => length,
    };
    let is_there = length.is_some_and(|length| body.len() as u64 >= length);
    if !is_there && !is_all && body.len() < LONGEST_SAID {
        return Ok(None);
    }
    let body = body.get(..LONGEST_SAID.min(body.len())).unwrap_or_default();
    Ok(Some(HttpReply {
        status,
        retry_after: header("retry-after").map(Duration::from_secs),
        text: String::from_utf8_lossy(body).into_owned(),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_answer_is_a_status_and_what_was_said() {
        let of = |text: &str, is_all| said(text.as_bytes(), is_all);
        let told = "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\ncontent-length: 4\r\n\r\nslow";
        let reply = of(told, false).unwrap().unwrap();
        assert_eq!((reply.status, reply.text.as_str()), (429, "slow"));
        assert_eq!(reply.retry_after, Some(Duration::from_secs(7)));
        assert!(!reply.is_good());
        assert!(
            of("HTTP/1.1 204 No Content\r\n\r\n", false)
                .unwrap()
                .unwrap()
                .is_good()
        );
        // Without a length it goes to the end.
        let open = "HTTP/1.1 200 OK\r\n\r\nso ";
        assert_eq!(of(open, false), Ok(None));
        assert_eq!(of(open, true).unwrap().unwrap().text, "so ");
        assert!(of("SSH-2.0-x\r\n\r\n", false).is_err());
    }
}
