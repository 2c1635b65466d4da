//! A small HTTP server for scrapers, which come every few seconds and ask for one page.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::openmetrics;

/// Longer requests are cut off: a line and a few headers are all that is read.
const LONGEST: usize = 16 << 10;
/// Who asks more slowly, or does not read, is not waited for: one is answered at a time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where figures are read: an address, or a port of the loopback with or without a colon.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    let whole = match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_owned(),
    };
    whole
        .parse()
        .map_err(|_| format!("{text:?} is no address (want :9464, 0.0.0.0:9464 or [::]:9464)"))
}

/// Answers with the page, in text format 0.0.4, from now on until this process ends. Who asks for OpenMetrics gets
/// the same page as that.
pub fn serve(
    at: SocketAddr,
    page: impl Fn() -> String + Send + 'static,
) -> std::io::Result<SocketAddr> {
    answer_at(TcpListener::bind(at)?, page)
}

/// The same, where somebody listens already.
pub fn answer_at(
    listener: TcpListener,
    page: impl Fn() -> String + Send + 'static,
) -> std::io::Result<SocketAddr> {
    let bound = listener.local_addr()?;
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // Who went away meanwhile comes again.
                    Ok(stream) => drop(answer(stream, &page)),
                    // Out of descriptors, say: not in a circle.
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, page: &impl Fn() -> String) -> std::io::Result<()> {
    // For all of it: who sends a byte now and then is slow, too.
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 512];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(Some(left(until)?))?;
        let n = stream.read(&mut part)?;
        head.extend(part.iter().take(n));
        if n == 0 || head.len() > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    let answer = response(&String::from_utf8_lossy(&head), page);
    let until = Instant::now() + PATIENCE;
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => rest = rest.get(n..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What is left until then. Nothing left is an error: no socket takes a timeout of zero.
fn left(until: Instant) -> std::io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn response(head: &str, page: impl Fn() -> String) -> String {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let open = lines
        .filter_map(|line| line.split_once(':'))
        .any(|(name, value)| name.eq_ignore_ascii_case("accept") && openmetrics::is_wanted(value));
    let text = "text/plain; version=0.0.4; charset=utf-8";
    let (status, kind, body) = match (method, path.split('?').next().unwrap_or_default()) {
        ("GET" | "HEAD", "/metrics" | "/") if open => {
            ("200 OK", openmetrics::TYPE, openmetrics::of(&page()))
        }
        ("GET" | "HEAD", "/metrics" | "/") => ("200 OK", text, page()),
        ("GET" | "HEAD", _) => ("404 Not Found", text, "want /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", text, "want GET\n".to_owned()),
    };
    let length = body.len();
    let body = if method == "HEAD" { "" } else { &body };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> String {
        response(head, || "a 1\n".to_owned())
    }

    #[test]
    fn only_the_page_is_given_and_only_to_those_who_ask_for_it() {
        assert!(
            asked("GET /metrics HTTP/1.1")
                .ends_with("Content-Length: 4\r\nConnection: close\r\n\r\na 1\n")
        );
        assert!(asked("GET /metrics?x=1 HTTP/1.1").starts_with("HTTP/1.1 200"));
        assert!(asked("HEAD /metrics HTTP/1.1").ends_with("\r\n\r\n"));
        assert!(asked("GET /other HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(asked("POST /metrics HTTP/1.1").starts_with("HTTP/1.1 405"));
        assert!(asked("").starts_with("HTTP/1.1 405"));
    }

    #[test]
    fn openmetrics_is_given_to_those_who_accept_it() {
        let open =
            "GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text; version=1.0.0\r\n\r\n";
        let answer = asked(open);
        assert!(
            answer.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0"),
            "{answer}"
        );
        assert!(answer.ends_with("\r\n\r\na 1\n# EOF\n"), "{answer}");
        let other = "GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n\r\n";
        assert!(asked(other).ends_with("\r\n\r\na 1\n"));
    }

    #[test]
    fn a_port_alone_is_one_of_the_loopback() {
        let at = |text| address(text).map(|it| it.to_string());
        assert_eq!(at(":9464").as_deref(), Ok("127.0.0.1:9464"));
        assert_eq!(at("9464").as_deref(), Ok("127.0.0.1:9464"));
        assert_eq!(at("[::]:9464").as_deref(), Ok("[::]:9464"));
        assert!(at("here").is_err() && at(":70000").is_err());
    }
}
