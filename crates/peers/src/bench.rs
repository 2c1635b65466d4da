//! The bench address space: the constants that every peer's server and the plant's profile
//! `bench` have in common, and what is wrong with values that somebody read from one.

use crate::client::Read;

/// The namespace of all its nodes.
pub const NAMESPACE: &str = "urn:bench";
/// The Doubles: `i=1000..1499`.
pub const DOUBLES: std::ops::Range<u32> = 1000..1500;
/// The Int32s: `i=1500..1999`.
pub const INT32S: std::ops::Range<u32> = 1500..2000;
/// Arrays of Byte by id and length; element k is k mod 256.
pub const BYTE_ARRAYS: &[(u32, usize)] = &[
    (3010, 10),
    (3011, 10_000),
    (3012, 20_000),
    (3013, 65_535),
    (3014, 102_400),
];
/// The array of Int16 and its length; element k is k.
pub const INT16_ARRAY: (u32, usize) = (3020, 512);
/// Counters of UInt32 by id and milliseconds.
pub const COUNTERS: &[(u32, u64)] = &[(3030, 100), (3031, 1000)];
/// The object that has the method.
pub const ECHO_OBJECT: u32 = 4001;
/// The method: one Double in, the same one out.
pub const ECHO_METHOD: u32 = 4000;
/// The user that every server knows, and the password.
pub const USER: (&str, &str) = ("bench", "bench");
/// How many nodes there are at least.
pub const NODES: u64 = 1010;

/// The arrays as clients report them: id, length, and sum of the elements modulo 65536.
pub fn arrays() -> impl Iterator<Item = (u32, (u64, u64))> {
    let bytes = BYTE_ARRAYS
        .iter()
        .map(|&(id, length)| (id, length, length_and_sum(length, 256)));
    let (id, length) = INT16_ARRAY;
    bytes
        .chain([(id, length, length_and_sum(length, usize::MAX))])
        .map(|(id, _, expected)| (id, expected))
}

fn length_and_sum(length: usize, modulus: usize) -> (u64, u64) {
    let sum: usize = (0..length).map(|k| k % modulus).sum();
    (length as u64, sum as u64 % 65_536)
}

impl Read {
    /// How these values differ from those of a server whose values are constant; empty when they
    /// are what they should be.
    pub fn disagreements(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for i in DOUBLES.chain(INT32S) {
            let value = self.values.get(&format!("i={i}")).copied().flatten();
            if value != Some(f64::from(i)) {
                wrong.push(format!("i={i} is {value:?}, want {i}"));
            }
        }
        for (i, _) in COUNTERS {
            if !matches!(self.values.get(&format!("i={i}")), Some(Some(n)) if *n >= 0.0) {
                wrong.push(format!("i={i} is not a count"));
            }
        }
        for (i, expected) in arrays() {
            let seen = self.arrays.get(&format!("i={i}"));
            if seen != Some(&expected) {
                wrong.push(format!(
                    "i={i} has {seen:?}, want length and sum {expected:?}"
                ));
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_elements() {
        let sums: Vec<_> = arrays().collect();
        assert_eq!(sums[0], (3010, (10, 45)));
        // 512 elements 0..=511: 130816, less one 65536
        assert_eq!(sums[5], (3020, (512, 65_280)));
    }

    #[test]
    fn a_missing_value_and_a_wrong_one_are_named() {
        let values = DOUBLES.chain(INT32S).map(|i| (i, f64::from(i)));
        let counters = COUNTERS.iter().map(|(i, _)| (*i, 7.0));
        let mut read = Read {
            outcome: Default::default(),
            values: values
                .chain(counters)
                .map(|(i, v)| (format!("i={i}"), Some(v)))
                .collect(),
            arrays: arrays().map(|(i, a)| (format!("i={i}"), a)).collect(),
        };
        assert_eq!(read.disagreements(), Vec::<String>::new());
        read.values.insert("i=1000".into(), Some(0.5));
        read.values.insert("i=1999".into(), None);
        read.arrays.remove("i=3014");
        let wrong = read.disagreements();
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].starts_with("i=1000 is Some(0.5)"), "{wrong:?}");
    }
}
