//! What `uaperf publish --max` spends on a message of a hundred Floats, from its values to the call that sends it.
//!
//! A round is a message, to a socket that nobody reads. Paths are `raw`, `variant`, `value` and `secured`.

use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;

use load::pubsub::{Publish, Signal, Target, Values, publish};
use pubsub::security::{GroupKeys, Mode, PubSubPolicy};
use pubsub::view::Encoding;

/// Publishes so many messages.
pub fn run(path: &str, rounds: u32) {
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let at = sink.local_addr().expect("its address");
    let is_secured = path == "secured";
    let key: Vec<u8> = (0..68).collect();
    let key = GroupKeys::new(PubSubPolicy::Aes256Ctr, &key).expect("a key");
    let to = Target::Udp(format!("opc.udp://{at}").parse().expect("an address"));
    let plan = Publish {
        encoding: match path {
            "variant" => Encoding::Variant,
            "value" => Encoding::DataValue,
            _ => Encoding::Raw,
        },
        mode: is_secured.then_some(Mode::SignAndEncrypt),
        keys: is_secured.then_some((1, key)).into_iter().collect(),
        cycles: Some(rounds.into()),
        ..Publish::new(to, Values::Count(Signal::Float, 100))
    };
    let sent = publish(plan, &AtomicBool::new(false), |_| ()).expect("it is published");
    assert_eq!(sent.datagrams + sent.refused, u64::from(rounds));
}
