//! A small HTTP server for Prometheus, which comes every few seconds and asks for one page.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::failure::Failure;

/// The page, and where it is read. It is there until this process ends.
pub struct Scraped {
    /// Where it is read.
    pub at: SocketAddr,
    page: Arc<Mutex<String>>,
}

/// Who asks more slowly, or does not read, is not waited for: one is answered at a time.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of a request, with all its headers.
const LONGEST: u64 = 16 << 10;

impl Scraped {
    /// Answers from now on.
    pub fn open(at: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(at).map_err(|error| {
            Failure::new(format!("--prometheus {at}: {error}"))
                .hint("another port, or port 0 for a free one")
        })?;
        let at = listener.local_addr()?;
        let page = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&page);
        std::thread::Builder::new()
            .name("scraped".into())
            .spawn(move || {
                for stream in listener.incoming() {
                    // Who went away meanwhile comes again.
                    let _ = stream.and_then(|stream| answer(&stream, &lock(&shown).clone()));
                }
            })?;
        Ok(Self { at, page })
    }

    /// What is read from now on.
    pub fn show(&self, page: String) {
        *lock(&self.page) = page;
    }
}

fn lock(page: &Mutex<String>) -> MutexGuard<'_, String> {
    page.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(stream: &TcpStream, page: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.take(LONGEST)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    // The rest is read, so that closing does not throw away what was answered.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut writer = stream;
    writer.write_all(response(&first, page).as_bytes())
}

fn response(request: &str, page: &str) -> String {
    let mut words = request.split(' ');
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let path = path.split('?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => ("200 OK", page),
        ("GET" | "HEAD", _) => ("404 Not Found", "figures are under /metrics\n"),
        _ => ("405 Method Not Allowed", "want GET\n"),
    };
    let length = body.len();
    let body = if method == "HEAD" { "" } else { body };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_is_given_and_only_to_those_who_ask_for_it() {
        assert!(
            response("GET /metrics HTTP/1.1", "a 1\n")
                .ends_with("Content-Length: 4\r\nConnection: close\r\n\r\na 1\n")
        );
        assert!(response("GET /metrics?x=1 HTTP/1.1", "a 1\n").starts_with("HTTP/1.1 200"));
        assert!(response("HEAD /metrics HTTP/1.1", "a 1\n").ends_with("\r\n\r\n"));
        assert!(response("GET / HTTP/1.1", "a 1\n").starts_with("HTTP/1.1 404"));
        assert!(response("POST /metrics HTTP/1.1", "a 1\n").starts_with("HTTP/1.1 405"));
        assert!(response("", "a 1\n").starts_with("HTTP/1.1 405"));
    }
}
