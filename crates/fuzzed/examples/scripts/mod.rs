//! Scripts for the target `plant`: each kind of request after what it needs, and some of chance alone.

use fuzzed::change::Random;
use fuzzed::plant::KINDS;
use wire::service::{Kind, Request};

use crate::sample;

/// An operation of a script, for the first client.
fn op(number: u8, rest: &[u8]) -> Vec<u8> {
    [&[number, 0], rest].concat()
}

/// A subscription with items, and Publish requests.
fn subscribed() -> Vec<u8> {
    [
        op(0, &[7, 1, 100, 10, 0, 0, 0, 0]),
        op(14, &[2]),
        // Thirty items of two nodes.
        op(
            0,
            &[
                11, 0, 4, 1, 7, 5, 1, 0, 1, 2, 2, 1, 0, 7, 9, 1, 0, 2, 2, 2, 0, 0,
            ],
        ),
        op(0, &[16, 0, 0, 0, 0]),
        op(0, &[16, 0, 0, 0, 0]),
        op(9, &[40]),
        op(14, &[8]),
    ]
    .concat()
}

pub fn plant(seed: impl Fn(&str, &[u8])) {
    let chance = |seed: u64, len: usize| -> Vec<u8> {
        let mut random = Random(seed);
        (0..len).map(|_| random.number() as u8).collect()
    };
    for kind in 0..KINDS as u8 {
        for number in 0..3 {
            let rest = chance(u64::from(kind) * 7 + number, 40);
            let bytes = [
                vec![number as u8],
                subscribed(),
                op(0, &[&[kind], rest.as_slice()].concat()),
                op(6, &[&[kind], chance(number, 30).as_slice()].concat()),
                op(14, &[30]),
            ];
            seed(&format!("kind-{kind:02}-{number}"), &bytes.concat());
        }
    }
    for (number, kind) in Request::KINDS.iter().enumerate() {
        let kind: Kind = *kind;
        let message = sample::message(kind, &mut sample::Random(1));
        let body = &message[4..message.len().min(4 + 239)];
        let any = [&[number as u8, body.len() as u8], body].concat();
        let bytes = [vec![0], subscribed(), op(7, &any), op(14, &[9])];
        seed(&format!("any-{}", kind.name()), &bytes.concat());
    }
    // A large folder of which nothing is wanted, a thousand times; arrays, read in one request after the other, and by one who does not take them.
    let folder = op(0, &[2, 0, 6, 0, 1, 0, 0, 0, 128, 0]);
    seed("folder", &[vec![0], folder.clone(), folder].concat());
    let arrays = op(6, &[0, 3, 0, 0, 4, 1, 11]);
    seed("arrays", &[vec![0], arrays.clone()].concat());
    let unread = [
        vec![1],
        op(8, &[1]),
        op(6, &[0, 2, 0, 0, 4, 1, 11]).repeat(56),
        op(14, &[30]),
    ];
    seed("unread", &unread.concat());
    for number in 0..24 {
        let mut bytes = chance(100 + number, 60 + 20 * number as usize);
        bytes[0] = number as u8;
        seed(&format!("chance-{number:02}"), &bytes);
    }
}
