//! The other side: an OCSP responder and a host of revocation lists, that can be slow or out of order on purpose.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who does not send or read is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of a request line with its headers.
const LONGEST_HEAD: u64 = 16 << 10;
/// Of what is asked with OCSP.
const LONGEST_BODY: usize = 64 << 10;
/// Connections at a time.
const MOST: usize = 256;
/// How often it is looked whether it should end.
const LOOK: Duration = Duration::from_millis(20);

/// What answers.
pub trait Answers: Send + Sync {
    /// A file, by its path with the `/` in front.
    fn list(&self, path: &str) -> Reply;
    /// A request of OCSP.
    fn status(&self, request: &[u8]) -> Reply;
    /// What an authority in trouble says to a request of OCSP.
    fn busy(&self) -> Vec<u8>;
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// This.
    Found(Arc<Vec<u8>>),
    /// There is no such thing.
    Absent,
    /// It cannot be answered: why.
    Failed(String),
}

/// What goes wrong on purpose.
#[derive(Debug, Clone, Default)]
pub struct Trouble {
    /// Each answer waits so long.
    pub delay: Duration,
    /// The share of answers that are errors, of 1.
    pub errors: f64,
    /// When nobody is answered.
    pub outages: Vec<Outage>,
}

/// A time from the start in which connections are taken and nothing is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// From here.
    pub from: Duration,
    /// To here.
    pub to: Duration,
}

/// What was asked and answered.
#[derive(Debug, Default)]
pub struct Account {
    /// Lists given.
    pub lists: AtomicU64,
    /// Requests of OCSP answered.
    pub statuses: AtomicU64,
    /// Errors on purpose.
    pub errors: AtomicU64,
    /// Met by an outage.
    pub unanswered: AtomicU64,
    /// What was not there, or no request at all.
    pub refused: AtomicU64,
    /// Answers that could not be made: the last reason.
    pub failed: Mutex<Option<String>>,
}

/// Answers at an address.
pub struct Responder {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    answers: Box<dyn Answers>,
    trouble: Trouble,
    begun: Instant,
    account: Account,
    asked: AtomicU64,
    open: AtomicUsize,
}

impl Responder {
    /// Listens; answers once it runs.
    pub fn bind(
        at: SocketAddr,
        answers: Box<dyn Answers>,
        trouble: Trouble,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        Ok(Self {
            listener,
            shared: Arc::new(Shared {
                answers,
                trouble,
                begun: Instant::now(),
                account: Account::default(),
                asked: AtomicU64::new(0),
                open: AtomicUsize::new(0),
            }),
        })
    }

    /// Where it is asked.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What happened so far.
    pub fn account(&self) -> &Account {
        &self.shared.account
    }

    /// Answers until `stop` says so. The thread that takes connections stays until the process ends.
    pub fn run(&self, stop: impl Fn() -> bool) -> std::io::Result<()> {
        let (listener, shared) = (self.listener.try_clone()?, Arc::clone(&self.shared));
        let thread = std::thread::Builder::new().name("responder-accept".into());
        thread.spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(stream) => take(stream, &shared),
                    // Too many descriptors, most likely: some will be free again.
                    Err(_) => std::thread::sleep(LOOK),
                }
            }
        })?;
        while !stop() {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Answers on a thread of its own, if there is room for one.
fn take(stream: TcpStream, shared: &Arc<Shared>) {
    if shared.open.fetch_add(1, Ordering::Relaxed) >= MOST {
        shared.open.fetch_sub(1, Ordering::Relaxed);
        // Closed at once.
        shared.account.refused.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let own = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("responder".into());
    let spawned = thread.spawn(move || {
        // Who goes away in the middle is no trouble.
        let _ = serve(&stream, &own);
        own.open.fetch_sub(1, Ordering::Relaxed);
    });
    if spawned.is_err() {
        shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn is_out(&self) -> bool {
        let now = self.begun.elapsed();
        let mut outages = self.trouble.outages.iter();
        outages.any(|it| it.from <= now && now < it.to)
    }

    /// Whether this request is one of those that get an error: spread evenly, the first one last.
    fn is_error(&self) -> bool {
        let nth = self.asked.fetch_add(1, Ordering::Relaxed) as f64;
        let share = self.trouble.errors;
        ((nth + 1.0) * share).floor() > (nth * share).floor()
    }
}

/// A request, as far as it matters.
struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

fn serve(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let count = |what: &AtomicU64| what.fetch_add(1, Ordering::Relaxed);
    let Some(request) = read(stream)? else {
        count(&shared.account.refused);
        return answer(stream, "400 Bad Request", "text/plain", b"");
    };
    if shared.is_out() {
        count(&shared.account.unanswered);
        return wait(stream, shared);
    }
    let error = shared.is_error();
    std::thread::sleep(shared.trouble.delay);
    let (counter, kind, reply) = match request.method.as_str() {
        "POST" if error => {
            count(&shared.account.errors);
            return answer(stream, "200 OK", OCSP, &shared.answers.busy());
        }
        _ if error => {
            count(&shared.account.errors);
            return answer(stream, "503 Service Unavailable", "text/plain", b"");
        }
        "POST" => {
            let reply = shared.answers.status(&request.body);
            (&shared.account.statuses, OCSP, reply)
        }
        "GET" => {
            let path = request.path.split('?').next().unwrap_or_default();
            let reply = shared.answers.list(path);
            (&shared.account.lists, "application/pkix-crl", reply)
        }
        _ => {
            count(&shared.account.refused);
            return answer(stream, "405 Method Not Allowed", "text/plain", b"");
        }
    };
    match reply {
        Reply::Found(bytes) => {
            count(counter);
            answer(stream, "200 OK", kind, &bytes)
        }
        Reply::Absent => {
            count(&shared.account.refused);
            answer(stream, "404 Not Found", "text/plain", b"")
        }
        Reply::Failed(why) => {
            let failed = shared.account.failed.lock();
            *failed.unwrap_or_else(PoisonError::into_inner) = Some(why);
            answer(stream, "500 Internal Server Error", "text/plain", b"")
        }
    }
}

const OCSP: &str = "application/ocsp-response";

/// Until the outage is over, or the client has gone.
fn wait(stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    let mut reader = stream;
    while shared.is_out() {
        match reader.read(&mut [0; 64]) {
            Ok(0) => return Ok(()),
            _ => std::thread::sleep(LOOK),
        }
    }
    Ok(())
}

fn read(stream: &TcpStream) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    let mut lines = (&mut reader).take(LONGEST_HEAD);
    let mut length = 0;
    loop {
        let before = head.len();
        if lines.read_line(&mut head)? == 0 {
            return Ok(None);
        }
        let line = head.get(before..).unwrap_or_default().trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(usize::MAX);
        }
    }
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    if length > LONGEST_BODY {
        return Ok(None);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, body }))
}

fn answer(stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    let mut writer = stream;
    writer.write_all(&bytes)
}

impl Account {
    /// Why an answer could not be made, if one could not.
    pub fn failure(&self) -> Option<String> {
        let failed = self.failed.lock();
        failed.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
