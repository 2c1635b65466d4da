//! Random numbers that are the same on every machine: a stream follows from its seed alone.

/// xoshiro256++ (Blackman and Vigna 2019), filled by SplitMix64 as its authors advise.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

/// The constant by which SplitMix64 steps: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self::stream(seed, &[])
    }

    /// One of many streams of a seed that have nothing to do with each other: that of a session, say.
    pub fn stream(seed: u64, which: &[u64]) -> Self {
        let mut at = mixed(seed);
        for &number in which {
            at = mix(at ^ mixed(number).rotate_left(17));
        }
        let state = std::array::from_fn(|_| {
            at = at.wrapping_add(GOLDEN);
            mix(at)
        });
        Self { state }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Evenly distributed above zero and up to one: its logarithm is finite.
    #[inline]
    pub fn above_zero(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with mean one: −ln u. The logarithm is one in portable code, because
    /// those of systems differ in the last bit and a schedule must not.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.above_zero())
    }
}

/// What SplitMix64 gives at `x`: numbers that are next to each other become ones that have nothing to do
/// with each other. For values that follow from a place instead of from a stream.
#[inline]
pub const fn mixed(x: u64) -> u64 {
    mix(x.wrapping_add(GOLDEN))
}

/// The finaliser of SplitMix64: each bit of the input changes half of those of the output.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_numbers_of_its_authors() {
        // The reference code of xoshiro256++, from the state 1, 2, 3, 4.
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        let first: [u64; 4] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(
            first,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
        // The first output of SplitMix64 from seed 0.
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |which: &[u64]| Random::stream(7, which).next_u64();
        let mut seen: Vec<u64> = (0..1000).map(|i| first(&[i / 10, i % 10])).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
        assert_ne!(first(&[0, 1]), first(&[1, 0]));
    }
}
