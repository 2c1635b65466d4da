//! What a link is like.

use std::time::Duration;

use plan::unit::{BitRate, Bytes, Percent};

/// A link: what it does to packets on their way up (client to server) and down (server to client).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spec {
    /// From client to server.
    pub up: Direction,
    /// From server to client.
    pub down: Direction,
}

/// One direction of a link. The default is a perfect one: no delay, no limit, no loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Direction {
    /// How fast bits are put on the line; without a rate, at once.
    pub rate: Option<BitRate>,
    /// How long each bit is on its way.
    pub delay: Duration,
    /// What comes on top of the delay, by chance.
    pub jitter: Jitter,
    /// Which packets do not arrive.
    pub loss: Loss,
    /// How much may wait for the line.
    pub queue: Queue,
    /// Which packets may be overtaken.
    pub reorder: Reorder,
    /// The share of packets that arrive twice.
    pub duplicate: Percent,
    /// Bytes that this link adds to each packet: those of a tunnel, say.
    pub overhead: Bytes,
}

/// What comes on top of the delay. Packets stay in order all the same: one that is late holds up those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Jitter {
    /// The largest value of the uniform distribution, the mean of the others.
    pub size: Duration,
    /// How it is distributed.
    pub shape: Shape,
}

/// How jitter is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Evenly from zero to the size.
    #[default]
    Uniform,
    /// Exponentially, the size its mean: a queue somewhere on the way.
    Exponential,
    /// By Lomax's law with exponent 3, the size its mean: mostly small, sometimes very large, as radio is.
    Pareto,
}

/// Which packets do not arrive: the chain of Gilbert and Elliott, a good state that loses nothing and a bad one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The share of packets that are lost.
    pub share: Percent,
    /// How many packets the bad state lasts, in the mean. One that loses all of its packets and lasts for
    /// `1 / (1 - share)` of them is loss without memory; that is what less means, too.
    pub burst: f64,
    /// The share that is lost in the bad state.
    pub bad: Percent,
}

impl Default for Loss {
    fn default() -> Self {
        Self {
            share: Percent::default(),
            burst: 1.0,
            bad: Percent::from_fraction(1.0),
        }
    }
}

/// How much may wait for the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queue {
    /// All that comes.
    #[default]
    Endless,
    /// So many bytes, the packet on the line among them.
    Bytes(Bytes),
    /// What is on the line within so much time.
    Time(Duration),
}

/// Which packets may be overtaken.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reorder {
    /// Their share.
    pub share: Percent,
    /// How much later they come than they would have.
    pub hold: Duration,
}
