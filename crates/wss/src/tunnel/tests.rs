use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::{Arc, LazyLock, Mutex};

use proptest::prelude::*;
use wire::template::walk::ResponseHead;

use super::*;
use crate::http::chunk;
use crate::tls::{Judge, Rejected};

/// Accepts anything, or nothing.
#[derive(Debug)]
struct Opinion(bool, Mutex<Vec<usize>>);

impl Judge for Opinion {
    fn judge(&self, chain: &[u8]) -> Result<(), Rejected> {
        self.1.lock().unwrap().push(chain.len());
        match self.0 {
            true => Ok(()),
            false => Err(Rejected {
                status: 0x801A_0000,
                reason: "nobody knows it".into(),
                thumbprint: None,
            }),
        }
    }
}

fn server() -> TlsServer {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().to_vec(), made.signing_key.serialize_der());
    TlsServer::new(vec![certificate], &key, true).unwrap()
}

fn client(accepts: bool) -> TlsClient {
    TlsClient::new(Arc::new(Opinion(accepts, Mutex::default())), true).unwrap()
}

fn mask(bytes: &mut [u8]) {
    bytes.fill(0x5a);
}

fn both(client: &TlsClient, server: &TlsServer) -> (Tunnel, Tunnel) {
    let client = Tunnel::connect(client, ("localhost", 4843), "/plant", mask).unwrap();
    (client, Tunnel::accept(server, None).unwrap())
}

/// A socket that never blocks, as one end sees it: what came, what was sent, and how much of that it takes.
#[derive(Default)]
struct Socket {
    came: VecDeque<u8>,
    sent: Vec<u8>,
    room: usize,
    ended: bool,
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.came.read(into)? {
            0 if !self.ended => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.room.saturating_sub(self.sent.len()));
        self.sent.extend_from_slice(&bytes[..count]);
        match count {
            0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Carries what is pending from one to the other in pieces of this size; the chunks that come of it.
fn carry(from: &mut Tunnel, to: &mut Tunnel, piece: usize) -> Result<Vec<u8>, TunnelError> {
    let mut chunks = Vec::new();
    while !from.pending().is_empty() {
        let count = from.pending().len().min(piece);
        let mut bytes = from.pending()[..count].to_vec();
        from.wrote(count);
        let mut into = [0; 100];
        let given = to.receive(&mut bytes, &mut into)?;
        chunks.extend_from_slice(&into[..given]);
        while to.has_waiting() {
            let given = to.waiting(&mut into);
            chunks.extend_from_slice(&into[..given]);
        }
    }
    Ok(chunks)
}

fn open(client: &mut Tunnel, server: &mut Tunnel, piece: usize) {
    while !(client.is_open() && server.is_open()) {
        assert!(!(client.pending().is_empty() && server.pending().is_empty()));
        carry(client, server, piece).unwrap();
        carry(server, client, piece).unwrap();
    }
    // Tickets.
    carry(server, client, piece).unwrap();
}

fn chunk(length: usize) -> Vec<u8> {
    let mut chunk = b"MSGF".to_vec();
    chunk.extend_from_slice(&(length as u32).to_le_bytes());
    chunk.resize(length, 7);
    chunk
}

#[test]
fn chunks_go_both_ways_whatever_the_pieces() {
    let (tls_client, tls_server) = (client(true), server());
    for piece in [1, 7, 1500, 100_000] {
        let (mut client, mut server) = both(&tls_client, &tls_server);
        open(&mut client, &mut server, piece);
        for length in [8, 300, 65_536, 200_000] {
            let sent = chunk(length);
            client.send(&sent).unwrap();
            assert!(carry(&mut client, &mut server, piece).unwrap() == sent);
            server.send(&sent).unwrap();
            assert!(carry(&mut server, &mut client, piece).unwrap() == sent);
        }
        assert_eq!((client.held(), server.held()), (0, 0));
        let secured = client.secured().unwrap();
        assert_eq!(Some(&secured), server.secured().as_ref());
        assert_eq!(secured.version, "TLS 1.3");
        assert!(secured.cipher.starts_with("TLS_AES_"), "{secured:?}");
    }
}

#[test]
fn a_later_connection_is_resumed() {
    let (tls_client, tls_server) = (client(true), server());
    for resumed in [false, true] {
        let (mut client, mut server) = both(&tls_client, &tls_server);
        open(&mut client, &mut server, 1500);
        assert_eq!(client.secured().unwrap().resumed, resumed);
    }
}

/// Accepts a certificate so often.
#[derive(Debug)]
struct Patience(Mutex<u32>);

impl Judge for Patience {
    fn judge(&self, chain: &[u8]) -> Result<(), Rejected> {
        assert!(!chain.is_empty());
        let mut left = self.0.lock().unwrap();
        match left.checked_sub(1) {
            Some(less) => {
                *left = less;
                Ok(())
            }
            None => Opinion(false, Mutex::default()).judge(chain),
        }
    }
}

#[test]
fn a_certificate_is_judged_again_when_it_is_not_shown_again() {
    let made = TlsClient::new(Arc::new(Patience(Mutex::new(2))), true);
    let (tls_client, tls_server) = (made.unwrap(), server());
    for resumed in [false, true] {
        let (mut client, mut server) = both(&tls_client, &tls_server);
        open(&mut client, &mut server, 1500);
        assert_eq!(client.secured().unwrap().resumed, resumed);
    }
    let (mut client, mut server) = both(&tls_client, &tls_server);
    carry(&mut client, &mut server, 1500).unwrap();
    let error = carry(&mut server, &mut client, 100_000).unwrap_err();
    assert!(
        matches!(error, TunnelError::Tls(TlsError::Rejected(_))),
        "{error:?}"
    );
    assert!(client.secured().unwrap().resumed);
    // Nothing was asked of the server.
    let mut into = [0; 100];
    let mut bytes = client.pending().to_vec();
    let _ = server.receive(&mut bytes, &mut into);
    assert!(!server.is_open());
}

#[test]
fn a_certificate_that_is_not_accepted_ends_it_with_the_reason() {
    let (mut client, mut server) = both(&client(false), &server());
    carry(&mut client, &mut server, 1500).unwrap();
    let error = carry(&mut server, &mut client, 100_000).unwrap_err();
    let TunnelError::Tls(TlsError::Rejected(rejected)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(rejected.status, 0x801A_0000);
    // And the server is told by an alert.
    let error = carry(&mut client, &mut server, 1500).unwrap_err();
    assert!(error.to_string().contains("ertificate"), "{error}");
    assert!(!server.is_open() && server.is_closed());
}

#[test]
fn pings_are_answered_between_frames_and_the_last_one_only() {
    let (mut client, mut server) = both(&client(true), &server());
    open(&mut client, &mut server, 1500);
    let whole = chunk(1000);
    server.send(&whole[..500]).unwrap();
    assert_eq!(carry(&mut server, &mut client, 1500).unwrap().len(), 500);
    for code in [1001, 1002] {
        let mut framed = Vec::new();
        let payload = Payload::close(code);
        let mut frame = |opcode| {
            framed.extend_from_slice(&[opcode, 0x82, 0, 0, 0, 0]);
            framed.extend_from_slice(payload.bytes());
        };
        frame(0x89);
        client.seal(&framed).unwrap();
    }
    carry(&mut client, &mut server, 1500).unwrap();
    assert!(server.pending().is_empty(), "in the middle of a frame");
    server.send(&whole[500..]).unwrap();
    let rest = carry(&mut server, &mut client, 1500).unwrap();
    assert_eq!(rest, whole[500..]);
    assert_eq!(server.ping, None);
}

#[test]
fn a_socket_that_takes_little_gets_each_byte_once() {
    let (mut client, mut server) = both(&client(true), &server());
    open(&mut client, &mut server, 1500);
    let sent = [chunk(100_000), chunk(8), chunk(50_000)].concat();
    let (mut socket, mut at, mut got) = (Socket::default(), 0, Vec::new());
    let mut rounds = 0;
    while got.len() < sent.len() {
        socket.room = socket.sent.len() + 999;
        match client.write(&mut socket, &sent[at..]) {
            Ok(count) => at += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        // As long as something sealed was not taken, there is something left to offer.
        assert!(client.pending().is_empty() || at < sent.len());
        assert!(client.held() <= PIECE + 1024);
        let mut end = Socket {
            came: socket.sent.drain(..).collect(),
            ..Socket::default()
        };
        let mut into = [0; 4096];
        loop {
            match server.read(&mut end, &mut into) {
                Ok(count) => got.extend_from_slice(&into[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        rounds += 1;
        assert!(rounds < 1000, "{at} {}", got.len());
    }
    assert_eq!(at, sent.len());
    assert!(got == sent);
}

#[test]
fn closing_is_said_and_answered() {
    let (mut client, mut server) = both(&client(true), &server());
    open(&mut client, &mut server, 1500);
    client.close();
    carry(&mut client, &mut server, 1500).unwrap();
    assert!(server.is_closed());
    let mut nothing = Socket::default();
    let read = server.read(&mut nothing, &mut [0; 10]);
    assert_eq!(read.unwrap(), 0);
    let written = server.write(&mut nothing, &chunk(8)).unwrap_err();
    assert_eq!(written.kind(), ErrorKind::BrokenPipe);
    server.close();
    assert!(!server.pending().is_empty());
    carry(&mut server, &mut client, 1500).unwrap();
}

#[test]
fn frames_that_must_not_be_end_it() {
    let (mut client, mut server) = both(&client(true), &server());
    open(&mut client, &mut server, 1500);
    // Without a mask.
    client.seal(&[0x82, 1, 0]).unwrap();
    let error = carry(&mut client, &mut server, 1500).unwrap_err();
    assert!(matches!(error, TunnelError::Frame(Violation::Unmasked)));
    // What it is told: a close frame with 1002, then the end of TLS.
    let mut said = server.pending().to_vec();
    let mut plain = Vec::new();
    let mut at = 0;
    loop {
        let (count, turn) = client.tls.advance(&mut said[at..], &mut Vec::new(), |it| {
            plain.extend_from_slice(it);
        });
        at += count;
        if turn.unwrap() != Turn::Again {
            break;
        }
    }
    assert_eq!(plain, [0x88, 2, 0x03, 0xEA]);
}

#[test]
fn a_client_that_wants_something_else_is_told_so_in_http() {
    let (mut client, mut server) = both(&client(true), &server());
    let Phase::Handshake(Opening::Ask(request)) = &mut client.phase else {
        panic!();
    };
    request.text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let mut refused = None;
    for _ in 0..4 {
        refused = refused.or(carry(&mut client, &mut server, 1500).err());
        if let Err(error) = carry(&mut server, &mut client, 1500) {
            assert_eq!(
                error.to_string(),
                "the server refuses the upgrade to a WebSocket: 426 Upgrade Required"
            );
            assert!(matches!(refused, Some(TunnelError::Refused(_))));
            return;
        }
    }
    panic!("nobody refused");
}

#[test]
fn no_head_is_longer_than_what_is_read_of_it() {
    let (mut client, mut server) = both(&client(true), &server());
    let Phase::Handshake(Opening::Ask(request)) = &mut client.phase else {
        panic!();
    };
    request.text = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; 100_000]].concat();
    carry(&mut client, &mut server, 1500).unwrap();
    carry(&mut server, &mut client, 1500).unwrap();
    let error = carry(&mut client, &mut server, 1500).unwrap_err();
    assert!(error.to_string().contains("431"), "{error}");
    assert!(server.held() < 32 * 1024, "{}", server.held());
}

#[test]
fn garbage_is_no_tls() {
    let mut server = Tunnel::accept(&server(), None).unwrap();
    let mut hello = b"HELF\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    let error = server.receive(&mut hello, &mut []).unwrap_err();
    assert!(matches!(error, TunnelError::Tls(_)), "{error}");
    assert!(server.is_closed());
}

static SERVER: LazyLock<TlsServer> = LazyLock::new(server);
static CLIENT: LazyLock<TlsClient> = LazyLock::new(|| client(true));

/// What somebody on the way does to the bytes that go one way.
#[derive(Debug, Clone)]
enum Meddling {
    Nothing,
    Flip(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    Twice,
}

fn meddling() -> impl Strategy<Value = Meddling> {
    let bytes = prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![
        4 => Just(Meddling::Nothing),
        2 => (any::<usize>(), 1..=255_u8).prop_map(|(at, mask)| Meddling::Flip(at, mask)),
        1 => any::<usize>().prop_map(Meddling::Cut),
        1 => (any::<usize>(), bytes).prop_map(|(at, bytes)| Meddling::Insert(at, bytes)),
        1 => Just(Meddling::Twice),
    ]
}

impl Meddling {
    fn with(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let length = bytes.len().max(1);
        match self {
            Self::Nothing => {}
            Self::Flip(at, mask) => {
                if let Some(byte) = bytes.get_mut(at % length) {
                    *byte ^= mask;
                }
            }
            Self::Cut(at) => bytes.truncate(at % length),
            Self::Insert(at, more) => {
                let at = (at % length).min(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            Self::Twice => bytes = bytes.repeat(2),
        }
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// rustls panics where it is asked in the wrong moment. Nobody on the network can bring that moment about.
    #[test]
    fn no_bytes_make_an_end_panic(
        meddlings in prop::collection::vec(meddling(), 12),
        piece in prop_oneof![Just(1_usize), 2..200_usize, Just(100_000)],
    ) {
        let (mut client, mut server) = both(&CLIENT, &SERVER);
        for (n, meddling) in meddlings.iter().enumerate() {
            let (from, to) = match n % 2 {
                0 => (&mut client, &mut server),
                _ => (&mut server, &mut client),
            };
            if from.is_open() {
                let _ = from.send(&chunk(40));
            }
            let count = from.pending().len();
            let sent = meddling.with(from.pending().to_vec());
            from.wrote(count);
            for (i, part) in sent.chunks(piece).enumerate() {
                let _ = to.receive(&mut part.to_vec(), &mut [0; 64]);
                // In the middle of what comes, too; an answer to each byte would grow forty times in each turn.
                if to.is_open() && i < 4 {
                    let _ = to.send(&chunk(8));
                }
            }
        }
        for end in [&mut client, &mut server] {
            end.close();
            let _ = end.send(&chunk(8));
            end.close();
        }
    }
}

#[test]
fn a_bare_tunnel_is_tls_alone() {
    let (tls_client, tls_server) = (client(true).without_http(), server());
    for piece in [1, 1500, 100_000] {
        let mut client = Tunnel::bare(&tls_client, "localhost").unwrap();
        let mut server = Tunnel::new(tls_server.accept().unwrap(), Inner::Bare, Opening::Bare);
        open(&mut client, &mut server, piece);
        for length in [8, 300, 200_000] {
            let bytes = chunk(length);
            client.send(&bytes).unwrap();
            assert_eq!(carry(&mut client, &mut server, piece).unwrap(), bytes);
            server.send(&bytes).unwrap();
            assert_eq!(carry(&mut server, &mut client, piece).unwrap(), bytes);
        }
        client.close();
        carry(&mut client, &mut server, piece).unwrap();
        assert!(server.is_closed());
    }
    let mut refused = Tunnel::bare(&client(false), "localhost").unwrap();
    let mut server = Tunnel::new(tls_server.accept().unwrap(), Inner::Bare, Opening::Bare);
    carry(&mut refused, &mut server, 100_000).unwrap();
    let error = carry(&mut server, &mut refused, 100_000).unwrap_err();
    assert!(error.to_string().contains("nobody knows it"), "{error}");
}

#[test]
fn the_last_answer_goes_whole_to_a_socket_that_takes_little() {
    let (tls_client, tls_server) = (client(true).without_http(), server());
    let mut client = Tunnel::bare(&tls_client, "localhost").unwrap();
    let mut server = Tunnel::accept_posts(&tls_server, (1 << 20, 1 << 20), None).unwrap();
    for _ in 0..4 {
        carry(&mut client, &mut server, 1500).unwrap();
        carry(&mut server, &mut client, 1500).unwrap();
    }
    let asked = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\
        Content-Type: application/octet-stream\r\nContent-Length: 1\r\n\r\nq";
    client.send(asked).unwrap();
    carry(&mut client, &mut server, 1500).unwrap();
    assert!(server.is_open());
    let mut answer = chunk(100_000);
    answer[20..24].copy_from_slice(&1u32.to_le_bytes());
    let (mut socket, mut at, mut got) = (Socket::default(), 0, Vec::new());
    while at < answer.len() {
        socket.room = socket.sent.len() + 999;
        match server.write(&mut socket, &answer[at..]) {
            Ok(count) => at += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        // Nor does it end while something of it waits.
        assert_eq!(server.is_closed(), at == answer.len());
        let mut end = Socket {
            came: socket.sent.drain(..).collect(),
            ..Socket::default()
        };
        let mut into = [0; 4096];
        loop {
            match client.read(&mut end, &mut into) {
                Ok(0) => break,
                Ok(count) => got.extend_from_slice(&into[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    assert!(got.starts_with(b"HTTP/1.1 200 OK\r\nConnection: close\r\n"));
    assert!(got.ends_with(&answer[24..]));
}

/// Part 6, 7.5.2: messages as text, in whatever pieces, and frames in parts.
#[test]
fn messages_in_json_go_both_ways_whatever_the_pieces() {
    const ASKED: &str = r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9},"MaxAge":2.5}"#;
    const ANSWER: &str = r#"{"UaTypeId":"i=632","ResponseHeader":{"RequestHandle":9}}"#;
    let message = |text: &str| wire::json::read(text.as_bytes(), 1000).unwrap();
    let chunked = |request: u32, body: &[u8]| {
        let (now, later) = body.split_at(10);
        let mut bytes = Vec::new();
        for (kind, part) in [(chunk::Kind::More, now), (chunk::Kind::Final, later)] {
            bytes.extend_from_slice(&chunk::head(kind, request, 1, part.len()));
            bytes.extend_from_slice(part);
        }
        bytes
    };
    let (tls_client, tls_server) = (client(true), server());
    for piece in [1, 100_000] {
        let host = ("localhost", 4843);
        let mut client = Tunnel::connect_texts(&tls_client, host, "/a", 1000, mask).unwrap();
        let mut server = Tunnel::accept(&tls_server, Some(1000)).unwrap();
        open(&mut client, &mut server, piece);
        assert_eq!(server.asked(), Some("opc.wss://localhost:4843/a"));
        client.send(&chunked(77, &message(ASKED))).unwrap();
        let came = carry(&mut client, &mut server, piece).unwrap();
        assert_eq!(came[chunk::HEAD..], message(ASKED));
        assert_eq!(chunk::number(&came, 20), 1);
        server.send(&chunked(1, &message(ANSWER))).unwrap();
        let came = carry(&mut server, &mut client, piece).unwrap();
        assert_eq!(came[chunk::HEAD..], message(ANSWER));
        assert_eq!(chunk::number(&came, 20), 77);
        // In two frames, with a ping between: text, ping, continuation.
        let (a, b) = ASKED.split_at(20);
        let mut frames = vec![0x01, 0x80 | a.len() as u8, 0, 0, 0, 0];
        frames.extend_from_slice(a.as_bytes());
        frames.extend_from_slice(&[0x89, 0x80, 0, 0, 0, 0]);
        frames.extend_from_slice(&[0x80, 0x80 | b.len() as u8, 0, 0, 0, 0]);
        frames.extend_from_slice(b.as_bytes());
        client.send_raw(&frames).unwrap();
        let came = carry(&mut client, &mut server, piece).unwrap();
        assert_eq!(came[chunk::HEAD..], message(ASKED));
        assert_eq!(chunk::number(&came, 20), 2);
        assert_eq!(
            (server.partial(), server.held()),
            // The second request waits for its answer.
            (None, server.pending().len() + size_of::<(u32, u32)>())
        );
    }
}

/// What there is no answer to is said so by a ServiceFault, and the WebSocket stays.
#[test]
fn answers_that_there_cannot_be_in_json_fail_their_request_alone() {
    const ASKED: &str = r#"{"UaTypeId":"i=629","RequestHeader":{"RequestHandle":9}}"#;
    const ANSWER: &str = r#"{"UaTypeId":"i=632","ResponseHeader":{"RequestHandle":9}}"#;
    let message = |text: &str| wire::json::read(text.as_bytes(), 1000).unwrap();
    let (tls_client, tls_server) = (client(true), server());
    let mut client =
        Tunnel::connect_texts(&tls_client, ("localhost", 4843), "/", 1000, mask).unwrap();
    let mut server = Tunnel::accept(&tls_server, Some(1000)).unwrap();
    open(&mut client, &mut server, 100_000);
    let chunks = |kind: chunk::Kind, request: u32, body: &[u8]| {
        let head = chunk::head(kind, request, 1, body.len());
        [&head[..], body].concat()
    };
    let mut broken_off = chunks(chunk::Kind::More, 3, &message(ANSWER)[..6]);
    let mut abort = chunks(
        chunk::Kind::Final,
        3,
        &[0, 0, 3, 0x80, 0xff, 0xff, 0xff, 0xff],
    );
    abort[3] = b'A';
    broken_off.extend_from_slice(&abort);
    let whole = |request: u32, body: &[u8]| chunks(chunk::Kind::Final, request, body);
    let answers = [
        (
            whole(1, &message(ANSWER)),
            ANSWER.len() - 1,
            0x80B9_0000_u32,
        ),
        (whole(2, &crate::http::tests::nested(101)), 0, 0x8008_0000),
        (broken_off, 0, 0x8003_0000),
        (whole(4, &message(ANSWER)), ANSWER.len(), 0),
    ];
    for (answer, most, status) in answers {
        let request = whole(77, &message(ASKED));
        client.send(&request).unwrap();
        carry(&mut client, &mut server, 100_000).unwrap();
        server.limit_texts(most);
        server.send(&answer).unwrap();
        let came = carry(&mut server, &mut client, 100_000).unwrap();
        let head = ResponseHead::parse(&came[chunk::HEAD..]).unwrap();
        assert_eq!(
            (head.request_handle, head.service_result.bits()),
            (9, status)
        );
        assert_eq!(chunk::number(&came, 20), 77);
        assert_eq!((server.held(), server.is_closed()), (0, false));
    }
}

#[test]
fn whoever_sends_no_message_in_json_is_told_by_a_status_code() {
    let (tls_client, tls_server) = (client(true), server());
    let text = |text: &str| {
        let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(text.as_bytes());
        frame
    };
    let binary = vec![0x82, 0x81, 0, 0, 0, 0, 7];
    for (frame, code) in [
        (text("no"), 1007),
        (text("{}"), 0),
        (text(&"[".repeat(51)), 1009),
        (binary, 1003),
    ] {
        let host = ("localhost", 4843);
        let mut client = Tunnel::connect_texts(&tls_client, host, "/", 1000, mask).unwrap();
        let mut server = Tunnel::accept(&tls_server, Some(50)).unwrap();
        open(&mut client, &mut server, 100_000);
        client.send_raw(&frame).unwrap();
        let taken = carry(&mut client, &mut server, 100_000);
        match (taken, code) {
            // An object of no type is a request of no service, which gets a ServiceFault.
            (Ok(came), 0) => assert_eq!(came[chunk::HEAD..chunk::HEAD + 2], [0, 0]),
            (Err(TunnelError::Frame(violation)), _) => assert_eq!(violation.close_code(), code),
            other => panic!("{other:?}"),
        }
    }
    // Where JSON is not taken it is not agreed on.
    let mut client =
        Tunnel::connect_texts(&tls_client, ("localhost", 4843), "/", 1000, mask).unwrap();
    let mut server = Tunnel::accept(&tls_server, None).unwrap();
    let mut refused = None;
    for _ in 0..4 {
        let _ = carry(&mut client, &mut server, 100_000);
        refused = refused.or(carry(&mut server, &mut client, 100_000).err());
    }
    assert!(
        matches!(refused, Some(TunnelError::Upgrade(_))),
        "{refused:?}"
    );
}
