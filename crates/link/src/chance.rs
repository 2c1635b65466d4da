//! What happens by chance on a path.

use plan::Random;
use plan::unit::{Percent, duration::nanos};

use crate::spec::{Jitter, Loss, Shape};

/// Whether something of this share happens.
pub fn happens(share: Percent, random: &mut Random) -> bool {
    // Nothing is drawn for what cannot happen: a link without loss is the same with any seed.
    share.fraction() > 0.0 && random.above_zero() <= share.fraction()
}

/// A time by chance, in nanoseconds.
pub fn jitter(of: Jitter, random: &mut Random) -> u64 {
    let size = nanos(of.size) as f64;
    if size == 0.0 {
        return 0;
    }
    let time = match of.shape {
        Shape::Uniform => size * random.above_zero(),
        Shape::Exponential => size * random.exponential(),
        // The mean of Lomax's law is its scale over (exponent - 1), here half of it.
        Shape::Pareto => 2.0 * size * (libm::cbrt(1.0 / random.above_zero()) - 1.0),
    };
    // As far as integers go; nobody waits for longer.
    time as u64
}

/// The chain of Gilbert and Elliott: its state changes before each packet.
#[derive(Debug, Clone)]
pub struct Chain {
    bad: bool,
    /// How probably a packet finds the bad state after a good one.
    enters: Percent,
    /// How probably a packet finds the good state after a bad one.
    leaves: Percent,
    /// How probably it is lost in the bad state.
    loses: Percent,
}

impl Chain {
    pub fn new(loss: Loss) -> Self {
        // The bad state has this share of the packets.
        let bad = (loss.share.fraction() / loss.bad.fraction().max(f64::MIN_POSITIVE)).min(1.0);
        let memoryless = 1.0 - bad;
        let leaves = (1.0 / loss.burst).min(memoryless);
        let enters = match bad < 1.0 {
            true => leaves * bad / (1.0 - bad),
            false => 1.0,
        };
        Self {
            bad: false,
            enters: Percent::from_fraction(enters),
            leaves: Percent::from_fraction(leaves),
            loses: loss.bad,
        }
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self, random: &mut Random) -> bool {
        let changes = if self.bad { self.leaves } else { self.enters };
        self.bad ^= happens(changes, random);
        self.bad && happens(self.loses, random)
    }
}
