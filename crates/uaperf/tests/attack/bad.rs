//! Servers that are no good, each in a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How a server is no good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Each connection beyond the first ones costs memory that never comes back.
    Forgets,
    /// It ends with so many connections.
    Dies,
    /// With so many connections it cuts everybody off for a while.
    CutsOff,
    /// With so many connections it answers late.
    Slows,
}

impl Fault {
    const ALL: [Self; 4] = [Self::Forgets, Self::Dies, Self::CutsOff, Self::Slows];
}

/// More connections than good clients make.
const CROWD: usize = 24;
const LEAK: usize = 2 << 20;

/// What this program is instead of its tests, when it is started again: a bad server of this fault, before this good one.
const FAULT: &str = "UAPERF_TEST_FAULT";
const BEHIND: &str = "UAPERF_TEST_BEHIND";

/// No test unless it was started to be a bad server: it ends when it is killed.
#[test]
fn is_a_bad_server() {
    let Ok(fault) = std::env::var(FAULT) else {
        return;
    };
    let fault = Fault::ALL.into_iter().find(|it| format!("{it:?}") == fault);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    let bad = Arc::new(Bad {
        fault: fault.unwrap(),
        behind: std::env::var(BEHIND).unwrap().parse().unwrap(),
        came: AtomicUsize::new(0),
        open: AtomicUsize::new(0),
        since: Mutex::default(),
        sockets: Mutex::default(),
        leaked: Mutex::default(),
    });
    bad.accept(&listener);
    // Nobody listens any more: what died is a server, not what shows its process.
    drop(listener);
    loop {
        std::thread::park();
    }
}

/// This program once more, as a bad server: its memory and its sockets are its own.
pub struct BadProcess(Child);

impl BadProcess {
    pub fn start(fault: Fault, behind: SocketAddr) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "attack::bad::is_a_bad_server", "--nocapture"])
            .env(FAULT, format!("{fault:?}"))
            .env(BEHIND, behind.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let port = lines.find_map(|it| Some(it.split_once("port ")?.1.to_owned()));
        let url = format!("opc.tcp://127.0.0.1:{}", port.unwrap());
        (Self(child), url)
    }
}

impl BadProcess {
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for BadProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A bad server: what is before a good one.
struct Bad {
    fault: Fault,
    behind: SocketAddr,
    came: AtomicUsize,
    open: AtomicUsize,
    since: Mutex<Option<Instant>>,
    sockets: Mutex<Vec<TcpStream>>,
    leaked: Mutex<Vec<Vec<u8>>>,
}

impl Bad {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for socket in listener.incoming().map_while(Result::ok) {
            let came = self.came.fetch_add(1, Ordering::Relaxed);
            if came > CROWD {
                match self.fault {
                    Fault::Forgets => self.leaked.lock().unwrap().push(vec![1; LEAK]),
                    Fault::Dies => {
                        self.cut();
                        return;
                    }
                    Fault::CutsOff => {
                        let mut since = self.since.lock().unwrap();
                        let since = since.get_or_insert_with(Instant::now);
                        if since.elapsed() < Duration::from_millis(1_500) {
                            self.cut();
                            continue;
                        }
                    }
                    Fault::Slows => {}
                }
            }
            self.serve(socket);
        }
    }

    fn cut(&self) {
        for socket in self.sockets.lock().unwrap().drain(..) {
            // Gone already, perhaps.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn serve(self: &Arc<Self>, client: TcpStream) {
        let server = TcpStream::connect(self.behind).unwrap();
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        self.sockets
            .lock()
            .unwrap()
            .push(client.try_clone().unwrap());
        self.open.fetch_add(1, Ordering::Relaxed);
        let ways = [
            (
                client.try_clone().unwrap(),
                server.try_clone().unwrap(),
                false,
            ),
            (server, client, true),
        ];
        for (from, to, back) in ways {
            let bad = Arc::clone(self);
            std::thread::spawn(move || bad.pump(from, to, back));
        }
    }

    fn pump(&self, mut from: TcpStream, mut to: TcpStream, back: bool) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let crowd = self.open.load(Ordering::Relaxed) > CROWD;
            if back && crowd && self.fault == Fault::Slows {
                std::thread::sleep(Duration::from_millis(40));
            }
            if to.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        if back {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
