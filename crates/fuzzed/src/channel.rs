//! SecureChannels: whatever happens to the bytes under way, what arrives was sent, in its order.

mod opening;
mod sealed;
mod under_way;

use std::collections::HashMap;

use wire::channel::assembly::Assembly;
use wire::channel::sequence::{Incoming, Outgoing, SequenceRule};
use wire::frame::Limits;
use wire::time::Instant;

use crate::script::Script;

/// The first byte decides which part of `wire::channel` is met.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    match script.below(8) {
        0..=3 => under_way::run(&mut script),
        4 => sealed::run(&mut script),
        5 => order(&mut script),
        6 => pieces(&mut script),
        _ => opening::run(&mut script),
    }
}

/// Part 6, 6.7.2.4: by one more each time, or around the end as the rule has it.
fn order(script: &mut Script<'_>) {
    let rule = [SequenceRule::Legacy, SequenceRule::Strict][script.below(2)];
    let mut incoming = Incoming::new(rule);
    let mut last: Option<u32> = None;
    let mut outgoing = Outgoing::starting_at(rule, script.u32());
    while !script.is_over() {
        let number = match script.below(4) {
            0 => script.u32(),
            1 => last.unwrap_or(0).wrapping_add(u32::from(script.byte())),
            2 => u32::from(script.u16()),
            _ => outgoing.take(),
        };
        let good = match (rule, last) {
            (SequenceRule::Strict, None) => number == 0,
            (SequenceRule::Strict, Some(last)) => number == last.wrapping_add(1),
            (SequenceRule::Legacy, None) => true,
            (SequenceRule::Legacy, Some(last)) => {
                u64::from(number) == u64::from(last) + 1
                    || (last > u32::MAX - 1024 && number < 1024)
            }
        };
        assert_eq!(incoming.accept(number).is_ok(), good, "{last:?} {number}");
        if good {
            last = Some(number);
        }
    }
}

/// Messages in pieces: each comes out as it was put in, and together they stay within the limit.
fn pieces(script: &mut Script<'_>) {
    let limits = Limits {
        receive_message: 300,
        receive_chunks: 6,
        ..Limits::default()
    };
    let mut assembly = Assembly::default();
    let now = Instant::from_nanos(0);
    let mut model: HashMap<u32, (u32, Vec<u8>)> = HashMap::new();
    while !script.is_over() {
        let step = script.below(8);
        let id = script.below(80) as u32;
        match step {
            0 => {
                assert_eq!(assembly.abort(id), model.remove(&id).is_some());
            }
            1 => {
                let body = script.bytes();
                let begun = model.remove(&id);
                let held = held(&model) + begun.as_ref().map_or(0, |(_, begun)| begun.len());
                match assembly.finish(id, body, &limits, now) {
                    Ok(true) => {
                        let (chunks, begun) = begun.unwrap();
                        assert!(chunks < 6 && held + body.len() <= 300);
                        assert_eq!(assembly.whole(), [&begun, body].concat());
                    }
                    Ok(false) => assert!(begun.is_none() && body.len() <= 300),
                    // A message too long in itself does no harm to the others.
                    Err(_) if begun.is_some() => model.clear(),
                    Err(_) => assert!(body.len() > 300),
                }
            }
            2 => assembly.shrink(0),
            _ => {
                let body = script.bytes();
                if assembly.add(id, body, &limits, now).is_ok() {
                    let (chunks, begun) = model.entry(id).or_default();
                    *chunks += 1;
                    begun.extend_from_slice(body);
                    assert!(*chunks <= 6);
                    assert!(held(&model) <= 300 && model.len() <= 64);
                } else {
                    model.clear();
                }
            }
        }
    }
}

fn held(model: &HashMap<u32, (u32, Vec<u8>)>) -> usize {
    model.values().map(|(_, body)| body.len()).sum()
}
