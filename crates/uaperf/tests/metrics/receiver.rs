//! A receiver of figures that keeps what it is sent, or behaves badly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What it does with what it is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Take,
    /// Takes all but some figures, as OTLP can say.
    TakeAPart,
    /// Never says anything, nor reads.
    Hang,
    Refuse,
}

pub struct Request {
    pub head: String,
    pub body: String,
}

pub struct Receiver {
    pub address: SocketAddr,
    got: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    /// It ends with the process of the test.
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got = Arc::<Mutex<Vec<Request>>>::default();
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                match manner {
                    Manner::Hang => held.push(stream),
                    // Whoever goes away in the middle is not waited for.
                    _ => drop(answer(stream, manner, &kept)),
                }
            }
        });
        Self { address, got }
    }

    /// What it was sent so far.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.got.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, manner: Manner, got: &Mutex<Vec<Request>>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut bytes = Vec::new();
    let mut part = [0; 8192];
    let request = loop {
        let n = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.unwrap().parse().unwrap() {
                let (head, body) = (format!("{head}\r\n"), body.to_owned());
                break Request { head, body };
            }
        }
        if n == 0 {
            return Ok(());
        }
    };
    got.lock().unwrap().push(request);
    let part = r#"{"partialSuccess":{"rejectedDataPoints":"7","errorMessage":"too old"}}"#;
    let answer = match manner {
        Manner::TakeAPart => format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{part}",
            part.len()
        ),
        Manner::Refuse => {
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 12\r\n\r\nunauthorized".to_owned()
        }
        Manner::Take | Manner::Hang => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
    };
    stream.write_all(answer.as_bytes())
}
