//! Random messages made from the table of shapes alone: valid bytes in the form in which
//! they are encoded, so that decoding and encoding must give them back.

#![allow(dead_code, reason = "each test uses its part")]

use wire::service::shape::{Field, Form};
use wire::service::{Kind, Limits, Request, Response};
use wire::types::DateTime;

/// SplitMix64: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// A message as its decoder and encoder have it; none that they do not take.
pub fn settled(message: &[u8]) -> Option<Vec<u8>> {
    let (mut out, limits) = (Vec::new(), Limits::default());
    let request = Request::decode(message, &limits);
    match (request, Response::decode(message, &limits)) {
        (Ok(request), _) => request.encode(&mut out).ok()?,
        (_, Ok(response)) => response.encode(&mut out).ok()?,
        _ => return None,
    }
    Some(out)
}

/// A message of this kind, type id first.
pub fn message(kind: Kind, random: &mut Random) -> Vec<u8> {
    let mut out = type_id(kind);
    Sample {
        out: &mut out,
        random,
    }
    .value(kind, 3);
    out
}

/// A type id in the form of four bytes.
pub fn type_id(kind: Kind) -> Vec<u8> {
    let [low, high, ..] = kind.encoding_id().to_le_bytes();
    vec![1, 0, low, high]
}

/// A structure of this kind.
pub fn structure(kind: Kind, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    Sample {
        out: &mut out,
        random,
    }
    .value(kind, 3);
    out
}

/// An ExtensionObject with a body of this kind.
pub fn extension_object(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let id = kind.encoding_id();
    match id {
        0..=255 => out.extend_from_slice(&[0, id as u8]),
        _ => out.extend_from_slice(&[1, 0, id as u8, (id >> 8) as u8]),
    }
    out.push(1);
    out.extend_from_slice(&(body.len() as i32).to_le_bytes());
    out.extend_from_slice(body);
    out
}

/// Structures that are messages or headers, and so never the body of an ExtensionObject.
pub fn is_message(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::RequestHeader | Kind::ResponseHeader | Kind::ServiceFault
    ) || Request::KINDS.contains(&kind)
        || Response::KINDS.contains(&kind)
}

/// Structures that may be the body of an ExtensionObject.
pub fn bodies() -> Vec<Kind> {
    Kind::ALL
        .iter()
        .copied()
        .filter(|&kind| matches!(kind.shape().form, Form::Structure(_)) && !is_message(kind))
        .collect()
}

struct Sample<'a> {
    out: &'a mut Vec<u8>,
    random: &'a mut Random,
}

impl Sample<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn count(&mut self, count: i32) {
        self.put(&count.to_le_bytes());
    }

    fn noise(&mut self, len: usize) {
        for _ in 0..len {
            let byte = self.random.next() as u8;
            self.out.push(byte);
        }
    }

    fn text(&mut self, least: usize) {
        let words = [
            "",
            "a",
            "Niveau",
            "水位",
            "urn:bench",
            "a longer string, to be sure",
        ];
        let word = words[least + self.random.below(words.len() - least)];
        self.count(word.len() as i32);
        self.put(word.as_bytes());
    }

    fn value(&mut self, kind: Kind, depth: usize) {
        match kind.shape().form {
            Form::Enumeration(values, _) => {
                let value = values[self.random.below(values.len())];
                self.count(value);
            }
            Form::Structure(_) if kind == Kind::Argument => self.argument(),
            Form::Structure(fields) => {
                for (index, field) in fields.iter().enumerate() {
                    match *field {
                        // masks of flags, of which only the known ones are kept
                        Field::One(Kind::UInt32) if kind == Kind::RequestHeader && index == 3 => {
                            let mask = self.random.below(0x400) as i32;
                            self.count(mask);
                        }
                        Field::One(Kind::Int32) if kind == Kind::RolePermissionType => {
                            let mask = self.random.below(0x20000) as i32;
                            self.count(mask);
                        }
                        Field::One(kind) => self.value(kind, depth),
                        Field::Many(kind) => self.array(kind, depth),
                    }
                }
            }
            Form::BuiltIn => self.built_in(kind, depth),
        }
    }

    fn array(&mut self, kind: Kind, depth: usize) {
        let count = self.random.below(4) as i32 - 1;
        self.count(count);
        for _ in 0..count {
            self.value(kind, depth);
        }
    }

    fn argument(&mut self) {
        self.text(0);
        self.built_in(Kind::NodeId, 0);
        let rank = self.random.below(4) as i32 - 1;
        self.count(rank);
        self.count(rank.max(0));
        self.noise(4 * rank.max(0) as usize);
        self.built_in(Kind::LocalizedText, 0);
    }

    fn built_in(&mut self, kind: Kind, depth: usize) {
        match kind {
            Kind::Boolean => {
                let truth = self.random.below(2) as u8;
                self.out.push(truth);
            }
            Kind::DateTime => {
                let ticks = self.random.next() % DateTime::endtimes_ticks() as u64;
                self.put(&ticks.to_le_bytes());
            }
            Kind::String | Kind::ByteString | Kind::XmlElement if self.random.chance(4) => {
                self.count(-1);
            }
            Kind::String | Kind::XmlElement => self.text(0),
            Kind::ByteString => {
                let len = self.random.below(20);
                self.count(len as i32);
                self.noise(len);
            }
            Kind::NumericRange => {
                let ranges = [None, Some("0"), Some("1:2"), Some("0:1,3,4:4294967295")];
                match ranges[self.random.below(ranges.len())] {
                    None => self.count(-1),
                    Some(range) => {
                        self.count(range.len() as i32);
                        self.put(range.as_bytes());
                    }
                }
            }
            Kind::NodeId => self.node_id(0),
            Kind::ExpandedNodeId => {
                let flags = [0, 0x40, 0x80, 0xc0][self.random.below(4)];
                self.node_id(flags);
                if flags & 0x80 != 0 {
                    self.text(1);
                }
                if flags & 0x40 != 0 {
                    self.put(&[1, 2, 3, 4]);
                }
            }
            Kind::QualifiedName => {
                self.noise(2);
                self.text(0);
            }
            Kind::LocalizedText => {
                let mask = self.random.below(4) as u8;
                self.out.push(mask);
                for _ in 0..mask.count_ones() {
                    self.text(1);
                }
            }
            Kind::ExtensionObject => self.extension_object(depth),
            Kind::DataValue => self.data_value(depth),
            Kind::Variant => self.variant(depth),
            Kind::DiagnosticInfo => self.diagnostic_info(depth),
            _ => self.noise(kind.min_len()),
        }
    }

    fn node_id(&mut self, flags: u8) {
        match self.random.below(6) {
            0 => {
                self.out.push(flags);
                self.noise(1);
            }
            1 => {
                self.out.push(flags | 1);
                self.put(&[7, 1]);
                self.noise(1);
            }
            2 => {
                self.out.push(flags | 2);
                self.noise(4);
                self.put(&[9, 9]);
            }
            3 => {
                self.out.push(flags | 3);
                self.noise(2);
                self.text(0);
            }
            4 => {
                self.out.push(flags | 4);
                self.noise(18);
            }
            _ => {
                self.out.push(flags | 5);
                self.noise(2);
                self.built_in(Kind::ByteString, 0);
            }
        }
    }

    fn extension_object(&mut self, depth: usize) {
        match self.random.below(3) {
            1 if depth > 0 => {
                let bodies = bodies();
                let kind = bodies[self.random.below(bodies.len())];
                let mut body = Vec::new();
                let random = &mut *self.random;
                Sample {
                    out: &mut body,
                    random,
                }
                .value(kind, depth - 1);
                let object = extension_object(kind, &body);
                self.put(&object);
            }
            2 => {
                // a type nobody knows
                self.put(&[1, 4, 1, 2]);
                let encoding = 1 + self.random.below(2) as u8;
                self.out.push(encoding);
                let len = 1 + self.random.below(30);
                self.count(len as i32);
                self.noise(len);
            }
            _ => self.put(&[0, 0, 0]),
        }
    }

    fn data_value(&mut self, depth: usize) {
        let mut mask = self.random.below(0x40) as u8;
        // picoseconds are kept only beside their timestamp
        if mask & 0x04 == 0 {
            mask &= !0x10;
        }
        if mask & 0x08 == 0 {
            mask &= !0x20;
        }
        self.out.push(mask);
        if mask & 0x01 != 0 {
            self.variant(depth);
        }
        if mask & 0x02 != 0 {
            self.noise(4);
        }
        for (time, fraction) in [(0x04, 0x10), (0x08, 0x20)] {
            if mask & time != 0 {
                self.built_in(Kind::DateTime, 0);
            }
            if mask & fraction != 0 {
                self.noise(2);
            }
        }
    }

    fn variant(&mut self, depth: usize) {
        let number = self.random.below(if depth > 0 { 26 } else { 22 }) as u8;
        if number == 0 {
            return self.out.push(0);
        }
        // the table begins with the built-in types in the order of their numbers
        let kind = Kind::ALL[usize::from(number) - 1];
        let depth = depth.saturating_sub(1);
        match self.random.below(4) {
            0 => {
                let count = 1 + self.random.below(4);
                self.out.push(0x80 | number);
                self.count(count as i32);
                for _ in 0..count {
                    self.value(kind, depth);
                }
            }
            1 => {
                self.out.push(0xc0 | number);
                self.count(6);
                for _ in 0..6 {
                    self.value(kind, depth);
                }
                for n in [2, 3, 2] {
                    self.count(n);
                }
            }
            _ => {
                self.out.push(number);
                self.value(kind, depth);
            }
        }
    }

    fn diagnostic_info(&mut self, depth: usize) {
        let mut mask = self.random.below(0x80) as u8;
        if depth == 0 {
            mask &= !0x40;
        }
        self.out.push(mask);
        for flag in [0x01, 0x02, 0x04, 0x08] {
            if mask & flag != 0 {
                self.noise(4);
            }
        }
        if mask & 0x10 != 0 {
            self.text(0);
        }
        if mask & 0x20 != 0 {
            self.noise(4);
        }
        if mask & 0x40 != 0 {
            self.diagnostic_info(depth - 1);
        }
    }
}
