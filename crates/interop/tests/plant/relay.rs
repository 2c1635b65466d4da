//! A wire between client and server that can be cut.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Passes bytes on, until somebody connects to its second port: then every connection is cut.
pub struct Relay {
    front: u16,
    scissors: u16,
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    open: Mutex<Vec<TcpStream>>,
    accepted: AtomicUsize,
    cuts: AtomicUsize,
    over: AtomicBool,
}

impl Relay {
    /// A relay to this address.
    pub fn to(server: SocketAddr) -> Self {
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (front, scissors) = (listen(), listen());
        let state = Arc::<State>::default();
        let ports = (port(&front), port(&scissors));
        let accepting = {
            let state = Arc::clone(&state);
            move || each(&front, &state, |client| state.join(client, server))
        };
        let cutting = {
            let state = Arc::clone(&state);
            move || each(&scissors, &state, |_| state.cut())
        };
        Self {
            front: ports.0,
            scissors: ports.1,
            state,
            threads: vec![std::thread::spawn(accepting), std::thread::spawn(cutting)],
        }
    }

    /// Where clients connect to.
    pub fn url(&self) -> String {
        format!("opc.tcp://127.0.0.1:{}", self.front)
    }

    /// The port that cuts.
    pub fn scissors(&self) -> u16 {
        self.scissors
    }

    /// Connections passed on so far, and how often they were cut.
    pub fn seen(&self) -> (usize, usize) {
        let read = |count: &AtomicUsize| count.load(Ordering::SeqCst);
        (read(&self.state.accepted), read(&self.state.cuts))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        self.state.close_all();
        for port in [self.front, self.scissors] {
            // Wakes up who waits there.
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl State {
    fn join(self: &Arc<Self>, client: TcpStream, server: SocketAddr) {
        let Ok(server) = TcpStream::connect(server) else {
            return;
        };
        self.accepted.fetch_add(1, Ordering::SeqCst);
        for socket in [&client, &server] {
            socket.set_nodelay(true).unwrap();
            self.open.lock().unwrap().push(socket.try_clone().unwrap());
        }
        let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || pass(client, server));
        std::thread::spawn(move || pass(down, up));
    }

    fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::SeqCst);
        self.close_all();
    }

    fn close_all(&self) {
        for socket in self.open.lock().unwrap().drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

fn each(listener: &TcpListener, state: &State, mut with: impl FnMut(TcpStream)) {
    for socket in listener.incoming().flatten() {
        if state.over.load(Ordering::SeqCst) {
            return;
        }
        with(socket);
    }
}

/// Copies until either side ends, and then ends both.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
