//! Inputs made of others, in an order that is always the same.

/// SplitMix64: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `end` numbers.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }
}

/// A few changes of the kinds that fuzzers make.
pub fn change(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(input.len());
        let byte = random.number() as u8;
        match random.below(8) {
            0 => input.insert(at.min(input.len()), byte),
            1 if input.len() > 1 => {
                input.remove(at);
            }
            2 => input.truncate(at.max(1)),
            3 => {
                let from = random.below(other.len());
                let to = (from + random.below(40)).min(other.len());
                input.splice(at..at, other[from..to].iter().copied());
            }
            4 => {
                let hostile = [-1, i32::MAX, i32::MIN, 1 << 16, 1 << 24, 0, 1];
                let number = hostile[random.below(hostile.len())].to_le_bytes();
                let end = input.len().min(at + 4);
                input[at..end].copy_from_slice(&number[..end - at]);
            }
            5 => {
                let again = input[at..input.len().min(at + 30)].to_vec();
                input.splice(at..at, again);
            }
            6 => input[at] ^= 1 << (byte & 7),
            _ => input[at] = byte,
        }
    }
}
