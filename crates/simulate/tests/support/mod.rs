//! A small plant to begin from.

use simulate::{
    BackOff, Client, Connect, ConnectCost, Files, Kind, Phases, Publishing, Requests, World,
};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;

/// A server without clients' work.
pub fn kind(name: &str) -> Kind {
    let step = ConnectCost {
        cost: 100 * US,
        up_bytes: 150,
        down_bytes: 500,
    };
    Kind {
        name: name.to_owned(),
        count: 1,
        cores: 1,
        background: 0.0,
        link: None,
        sessions: 1,
        updates: None,
        publishing: None,
        requests: None,
        connect: Connect {
            full: vec![step; 7],
            resume: vec![step; 5],
        },
        client: Client {
            timeout: 10 * S,
            watchdog: 5 * S,
            back_off: BackOff {
                first: S,
                most: 30 * S,
                jitter: 0.0,
            },
        },
    }
}

/// Values that change at each publishing.
pub fn publishing(every: u64, cost: u64) -> Publishing {
    Publishing {
        every,
        sampling: every,
        change: every,
        values: vec![100],
        cost,
        head_bytes: 160,
        value_bytes: 26,
        ask_bytes: 120,
        window: 2,
        lifetime: 60 * S,
        phases: Phases::Random,
    }
}

/// Requests by chance.
pub fn requests(every: u64, cost: u64) -> Requests {
    Requests {
        every,
        poisson: true,
        cost,
        up_bytes: 100,
        down_bytes: 100,
        values: 1,
    }
}

pub fn world(length: u64, kinds: Vec<Kind>) -> World {
    World {
        seed: 1,
        length,
        links: Vec::new(),
        kinds,
        happenings: Vec::new(),
        files: Files::Kind,
    }
}
