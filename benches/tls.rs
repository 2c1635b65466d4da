//! What a handshake of TLS costs both ends, beside one that goes on with keys of an earlier one, and the upgrade to a WebSocket
//! with it.
//!
//! `cargo bench -p benches --bench tls`

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench has nobody to tell but its user"
)]

use std::sync::Arc;
use std::time::SystemTime;

use benches::{Subject, compare, print};
use pki::make::Request;
use pki::{Curve, Key};
use wss::{Judge, Rejected, TlsClient, TlsServer, Tunnel};

/// Only what TLS does is measured: what a judge spends is of its own.
#[derive(Debug)]
struct Anybody;

impl Judge for Anybody {
    fn judge(&self, _: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }
}

fn main() {
    let keys = [
        ("RSA, 2048 bits", Key::generate(2048)),
        ("nistP256", Key::generate_on(Curve::P256)),
    ];
    for (name, key) in keys {
        let key = key.expect("a key");
        let request = Request::application("urn:bench")
            .common_name("bench")
            .dns("localhost");
        let certificate = request
            .self_signed(&key, SystemTime::now().into())
            .expect("a certificate");
        let chain = vec![certificate.der().to_vec()];
        let server = TlsServer::new(chain, key.pkcs8(), true).expect("a server");
        let client = |resumes| TlsClient::new(Arc::new(Anybody), resumes).expect("a client");
        let (fresh, resuming) = (client(false), client(true));
        // The first connection has nothing to go on with.
        handshake(&resuming, &server);
        let (full, short) = (handshake(&fresh, &server), handshake(&resuming, &server));
        assert!(!full.resumed && short.resumed, "{full:?} {short:?}");
        let mut subjects = [
            Subject::new("full", || {
                handshake(&fresh, &server);
            }),
            Subject::new("resumed", || {
                handshake(&resuming, &server);
            }),
        ];
        print(name, &compare(400, &mut subjects));
        for (what, it) in [("full", full), ("resumed", short)] {
            println!(
                "  {what}: {} bytes of the client, {} of the server",
                it.asked, it.answered
            );
        }
    }
}

/// What went over the wire until both ends were open.
#[derive(Debug)]
struct Spent {
    asked: usize,
    answered: usize,
    resumed: bool,
}

fn handshake(client: &TlsClient, server: &TlsServer) -> Spent {
    let mut client =
        Tunnel::connect(client, ("localhost", 4843), "/", |it| it.fill(7)).expect("a client");
    let mut server = Tunnel::accept(server, None).expect("a server");
    let (mut asked, mut answered) = (0, 0);
    while !(client.is_open() && server.is_open()) {
        asked += carry(&mut client, &mut server);
        answered += carry(&mut server, &mut client);
    }
    // What the next connection goes on with.
    answered += carry(&mut server, &mut client);
    Spent {
        asked,
        answered,
        resumed: client.secured().is_some_and(|it| it.resumed),
    }
}

fn carry(from: &mut Tunnel, to: &mut Tunnel) -> usize {
    let mut carried = 0;
    while !from.pending().is_empty() {
        let mut bytes = from.pending().to_vec();
        from.wrote(bytes.len());
        carried += bytes.len();
        to.receive(&mut bytes, &mut [0; 4096])
            .expect("what TLS can read");
    }
    carried
}
