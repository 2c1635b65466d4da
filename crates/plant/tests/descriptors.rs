//! A server that runs out of descriptors: alone in its process, whose limit is lowered.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use plant::{Config, Server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const PATIENCE: Duration = Duration::from_secs(60);

fn hello(mut stream: &TcpStream) -> std::io::Result<[u8; 4]> {
    use std::io::Write;
    let url = b"opc.tcp://x";
    let mut hello = b"HELF".to_vec();
    hello.extend_from_slice(&(32 + url.len() as u32).to_le_bytes());
    for number in [0, 65536, 65536, 0, 0, url.len() as u32] {
        hello.extend_from_slice(&number.to_le_bytes());
    }
    hello.extend_from_slice(url);
    stream.write_all(&hello)?;
    let mut answer = [0; 4];
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_server_without_descriptors_tells_who_waits_and_serves_again_when_there_are_some() {
    let server = Server::start(Config::default()).unwrap();
    let first = TcpStream::connect(server.address()).unwrap();
    assert_eq!(&hello(&first).unwrap(), b"ACKF");

    let limit = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(64),
        ..limit
    };
    setrlimit(Resource::Nofile, few).unwrap();
    // All are taken but one, and that is the client's own. Twice: what a thread had open for a moment is free again.
    let mut taken = Vec::new();
    for _ in 0..2 {
        while let Ok(file) = std::fs::File::open("/dev/null") {
            taken.push(file);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(taken.pop());
    let mut waiting = TcpStream::connect(server.address()).unwrap();
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    match waiting.read(&mut [0; 16]) {
        Ok(0) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        other => panic!("still waiting: {other:?}"),
    }
    assert!(server.counted().refused_connections > 0);

    // The first is served all the while, and others once there are descriptors.
    drop((waiting, taken));
    let next = TcpStream::connect(server.address()).unwrap();
    assert_eq!(&hello(&next).unwrap(), b"ACKF");
}
