//! A client's and a server's connection against each other, in memory and in virtual time.

#![allow(clippy::unwrap_used, clippy::panic)]

mod key_log;
mod pair;
mod shared;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pair::{Heard, Pair, Seen, configs, identity};
use wire::channel::{ChannelError, Protection, SendError, all_protections};
use wire::client::RequestId;
use wire::frame::FrameError;
use wire::policy::{Mode, Policy};
use wire::server::Polled;
use wire::service::{Limits, Request, Response, response_header};
use wire::template::{Template, walk};
use wire::types::{
    ContextOwned, DataValue, NodeId, ReadRequest, ReadResponse, ReadValueId, StatusCode,
};

const SIGNED: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::Sign,
};
const SECRET: Protection = Protection {
    policy: Policy::Aes256Sha256RsaPss,
    mode: Mode::SignAndEncrypt,
};
/// One algorithm encrypts and signs.
const AT_ONCE: Protection = Protection {
    policy: Policy::EccCurve25519,
    mode: Mode::SignAndEncrypt,
};
/// Chunks of every kind.
const EACH: [Protection; 5] = [
    Protection::NONE,
    SIGNED,
    SECRET,
    Protection {
        mode: Mode::Sign,
        ..AT_ONCE
    },
    AT_ONCE,
];
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn every_policy_and_mode_opens_with_every_key_length_it_allows() {
    for protection in all_protections() {
        for bits in [256, 384, 1024, 2048, 3072, 4096] {
            if !protection.policy.key_bits().contains(&bits) {
                continue;
            }
            let mut pair = Pair::open(protection, bits);
            for len in [0, 1, 15, 16, 17, 31, 1000] {
                let body = vec![len as u8; len];
                let id = pair.request(&body);
                pair.run();
                assert_eq!(pair.answer(id), Some(body), "{protection} {bits} {len}");
            }
            pair.client.close(pair.now);
            pair.run();
            assert_eq!(
                pair.heard.last(),
                Some(&Heard::Closed(ChannelError::Closed))
            );
            assert_eq!(pair.seen.last(), Some(&Seen::Closed(ChannelError::Closed)));
        }
    }
}

#[test]
fn a_template_goes_out_and_its_response_is_walked_under_every_policy_and_mode() {
    let owned = ContextOwned::default();
    let nodes = (0..40)
        .map(|i| ReadValueId::from(NodeId::new(2, i)))
        .collect();
    let request = ReadRequest {
        nodes_to_read: Some(nodes),
        ..Default::default()
    };
    let template = Template::new(&request, &owned.context()).unwrap();
    for protection in all_protections() {
        let mut pair = Pair::open(protection, 2048);
        pair.echo = false;
        let (deadline, utc) = (pair.now.mono + HOUR, pair.now.utc);
        let id = pair
            .client
            .send(deadline, |out, handle| template.append(out, handle, utc))
            .unwrap();
        pair.run();
        let Some(Heard::Request(asked, body)) = pair.heard.last().cloned() else {
            panic!("{:?}", pair.heard)
        };
        let Request::Read(read) =
            Request::decode(&body, &Limits::for_message_size(1 << 16)).unwrap()
        else {
            panic!("no ReadRequest")
        };
        assert_eq!(read.nodes_to_read, request.nodes_to_read);
        assert_eq!(read.request_header.request_handle, id.number());
        let values = (0..40)
            .map(|i| DataValue::value_only(f64::from(i)))
            .collect();
        let response = Response::from(ReadResponse {
            response_header: response_header(&read.request_header, utc),
            results: Some(values),
            diagnostic_infos: None,
        });
        pair.server
            .respond(asked, |out| response.encode(out).unwrap())
            .unwrap();
        pair.run();
        let tally = walk::check_read(&pair.answer(id).unwrap(), 40).unwrap();
        assert_eq!((tally.values, tally.bad), (40, 0), "{protection}");
    }
}

#[test]
fn a_key_too_short_for_the_policy_is_refused() {
    let mut pair = Pair::new(SIGNED, 1024);
    pair.run();
    assert!(!pair.client.is_open());
}

#[test]
fn keys_of_different_lengths_on_both_sides_fit() {
    for (ours, theirs) in [(2048, 4096), (4096, 2048), (3072, 2048)] {
        let (mut client, mut server) = configs(SECRET, 2048);
        client.identity = Some(identity(ours));
        client.server = Some(identity(theirs).certificate);
        server.identities = Some(identity(theirs)).into();
        let mut pair = Pair::with(client, server);
        pair.run();
        assert!(pair.client.is_open(), "{ours} {theirs} {:?}", pair.heard);
    }
}

#[test]
fn bytes_may_come_one_at_a_time() {
    let mut pair = Pair::new(SECRET, 2048);
    pair.piece = 1;
    pair.run();
    let id = pair.request(b"slowly");
    pair.run();
    assert_eq!(pair.answer(id), Some(b"slowly".to_vec()));
}

#[test]
fn ten_megabytes_go_both_ways_in_chunks() {
    for protection in EACH {
        let mut pair = Pair::open(protection, 2048);
        let body: Vec<u8> = (0..10_000_000u32).map(|i| (i % 251) as u8).collect();
        let id = pair.request(&body);
        let next = pair.request(b"next");
        pair.run();
        assert!(pair.answer(id) == Some(body), "{protection}");
        assert_eq!(pair.answer(next), Some(b"next".to_vec()));
    }
}

#[test]
fn a_message_larger_than_the_peer_takes_is_not_sent_and_harms_nothing() {
    let (client, mut server) = configs(Protection::NONE, 2048);
    server.limits.receive_message = 100_000;
    let mut pair = Pair::with(client, server);
    pair.run();
    let deadline = pair.now.mono + HOUR;
    let sent = pair
        .client
        .send(deadline, |out, _| out.extend_from_slice(&[0; 100_001]));
    assert!(sent.is_err());
    assert_eq!(pair.client.in_flight(), 0);
    let id = pair.request(&[0; 100_000]);
    pair.run();
    assert!(pair.answer(id).is_some());
}

#[test]
fn a_message_larger_than_agreed_ends_the_connection_before_it_is_held() {
    let (mut client, mut server) = configs(Protection::NONE, 2048);
    server.limits.receive_message = 0;
    client.limits.receive_message = 100_000;
    let mut pair = Pair::with(client, server);
    // The client's limit is kept from the server, which then goes beyond it.
    pair.to_server = Box::new(|bytes| {
        if bytes.starts_with(b"HEL") {
            bytes[20..28].fill(0);
        }
    });
    pair.run();
    pair.request(&[0; 300_000]);
    pair.run();
    let closed = pair.seen.last();
    assert!(
        matches!(closed, Some(Seen::Closed(ChannelError::TooLarge { bytes, .. })) if *bytes < 200_000),
        "{closed:?}"
    );
}

#[test]
fn an_aborted_response_fails_its_request_and_no_other() {
    let mut pair = Pair::open(SECRET, 2048);
    pair.echo = false;
    let (first, second) = (pair.request(b"1"), pair.request(b"2"));
    pair.run();
    for heard in pair.heard.clone() {
        match heard {
            Heard::Request(id, body) if body == b"1" => {
                pair.server
                    .abort(id, StatusCode::BadResponseTooLarge)
                    .unwrap();
            }
            Heard::Request(id, _) => {
                pair.server.respond(id, |out| out.push(2)).unwrap();
            }
            _ => {}
        }
    }
    pair.run();
    let code = StatusCode::BadResponseTooLarge.bits();
    assert!(pair.seen.contains(&Seen::Aborted(first, code)));
    assert_eq!(pair.answer(second), Some(vec![2]));
}

/// Begins to answer a request, and goes on with 100 bytes at a time.
fn answered_bit_by_bit(pair: &mut Pair, body: &[u8]) -> Result<(), SendError> {
    let bytes = pair.client.pending().to_vec();
    pair.client.wrote(bytes.len());
    pair.server.receive(&bytes);
    let mut bits = body.chunks(100);
    let mut write = |out: &mut Vec<u8>| {
        out.extend_from_slice(bits.next().unwrap_or_default());
        bits.len() > 0
    };
    let Some(Polled::Request { mut reply, .. }) = pair.server.poll(pair.now) else {
        panic!("no request");
    };
    if let Some(mut unfinished) = reply.begin(&mut write)? {
        while pair.server.send_more(&mut unfinished, &mut write)? {
            pair.run();
        }
    }
    pair.run();
    Ok(())
}

#[test]
fn a_response_that_is_made_bit_by_bit_is_like_any_other() {
    for protection in EACH {
        let (mut client, server) = configs(protection, 2048);
        client.limits.receive_buffer = 8192;
        let mut pair = Pair::with(client, server);
        pair.run();
        for len in [0, 1, 99, 100, 101, 8_000, 8_192, 30_001] {
            let id = pair.request(b"long");
            let body: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            answered_bit_by_bit(&mut pair, &body).unwrap();
            assert!(pair.answer(id) == Some(body), "{protection} {len}");
        }
    }
}

#[test]
fn a_response_that_grows_too_large_while_it_is_sent_is_aborted_and_the_connection_goes_on() {
    let (mut client, server) = configs(SECRET, 2048);
    client.limits.receive_buffer = 8192;
    client.limits.receive_message = 20_000;
    let mut pair = Pair::with(client, server);
    pair.run();
    let id = pair.request(b"long");
    let sent = answered_bit_by_bit(&mut pair, &[7; 20_001]);
    assert!(matches!(
        sent,
        Err(SendError::TooLarge { bytes: 20_001, .. })
    ));
    pair.run();
    let code = StatusCode::BadResponseTooLarge.bits();
    assert!(pair.seen.contains(&Seen::Aborted(id, code)));
    let id = pair.request(b"next");
    answered_bit_by_bit(&mut pair, &[8; 20_000]).unwrap();
    assert_eq!(pair.answer(id), Some(vec![8; 20_000]));
}

#[test]
fn a_channel_is_renewed_at_three_quarters_of_its_life_while_requests_go_on() {
    for protection in EACH {
        let mut pair = Pair::open(protection, 2048);
        let mut answered = 0;
        for _ in 0..100 {
            let id = pair.request(b"load");
            pair.wait(HOUR / 10);
            answered += usize::from(pair.answer(id).is_some());
        }
        assert_eq!(answered, 100, "{protection}");
        let renewals = pair
            .seen
            .iter()
            .filter(|seen| **seen == Seen::Opened { renewed: true })
            .count();
        // Ten hours, one renewal each 45 minutes.
        assert_eq!(renewals, 13, "{protection}");
        assert!(pair.client.is_open());
    }
}

#[test]
fn requests_sent_while_a_renewal_is_being_signed_stay_in_order_behind_it() {
    let mut pair = Pair::open(SECRET, 2048);
    pair.hold_jobs = true;
    let before = pair.request(b"before");
    pair.client.renew(pair.now);
    let behind: Vec<_> = (0..10).map(|i| pair.request(&[i])).collect();
    pair.run();
    assert_eq!(pair.answer(before), Some(b"before".to_vec()));
    assert_eq!(pair.answer(behind[0]), None);
    pair.hold_jobs = false;
    pair.run();
    for (i, id) in behind.into_iter().enumerate() {
        assert_eq!(pair.answer(id), Some(vec![i as u8]));
    }
    assert!(pair.seen.contains(&Seen::Opened { renewed: true }));
}

#[test]
fn a_server_keeps_the_old_token_until_the_new_one_is_used() {
    let mut pair = Pair::open(SECRET, 2048);
    let tokens = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&tokens);
    pair.to_client = Box::new(move |bytes| {
        if bytes.starts_with(b"MSG") {
            noted.borrow_mut().push(bytes[12]);
        }
    });
    pair.echo = false;
    pair.request(b"early");
    pair.run();
    let Some(Heard::Request(early, _)) = pair.heard.last().cloned() else {
        panic!("{:?}", pair.heard)
    };
    pair.client.renew(pair.now);
    pair.run();
    pair.server.respond(early, |out| out.push(1)).unwrap();
    pair.run();
    pair.echo = true;
    pair.request(b"with the new token");
    pair.run();
    assert_eq!(*tokens.borrow(), [1, 2]);
}

#[test]
fn an_expired_token_is_refused() {
    let mut pair = Pair::open(SECRET, 2048);
    // The renewal never arrives.
    pair.to_server = Box::new(Vec::clear);
    pair.wait(HOUR / 2);
    assert!(pair.client.is_open());
    pair.wait(HOUR);
    let closed = pair.heard.last();
    assert_eq!(closed, Some(&Heard::Closed(ChannelError::Token(1))));
    let told = Seen::Closed(ChannelError::Timeout("renewing the secure channel"));
    assert_eq!(pair.seen.last(), Some(&told));
}

#[test]
fn a_lost_response_times_out_and_is_late_when_it_comes_after_all() {
    let mut pair = Pair::open(SIGNED, 2048);
    pair.echo = false;
    let id = pair.request(b"lost");
    pair.wait(Duration::from_secs(9));
    assert!(!pair.seen.contains(&Seen::TimedOut(id)));
    pair.wait(Duration::from_secs(1));
    assert!(pair.seen.contains(&Seen::TimedOut(id)));
    let Some(Heard::Request(late, _)) = pair.heard.last().cloned() else {
        panic!("{:?}", pair.heard)
    };
    pair.server.respond(late, |out| out.push(0)).unwrap();
    pair.run();
    assert_eq!(pair.seen.last(), Some(&Seen::Late(id.number())));
    assert!(pair.client.is_open());
}

#[test]
fn requests_left_when_the_connection_ends_are_told_before_the_end() {
    let mut pair = Pair::open(SIGNED, 2048);
    pair.echo = false;
    let ids: Vec<RequestId> = (0..3).map(|i| pair.request(&[i])).collect();
    pair.run();
    pair.server.shut(StatusCode::BadShutdown, "maintenance");
    pair.run();
    let end = &pair.seen[pair.seen.len() - 4..];
    for id in ids {
        assert!(end.contains(&Seen::Unanswered(id)));
    }
    let Some(Seen::Closed(ChannelError::Peer(message))) = end.last() else {
        panic!("{end:?}")
    };
    assert_eq!(message.status, StatusCode::BadShutdown);
    assert_eq!(message.reason, "maintenance");
}

/// Delivers the chunks of three requests in another order or number.
fn tamper(protection: Protection, change: fn(&mut Vec<Vec<u8>>)) -> Pair {
    let mut pair = Pair::open(protection, 2048);
    pair.to_server = Box::new(move |bytes| {
        let mut chunks = Vec::new();
        while bytes.len() >= 8 {
            let size = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
            chunks.push(bytes.drain(..size).collect());
        }
        change(&mut chunks);
        *bytes = chunks.concat();
    });
    for i in 0..3 {
        pair.request(&[i; 40]);
    }
    pair.run();
    pair
}

#[test]
fn repeated_reordered_and_missing_chunks_are_refused() {
    let changes: [fn(&mut Vec<Vec<u8>>); 3] = [
        |chunks| chunks.insert(1, chunks[0].clone()),
        |chunks| chunks.swap(1, 2),
        |chunks| drop(chunks.remove(1)),
    ];
    for protection in EACH {
        for change in changes {
            let pair = tamper(protection, change);
            let closed = pair.heard.last();
            // Where the number is part of the signature it is that which is wrong.
            let refused = match protection.policy.is_authenticated() {
                true => matches!(closed, Some(Heard::Closed(ChannelError::Security(_)))),
                false => matches!(closed, Some(Heard::Closed(ChannelError::Sequence(_)))),
            };
            assert!(refused, "{protection} {closed:?}");
            // What the peer is told says no more than it has to.
            let Some(Seen::Closed(ChannelError::Peer(told))) = pair.seen.last() else {
                panic!("{:?}", pair.seen)
            };
            assert_eq!(told.status, StatusCode::BadSecurityChecksFailed);
        }
    }
}

#[test]
fn one_changed_bit_anywhere_in_a_secured_chunk_is_refused() {
    for protection in EACH.into_iter().filter(|it| it.mode.signs()) {
        let len = Rc::new(RefCell::new(0));
        for at in 0.. {
            let noted = Rc::clone(&len);
            let mut pair = Pair::open(protection, 2048);
            pair.to_server = Box::new(move |bytes| {
                *noted.borrow_mut() = bytes.len();
                bytes[at] ^= 1;
            });
            pair.heard.clear();
            pair.request(&[7; 20]);
            pair.run();
            // A size that grew makes the server wait for more; nothing else may pass.
            let refused = matches!(pair.heard.as_slice(), [Heard::Closed(_)]);
            assert!(refused || (4..8).contains(&at), "{at} {:?}", pair.heard);
            assert!(!matches!(pair.heard.first(), Some(Heard::Request(..))));
            if at + 1 == *len.borrow() {
                break;
            }
        }
    }
}

#[test]
fn one_changed_byte_anywhere_in_an_open_request_is_refused() {
    let len = Rc::new(RefCell::new(0));
    for at in (0..).step_by(7) {
        let noted = Rc::clone(&len);
        let mut pair = Pair::new(SECRET, 2048);
        pair.to_server = Box::new(move |bytes| {
            if bytes.starts_with(b"OPN") {
                *noted.borrow_mut() = bytes.len();
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 0x55;
                }
            }
        });
        pair.run();
        if at >= *len.borrow() {
            assert!(pair.client.is_open());
            break;
        }
        assert!(!pair.client.is_open(), "byte {at}");
    }
}

#[test]
fn an_untrusted_certificate_is_refused_before_anything_is_decrypted() {
    let (client, server) = configs(SECRET, 2048);
    let mut pair = Pair::with(client, server);
    pair.trust = Err(StatusCode::BadCertificateUntrusted);
    pair.hold_jobs = true;
    // Only the client's own signing is let go.
    pair.run();
    let job = pair.client.poll_job().unwrap();
    pair.client.complete(job.run(), pair.now);
    pair.run();
    assert!(pair.server.poll_job().is_none());
    let refused = ChannelError::Certificate(StatusCode::BadCertificateUntrusted);
    assert_eq!(pair.heard.last(), Some(&Heard::Closed(refused)));
    let Some(Seen::Closed(ChannelError::Peer(told))) = pair.seen.last() else {
        panic!("{:?}", pair.seen)
    };
    assert_eq!(told.status, StatusCode::BadSecurityChecksFailed);
}

#[test]
fn a_policy_or_mode_that_is_not_offered_is_refused_by_name() {
    let (client, mut server) = configs(SECRET, 2048);
    server.protections = vec![SIGNED];
    let mut pair = Pair::with(client, server);
    pair.run();
    let Some(Seen::Closed(ChannelError::Peer(told))) = pair.seen.last() else {
        panic!("{:?}", pair.seen)
    };
    assert_eq!(told.status, StatusCode::BadSecurityPolicyRejected);

    let (mut client, mut server) = configs(SECRET, 2048);
    server.protections = vec![SECRET];
    client.protection.mode = Mode::Sign;
    let mut pair = Pair::with(client, server);
    pair.run();
    let Some(Seen::Closed(ChannelError::Peer(told))) = pair.seen.last() else {
        panic!("{:?}", pair.seen)
    };
    assert_eq!(told.status, StatusCode::BadSecurityModeRejected);
}

#[test]
fn a_server_that_dials_out_says_who_it_is_first() {
    let (mut client, mut server) = configs(Protection::NONE, 2048);
    client.reverse = true;
    server.reverse = Some(("urn:plant".into(), "opc.tcp://inside:4840".into()));
    let mut pair = Pair::with(client, server);
    pair.run();
    assert!(pair.client.is_open());
    let reversed = Seen::Reversed("urn:plant".into(), "opc.tcp://inside:4840".into());
    assert_eq!(pair.seen.first(), Some(&reversed));
    assert_eq!(
        pair.heard.first(),
        Some(&Heard::Hello("opc.tcp://inside:4840".into()))
    );
}

#[test]
fn buffers_are_the_smaller_of_both_offers_and_never_below_the_minimum() {
    let (mut client, mut server) = configs(Protection::NONE, 2048);
    client.limits.receive_buffer = 10_000;
    server.limits.receive_buffer = 9_000;
    let mut pair = Pair::with(client, server);
    let longest = Rc::new(RefCell::new(0));
    let noted = Rc::clone(&longest);
    pair.to_server = Box::new(move |bytes| {
        if bytes.starts_with(b"MSG") {
            let size = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            *noted.borrow_mut() = size;
        }
    });
    pair.run();
    assert_eq!(pair.client.limits().send_buffer, 9_000);
    assert_eq!(pair.server.limits().send_buffer, 10_000);
    let id = pair.request(&[1; 50_000]);
    pair.run();
    assert_eq!(*longest.borrow(), 9_000);
    assert_eq!(pair.answer(id).map(|body| body.len()), Some(50_000));

    let (mut client, server) = configs(Protection::NONE, 2048);
    client.limits.receive_buffer = 8_191;
    let mut pair = Pair::with(client, server);
    pair.run();
    let small = ChannelError::Frame(FrameError::BufferTooSmall(8_191));
    assert_eq!(pair.heard.last(), Some(&Heard::Closed(small)));
}

#[test]
fn a_client_that_never_opens_a_channel_is_shown_the_door() {
    let mut pair = Pair::new(Protection::NONE, 2048);
    pair.to_server = Box::new(Vec::clear);
    pair.wait(Duration::from_secs(11));
    assert!(pair.server.is_closed());
    assert!(pair.client.is_closed());
}

#[test]
fn what_does_not_speak_opc_ua_is_told_apart() {
    let mut pair = Pair::new(Protection::NONE, 2048);
    pair.to_client = Box::new(|bytes| *bytes = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    pair.run();
    let http = ChannelError::Frame(FrameError::UnknownType(*b"HTT"));
    assert_eq!(pair.seen.last(), Some(&Seen::Closed(http)));
}

#[test]
fn nothing_is_sent_with_a_token_that_has_expired() {
    let life = Duration::from_secs(3600);
    let mut pair = Pair::open(SECRET, 2048);
    pair.echo = false;
    pair.request(b"early");
    pair.run();
    let Some(Heard::Request(early, _)) = pair.heard.last().cloned() else {
        panic!("{:?}", pair.heard)
    };
    let mut late = pair.now;
    late.mono = late.mono + life + Duration::from_secs(1);
    // The client has not renewed: there is nothing to send with, but the channel waits for a renewal.
    pair.server.handle_timeout(late);
    let sent = pair.server.respond(early, |out| out.push(1));
    assert_eq!(sent, Err(SendError::NotOpen));
    assert!(!pair.server.is_closed());
    // A quarter of the lifetime later it does not wait any more.
    let mut later = pair.now;
    later.mono = later.mono + life * 5 / 4 + Duration::from_secs(1);
    pair.server.handle_timeout(later);
    assert!(pair.server.is_closed());
}

#[test]
fn a_server_sends_with_the_new_token_when_the_old_one_expires_unused() {
    let mut pair = Pair::open(SECRET, 2048);
    let tokens = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&tokens);
    pair.to_client = Box::new(move |bytes| {
        if bytes.starts_with(b"MSG") {
            noted.borrow_mut().push(bytes[12]);
        }
    });
    pair.echo = false;
    let ids: Vec<_> = (0..2)
        .map(|n| {
            pair.request(&[n]);
            pair.run();
            let Some(Heard::Request(id, _)) = pair.heard.last().cloned() else {
                panic!("{:?}", pair.heard)
            };
            id
        })
        .collect();
    // Renewed at three quarters; the client has nothing to say meanwhile.
    pair.now.mono = pair.now.mono + HOUR * 8 / 10;
    pair.client.renew(pair.now);
    pair.run();
    pair.server.respond(ids[0], |out| out.push(1)).unwrap();
    pair.run();
    pair.now.mono = pair.now.mono + HOUR * 3 / 10;
    pair.server.handle_timeout(pair.now);
    pair.server.respond(ids[1], |out| out.push(1)).unwrap();
    pair.run();
    assert_eq!(*tokens.borrow(), [1, 2]);
}

#[test]
fn a_secured_channel_without_an_identity_sends_no_opn() {
    type Take = fn(&mut wire::client::Config);
    let takes: [Take; 2] = [|it| it.identity = None, |it| it.server = None];
    for take in takes {
        let (mut client, server) = configs(SECRET, 2048);
        take(&mut client);
        let mut pair = Pair::with(client, server);
        pair.to_server = Box::new(|bytes| assert!(!bytes.starts_with(b"OPN")));
        pair.run();
        let end = pair.seen.last();
        let Some(Seen::Closed(ChannelError::Security(why))) = end else {
            panic!("{end:?}");
        };
        assert!(why.contains("cannot be used without"), "{why}");
    }
}

#[test]
fn a_nonce_is_not_taken_twice_in_a_row() {
    for of_client in [true, false] {
        let (mut client, mut server) = configs(SECRET, 2048);
        let random = match of_client {
            true => &mut client.random,
            false => &mut server.random,
        };
        *random = Box::new(|bytes| bytes.fill(7));
        let mut pair = Pair::with(client, server);
        pair.run();
        assert!(pair.client.is_open());
        pair.client.renew(pair.now);
        pair.run();
        let closed = ChannelError::NonceUsedTwice;
        match of_client {
            true => assert_eq!(pair.heard.last(), Some(&Heard::Closed(closed))),
            false => assert_eq!(pair.seen.last(), Some(&Seen::Closed(closed))),
        }
    }
}

#[test]
fn a_channel_is_renewed_while_all_places_for_requests_are_taken() {
    let mut pair = Pair::open(Protection::NONE, 2048);
    pair.echo = false;
    for _ in 0..wire::client::MAX_IN_FLIGHT {
        pair.request(b"");
    }
    let late = pair.client.poll_timeout();
    pair.client.renew(pair.now);
    pair.run();
    assert!(pair.seen.contains(&Seen::Opened { renewed: true }));
    assert!(pair.client.poll_timeout() >= late, "nothing is due at once");
}
