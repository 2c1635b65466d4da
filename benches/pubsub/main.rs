//! What a publisher takes beside bare system calls, and a secured message beside its bare ciphers.
//!
//! `cargo bench -p benches --bench pubsub [-- beside [TURNS]]`
//!
//! The datagrams are those of 100 Floats as RawData in the layout Dynamic, sent to a socket on the loopback that nobody
//! reads: what the kernel does with a datagram is the same for both. The yardstick sends the same bytes again and again,
//! 32 in a call, as the publisher does with `--max`. With `beside` publisher and listener take turns with those of
//! open62541 instead, which are built first if they are not there.

#![allow(
    clippy::expect_used,
    reason = "a bench has nobody to tell but its user"
)]

mod beside;
#[path = "../yardstick/place.rs"]
#[allow(dead_code, reason = "its other half is for servers and clients")]
mod place;

use std::hint::black_box;
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::{hmac, iv::FixedLength};
use benches::{Subject, compare, print};
use load::pubsub::{Publish, Signal, Target, Values, publish};
use pubsub::layout::Layout;
use pubsub::raw::RawType;
use pubsub::security::{GroupKeys, Mode, PubSubPolicy, Sealer};
use pubsub::template::Template;
use pubsub::view::Encoding;
use pubsub::{Content, Fields, PublisherId};
use wire::template::walk::BuiltInType;

/// Datagrams in a piece of work: enough that sockets and templates, made once for each, do not count.
const DATAGRAMS: u32 = 16_384;
const SECURED: usize = 1400;
/// Floats in a message.
const SIGNALS: u16 = 100;

fn main() {
    // Cargo adds a word of its own.
    let mut words = std::env::args().skip(1).filter(|it| it != "--bench");
    if words.next().as_deref() == Some("beside") {
        let turns = words.next().map_or(9, |it| it.parse().expect("TURNS"));
        beside::run(turns).expect("both take turns");
        return;
    }
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let at = sink.local_addr().expect("its address");
    let floats = template(Layout::Dynamic, 400, None);
    let datagram = written(floats);
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    sender.connect(at).expect("a way there");
    let mut subjects = vec![
        Subject::new("publish --max", || {
            let stop = AtomicBool::new(false);
            let sent = publish(plan(&at.to_string(), DATAGRAMS.into()), &stop, |_| ())
                .expect("datagrams are sent");
            assert_eq!(sent.datagrams, u64::from(DATAGRAMS));
            assert_eq!(sent.datagram_bytes, datagram.len() as u64);
        }),
        Subject::new("sendmmsg", || raw::send(&sender, &datagram, DATAGRAMS)),
    ];
    let title = format!("{DATAGRAMS} datagrams of {} bytes", datagram.len());
    print(&title, &compare(60, &mut subjects));

    // Headers of the layout, a header and a signature of security: what is left is payload.
    let key: Vec<u8> = (0..68).collect();
    let keys = GroupKeys::new(PubSubPolicy::Aes256Ctr, &key).expect("a key");
    let sealer = || Some(Sealer::new(keys.clone(), 1, Mode::SignAndEncrypt, [1; 4]));
    let around = written(template(Layout::Dynamic, 0, sealer())).len();
    let mut secured = template(Layout::Dynamic, SECURED - around, sealer());
    let mut out = Vec::new();
    assert!(secured.write(0, &mut out) && out.len() == SECURED);
    let cipher = UnboundCipherKey::new(&AES_256, &key[32..64]).expect("a key");
    let cipher = EncryptingKey::ctr(cipher).expect("a cipher");
    let signing = hmac::Key::new(hmac::HMAC_SHA256, &key[..32]);
    let mut bytes = vec![0; SECURED];
    let mut subjects = vec![
        Subject::new("a secured message", || {
            assert!(secured.write(0, black_box(&mut out)));
        }),
        Subject::new("AES-256-CTR and HMAC", || {
            let context = EncryptionContext::Iv128(FixedLength::from([2; 16]));
            let done = cipher.less_safe_encrypt(black_box(&mut bytes), context);
            black_box(done.expect("it is encrypted"));
            black_box(hmac::sign(&signing, &bytes));
        }),
    ];
    let title = format!("SignAndEncrypt, {SECURED} bytes");
    print(&title, &compare(400, &mut subjects));
}

/// A message with so many bytes of RawData.
fn template(layout: Layout, bytes: usize, sealer: Option<Sealer>) -> Template {
    let types = vec![RawType::scalar(BuiltInType::Byte); bytes];
    let sets = [(1, Content::Key(Fields::Raw(vec![0; bytes])))];
    let message = layout.message(PublisherId::UInt16(1), 1, 1, sets);
    Template::new(&message, &[types.as_slice()], sealer).expect("a message")
}

fn written(mut template: Template) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(template.write(0, &mut out));
    out
}

fn plan(at: &str, cycles: u64) -> Publish {
    let to = Target::Udp(format!("opc.udp://{at}").parse().expect("an address"));
    Publish {
        encoding: Encoding::Raw,
        cycles: Some(cycles),
        ..Publish::new(to, Values::Count(Signal::Float, SIGNALS))
    }
}

#[cfg(target_os = "linux")]
mod raw {
    use std::io::IoSlice;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg};

    const TOGETHER: usize = 32;

    /// The same bytes again and again, with nothing but the call.
    pub fn send(socket: &UdpSocket, datagram: &[u8], count: u32) {
        let mut headers = MultiHeaders::preallocate(TOGETHER, None);
        let slices = [[IoSlice::new(datagram)]; TOGETHER];
        let to: [Option<SockaddrStorage>; TOGETHER] = [None; TOGETHER];
        let none: [ControlMessage<'_>; 0] = [];
        let mut left = count as usize;
        while left > 0 {
            let some = slices.iter().take(left);
            let flags = MsgFlags::empty();
            let fd = socket.as_raw_fd();
            let sent = sendmmsg(fd, &mut headers, some, to, none, flags).expect("it is sent");
            left -= sent.count();
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod raw {
    use std::net::UdpSocket;

    /// One after another, where there is no call for several.
    pub fn send(socket: &UdpSocket, datagram: &[u8], count: u32) {
        for _ in 0..count {
            socket.send(datagram).expect("it is sent");
        }
    }
}
