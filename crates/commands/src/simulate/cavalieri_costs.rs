//! Seven costs that were found for the eight times of Table 1 of Cavalieri et al. 2010.

use simulate::protocol::Costs;
use wire::channel::Protection;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    Tcp,
    Soap,
}

pub const NAME: &str = "cavalieri2010: fitted to the eight times of Table 1";

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seven {
    /// From one end to the other, with what a stack takes for a message.
    pub leg_ms: f64,
    /// An operation with a private key.
    pub key_ms: f64,
    /// A certificate judged by what is known here.
    pub check_ms: f64,
    /// A certificate judged by authorities elsewhere, as drawn for UA TCP and for SOAP.
    pub remote_ms: [f64; 2],
    /// Bytes that SOAP and HTTP have around a message.
    pub envelope: f64,
    /// Bytes that WS-SecureConversation has beside around a message that opens a secured channel.
    pub opening: f64,
}

pub const FOUND: Seven = Seven {
    leg_ms: 4.63,
    key_ms: 8.6,
    check_ms: 80.2,
    remote_ms: [6_925.0, 7_809.0],
    envelope: 1_745.0,
    opening: 9_114.0,
};

/// What steps cost at either end, without authorities elsewhere.
pub fn costs(protection: Protection) -> Costs {
    match protection == Protection::NONE {
        true => Costs::default(),
        false => FOUND.costs(3, Over::Tcp),
    }
}

impl Seven {
    /// What steps cost either end in a scenario.
    pub fn costs(&self, scenario: usize, over: Over) -> Costs {
        let ns = |ms: f64| ms * 1e6;
        if scenario == 1 {
            return Costs::default();
        }
        Costs {
            sign: ns(self.key_ms),
            decrypt: ns(self.key_ms),
            check: if scenario >= 3 {
                ns(self.check_ms)
            } else {
                0.0
            },
            ask: match scenario {
                4 => ns(self.remote_ms[usize::from(over == Over::Soap)] - self.check_ms),
                _ => 0.0,
            },
            ..Costs::default()
        }
    }
}
