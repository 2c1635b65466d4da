//! Streams of chunks cut anywhere, and the messages that have no channel yet.

use wire::channel::asymmetric::OpenHead;
use wire::frame::{
    Acknowledge, ErrorMessage, FrameError, HEADER_LEN, Header, Hello, Inbox, Limits, MIN_BUFFER,
    MessageType, Outbox, ReverseHello,
};

use crate::script::Script;

/// The first byte decides which half of `wire::frame` is met.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    if script.byte() == 0xff {
        outgoing(&mut script);
    } else {
        incoming(&mut script);
    }
}

/// However the stream is cut into pieces, the same chunks and the same error come out of it.
fn incoming(script: &mut Script<'_>) {
    let limit = [64, 256, MIN_BUFFER, 65_536, u32::MAX][script.below(5)];
    let mut pieces = script.u16();
    let stream = script.rest();
    let want = cut(stream, limit);
    let mut got = Vec::new();
    let mut failed = None;
    let mut inbox = Inbox::default();
    let mut rest = stream;
    while !rest.is_empty() && failed.is_none() {
        // A different length each time, and both ways to bring bytes in.
        pieces = pieces.wrapping_mul(25_173).wrapping_add(13_849);
        let len = 1 + usize::from(pieces >> 4) % 70;
        let (piece, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        if pieces & 8 == 0 {
            inbox.extend(piece);
        } else {
            let space = inbox.space(piece.len());
            space[..piece.len()].copy_from_slice(piece);
            inbox.filled(piece.len());
        }
        failed = drain(&mut inbox, limit, &mut got);
        // It asks for more bytes as long as no whole chunk is there.
        assert!(failed.is_some() || inbox.missing() > 0);
    }
    assert_eq!((got, failed), want);
    if let (chunks, None) = want {
        let read: usize = chunks.iter().map(Vec::len).sum();
        assert_eq!(inbox.len(), stream.len() - read);
        for chunk in &chunks {
            message(chunk);
        }
    }
}

fn drain(inbox: &mut Inbox, limit: u32, chunks: &mut Vec<Vec<u8>>) -> Option<FrameError> {
    loop {
        match inbox.next_chunk(limit) {
            Ok(Some((header, range))) => {
                let chunk = inbox.chunk(range.clone()).to_vec();
                assert_eq!(header.to_bytes(), chunk[..HEADER_LEN]);
                assert_eq!(inbox.chunk_mut(range), chunk);
                chunks.push(chunk);
            }
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// The same by the plainest means.
fn cut(mut stream: &[u8], limit: u32) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut chunks = Vec::new();
    while let Some(head) = stream.first_chunk() {
        let header = match Header::parse(*head) {
            Ok(header) => header,
            Err(error) => return (chunks, Some(error)),
        };
        let size = header.size;
        if size > limit {
            return (chunks, Some(FrameError::TooLarge { size, limit }));
        }
        let Some((chunk, rest)) = stream.split_at_checked(size as usize) else {
            break;
        };
        chunks.push(chunk.to_vec());
        stream = rest;
    }
    (chunks, None)
}

/// What was read and written again is read the same.
fn message(chunk: &[u8]) {
    let Some(Ok(header)) = chunk.first_chunk().map(|head| Header::parse(*head)) else {
        panic!("a chunk without a header");
    };
    let body = &chunk[HEADER_LEN..];
    let mut out = Vec::new();
    match header.message {
        MessageType::Hello => {
            let Ok(hello) = Hello::parse(body) else {
                return;
            };
            hello.write(&mut out);
            assert_eq!(Hello::parse(whole(&out)).as_ref(), Ok(&hello));
            agree(&hello);
        }
        MessageType::Acknowledge => {
            let Ok(answer) = Acknowledge::parse(body) else {
                return;
            };
            answer.write(&mut out);
            assert_eq!(Acknowledge::parse(whole(&out)), Ok(answer));
            if let Ok(agreed) = Limits::default().acknowledged(&answer) {
                within(&agreed, &Limits::default());
            }
        }
        MessageType::ReverseHello => {
            let Ok(reverse) = ReverseHello::parse(body) else {
                return;
            };
            reverse.write(&mut out);
            assert_eq!(ReverseHello::parse(whole(&out)), Ok(reverse));
        }
        MessageType::Error => {
            let Ok(error) = ErrorMessage::parse(body) else {
                return;
            };
            error.write(&mut out);
            // A long reason may lose its end.
            let again = ErrorMessage::parse(whole(&out)).unwrap();
            assert_eq!(again.status, error.status);
            assert!(error.reason.starts_with(&again.reason));
            let cut = error.reason.len() - again.reason.len();
            assert!(cut == 0 || again.reason.len() > 4000);
        }
        MessageType::Open => {
            if let Ok(head) = OpenHead::parse(chunk) {
                assert!(head.secured_at <= chunk.len());
            }
        }
        MessageType::Message | MessageType::Close => {}
    }
}

/// The body of a message that was written; its header says its length.
fn whole(out: &[u8]) -> &[u8] {
    let header = Header::parse(*out.first_chunk().unwrap()).unwrap();
    assert_eq!(header.size as usize, out.len());
    &out[HEADER_LEN..]
}

/// Both sides come to the same agreement, and none has to take or send more than it offered.
fn agree(hello: &Hello<'_>) {
    let own = Limits::default();
    let Ok((agreed, answer)) = own.accept(hello) else {
        return;
    };
    within(&agreed, &own);
    let mut offer = own;
    offer.receive_buffer = hello.receive_buffer;
    offer.send_buffer = hello.send_buffer;
    offer.receive_message = hello.max_message;
    offer.receive_chunks = hello.max_chunks;
    let theirs = offer.acknowledged(&answer).unwrap();
    within(&theirs, &offer);
    assert_eq!(theirs.receive_buffer, agreed.send_buffer);
    assert_eq!(theirs.send_buffer, agreed.receive_buffer);
    assert_eq!(theirs.receive_message, agreed.send_message);
    assert_eq!(theirs.send_message, agreed.receive_message);
}

fn within(agreed: &Limits, offered: &Limits) {
    assert!(agreed.receive_buffer >= MIN_BUFFER && agreed.send_buffer >= MIN_BUFFER);
    assert!(agreed.receive_buffer <= offered.receive_buffer);
    assert!(agreed.send_buffer <= offered.send_buffer);
}

/// Bytes leave in the order of their chunks, and none behind a gap before it is filled.
fn outgoing(script: &mut Script<'_>) {
    let mut outbox = Outbox::default();
    let mut gap = None;
    // What must still leave; from `held` on it may not leave yet.
    let mut model: Vec<u8> = Vec::new();
    let mut held: Option<usize> = None;
    while !script.is_over() {
        match script.below(6) {
            0 | 1 => {
                let chunk = script.bytes();
                outbox.tail().extend_from_slice(chunk);
                model.extend_from_slice(chunk);
            }
            2 if gap.is_none() => {
                let len = 1 + script.below(40);
                gap = Some((outbox.reserve(len), len));
                held = Some(model.len());
                model.resize(model.len() + len, 0);
            }
            3 => {
                if let (Some((gap, len)), Some(at)) = (gap.take(), held.take()) {
                    let chunk = vec![script.byte(); len];
                    assert!(outbox.fill(gap, &chunk));
                    model[at..at + len].copy_from_slice(&chunk);
                }
            }
            4 => {
                outbox.abandon();
                gap = None;
                if let Some(at) = held.take() {
                    model.truncate(at);
                }
            }
            _ => {
                let n = usize::from(script.byte()).min(outbox.pending().len());
                assert_eq!(outbox.pending()[..n], model[..n]);
                outbox.wrote(n);
                model.drain(..n);
                held = held.map(|at| at - n);
            }
        }
        assert_eq!(outbox.pending(), &model[..held.unwrap_or(model.len())]);
        assert_eq!(outbox.len(), model.len());
        assert_eq!(outbox.is_empty(), model.is_empty());
    }
}
