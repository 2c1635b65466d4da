//! A relay between sockets: what goes in comes out, as late as the link says, and ends as it ended.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use load::relay::{Account, Relay, Settings};
use socket2::SockRef;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// A relay on a thread of its own, whose account can be had.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Account>,
}

impl Running {
    fn start(link: &str, to: SocketAddr) -> Self {
        Self::with(link, to, 100)
    }

    fn with(link: &str, to: SocketAddr, connections: usize) -> Self {
        let settings = Settings {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            to: vec![to],
            spec: link.parse().unwrap(),
            seed: 7,
            connections,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (ready, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let relay = Relay::bind(&settings).unwrap();
            ready.send(relay.address().unwrap()).unwrap();
            relay
                .run(&|| told.load(Ordering::Relaxed), Some(LONG), &mut |_| ())
                .unwrap()
        });
        Self {
            address: address.recv().unwrap(),
            stop,
            thread,
        }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        socket.set_write_timeout(Some(LONG)).unwrap();
        socket
    }

    fn end(self) -> Account {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Sends back what it gets, and ends when the client does.
fn echo() -> SocketAddr {
    serve(|mut socket| {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = socket.read(&mut buffer) {
            if socket.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
    })
}

/// A server that does this with each connection, each on a thread.
fn serve(with: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let with = Arc::new(with);
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let with = Arc::clone(&with);
            std::thread::spawn(move || with(socket));
        }
    });
    address
}

/// Bytes that show where they stood.
fn pattern(client: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|n| (n * 7 + n / 251 + client * 31) as u8)
        .collect()
}

#[test]
fn every_byte_arrives_once_and_in_order_over_a_bad_link() {
    let link = "delay=500us,jitter=1ms,loss=2%,burst=2,reorder=3%:2ms,duplicate=2%";
    let relay = Running::start(link, echo());
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let mut socket = relay.connect();
            std::thread::spawn(move || {
                let sent = pattern(client, 150_000);
                let mut writer = socket.try_clone().unwrap();
                let bytes = sent.clone();
                let writing = std::thread::spawn(move || {
                    writer.write_all(&bytes).unwrap();
                    writer.shutdown(Shutdown::Write).unwrap();
                });
                let mut came = Vec::new();
                socket.read_to_end(&mut came).unwrap();
                writing.join().unwrap();
                assert!(came == sent, "client {client}: {} bytes", came.len());
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let account = relay.end();
    assert_eq!((account.connections, account.most_open), (4, 4));
    assert_eq!((account.open, account.broken, account.refused), (0, 0, 0));
    assert_eq!((account.up.bytes, account.down.bytes), (600_000, 600_000));
    assert!(
        account.up.lost > 0 && account.up.again >= account.up.lost,
        "{account:?}"
    );
}

#[test]
fn what_a_client_sends_takes_its_time_there_and_back() {
    let relay = Running::start("10Mbit/s,delay=20ms", echo());
    let mut socket = relay.connect();
    // The first round trip is that of the connection's beginning.
    let bytes = pattern(0, 25_000);
    let began = Instant::now();
    socket.write_all(&bytes).unwrap();
    let mut came = vec![0; bytes.len()];
    socket.read_exact(&mut came).unwrap();
    let took = began.elapsed();
    // Two round trips of 40 ms, and 26 KB on the line at 10 Mbit/s once: what comes back overlaps.
    assert!(took >= Duration::from_millis(100), "{took:?}");
    assert_eq!(came, bytes);
    relay.end();
}

#[test]
fn who_has_ended_can_still_be_answered() {
    let address = serve(|mut socket| {
        let mut all = Vec::new();
        socket.read_to_end(&mut all).unwrap();
        socket.write_all(&all).unwrap();
    });
    let relay = Running::start("delay=1ms", address);
    let mut socket = relay.connect();
    socket.write_all(b"question").unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"question");
    assert_eq!(relay.end().broken, 0);
}

#[test]
fn a_target_that_refuses_breaks_the_connection_off() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let nobody = free.local_addr().unwrap();
    drop(free);
    let relay = Running::start("delay=2ms", nobody);
    let mut socket = relay.connect();
    let error = socket.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let account = relay.end();
    assert_eq!((account.connections, account.refused), (1, 1));
}

#[test]
fn a_reset_crosses_the_link_in_both_directions() {
    let broken = |mut socket: TcpStream| {
        let mut byte = [0];
        if socket.read(&mut byte).is_ok() && byte == [1] {
            SockRef::from(&socket)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
        }
    };
    let relay = Running::start("delay=1ms", serve(broken));
    let mut socket = relay.connect();
    socket.write_all(&[1]).unwrap();
    let error = socket.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(relay.end().broken, 1);

    let (seen, saw) = std::sync::mpsc::channel();
    let asks = move |mut socket: TcpStream| {
        socket.set_read_timeout(Some(LONG)).unwrap();
        let mut all = Vec::new();
        let _ = seen.send(socket.read_to_end(&mut all).map_err(|error| error.kind()));
    };
    let relay = Running::start("delay=1ms", serve(asks));
    let mut socket = relay.connect();
    socket.write_all(&[2]).unwrap();
    // Until the byte has crossed, so that the reset does not overtake it in this host's kernel.
    std::thread::sleep(Duration::from_millis(50));
    SockRef::from(&socket)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(socket);
    assert_eq!(
        saw.recv_timeout(LONG).unwrap(),
        Err(ErrorKind::ConnectionReset)
    );
    assert_eq!(relay.end().broken, 1);
}

#[test]
fn a_reader_that_is_slow_holds_the_sender_up() {
    // It never reads until it is told to.
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = std::sync::Mutex::new(gone);
    let address = serve(move |mut socket| {
        gone.lock().unwrap().recv_timeout(LONG).unwrap();
        let mut all = Vec::new();
        socket.read_to_end(&mut all).unwrap();
        socket.write_all(&all.len().to_le_bytes()).unwrap();
    });
    let relay = Running::start("delay=1ms", address);
    let mut socket = relay.connect();
    const ALL: usize = 64 << 20;
    socket
        .set_write_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let block = vec![5; 1 << 16];
    let mut sent = 0;
    // The kernel's buffers of both ends and the window of the link are less than this.
    while sent < ALL {
        match socket.write(&block) {
            Ok(n) => sent += n,
            Err(_) => break,
        }
    }
    assert!(sent < ALL, "nothing held the sender up");
    go.send(()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut counted = [0; 8];
    socket.read_exact(&mut counted).unwrap();
    assert_eq!(usize::from_le_bytes(counted), sent);
    relay.end();
}

#[test]
fn more_connections_than_are_allowed_are_turned_away() {
    let relay = Running::with("delay=1ms", echo(), 1);
    let mut first = relay.connect();
    first.write_all(&[1]).unwrap();
    first.read_exact(&mut [0]).unwrap();
    let mut second = relay.connect();
    let turned_away = second.read(&mut [0]);
    assert!(
        matches!(&turned_away, Err(error) if error.kind() == ErrorKind::ConnectionReset),
        "{turned_away:?}"
    );
    first.write_all(&[2]).unwrap();
    first.read_exact(&mut [0]).unwrap();
    let account = relay.end();
    assert_eq!((account.connections, account.turned_away), (1, 1));
}
