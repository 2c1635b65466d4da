//! What there is: links, servers of several kinds with their clients, and what happens to them.

/// A plant. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// Where chance comes from.
    pub seed: u64,
    /// How long it is looked at.
    pub length: u64,
    /// Links that servers stand behind.
    pub links: Vec<Link>,
    /// Its kinds of servers.
    pub kinds: Vec<Kind>,
    /// What happens.
    pub happenings: Vec<Happening>,
    /// What has a recorder of its own.
    pub files: Files,
}

/// What has a recorder of its own, and a run file in the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Files {
    /// All clients of a kind of servers.
    #[default]
    Kind,
    /// All clients of a server.
    Node,
    /// Each client.
    Client,
}

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it does to packets.
    pub spec: link::Spec,
    /// Servers behind one of it; then there is another. None: all behind the same.
    pub each: Option<u32>,
}

/// A kind of servers, and the clients of each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// Servers of it.
    pub count: u32,
    /// Cores of each.
    pub cores: u32,
    /// Cores that are busy with what has no moment: being there, sessions, samples between publishings.
    pub background: f64,
    /// The link that they stand behind, as an index.
    pub link: Option<usize>,
    /// Clients of each.
    pub sessions: u32,
    /// Loops that update variables.
    pub updates: Option<Updates>,
    /// What each client subscribes to.
    pub publishing: Option<Publishing>,
    /// What each client asks for.
    pub requests: Option<Requests>,
    /// How clients connect.
    pub connect: Connect,
    /// What clients do when their server does not answer.
    pub client: Client,
}

/// A loop that updates variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Updates {
    /// How often.
    pub every: u64,
    /// CPU time that each round takes.
    pub cost: u64,
}

/// A subscription of each client.
#[derive(Debug, Clone, PartialEq)]
pub struct Publishing {
    /// The publishing interval.
    pub every: u64,
    /// The sampling interval.
    pub sampling: u64,
    /// How often values change.
    pub change: u64,
    /// Values in each message; of a server's clients in turn.
    pub values: Vec<u32>,
    /// CPU time of a message.
    pub cost: u64,
    /// Bytes of a message without values.
    pub head_bytes: u32,
    /// Bytes of a value in it.
    pub value_bytes: u32,
    /// Bytes of a Publish request.
    pub ask_bytes: u32,
    /// Publish requests that a client keeps waiting at the server; 1 to 7.
    pub window: u32,
    /// How long a subscription lives without one.
    pub lifetime: u64,
    /// When the intervals of clients begin.
    pub phases: Phases,
}

/// When the publishing intervals of a server's clients begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phases {
    /// At the same moment.
    Aligned,
    /// By chance.
    #[default]
    Random,
    /// Evenly spread.
    Staggered,
}

/// Requests of each client, in an open loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// The mean interval of a client's requests.
    pub every: u64,
    /// By chance, independent of each other; else evenly spaced.
    pub poisson: bool,
    /// CPU time of each.
    pub cost: u64,
    /// Bytes of a request.
    pub up_bytes: u32,
    /// Bytes of its answer.
    pub down_bytes: u32,
    /// Values in it.
    pub values: u32,
}

/// How a client connects: steps, one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Connect {
    /// Anew, with a session and subscriptions.
    pub full: Vec<ConnectCost>,
    /// To a session that is still there.
    pub resume: Vec<ConnectCost>,
}

/// A step of connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectCost {
    /// CPU time at the server.
    pub cost: u64,
    /// Bytes of the request.
    pub up_bytes: u32,
    /// Bytes of the answer.
    pub down_bytes: u32,
}

/// What clients do when their server does not answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Client {
    /// How long an attempt to connect may take.
    pub timeout: u64,
    /// How long a client waits for something to come before it takes its connection for dead.
    pub watchdog: u64,
    /// How it waits between attempts.
    pub back_off: BackOff,
}

/// How a client waits between attempts: twice as long each time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackOff {
    /// The first time.
    pub first: u64,
    /// At most.
    pub most: u64,
    /// By which share a wait is longer or shorter, by chance.
    pub jitter: f64,
}

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Happening {
    /// When.
    pub at: u64,
    /// To whom.
    pub on: On,
    /// What.
    pub act: Act,
    /// For how long.
    pub lasts: u64,
}

/// To whom something happens: a link or a kind of servers, and which one of them, counted from 0; all if none is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A link.
    Link(usize, Option<u32>),
    /// A server.
    Node(usize, Option<u32>),
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A link carries nothing.
    Down,
    /// A server stops, says so to its clients, and starts again.
    Restart,
    /// A server loses its power, and starts again when it has it back.
    PowerOff,
}

/// Why a world cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldError(pub String);

impl std::fmt::Display for WorldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WorldError {}

/// Servers and sessions are counted in 32 bits, with room for what is beside them.
const MOST: u64 = 50_000_000;

impl World {
    /// Servers.
    pub fn nodes(&self) -> u64 {
        self.kinds.iter().map(|it| u64::from(it.count)).sum()
    }

    /// Sessions.
    pub fn sessions(&self) -> u64 {
        let of = |it: &Kind| u64::from(it.count) * u64::from(it.sessions);
        self.kinds.iter().map(of).sum()
    }

    /// How many events a second there will be, about.
    pub fn events_per_s(&self) -> f64 {
        let a_second = |every: u64| 1e9 / every.max(1) as f64;
        let of = |it: &Kind| {
            let publishing = it.publishing.as_ref();
            let published = publishing.map_or(0.0, |it| 3.0 * a_second(it.every));
            let asked = it
                .requests
                .as_ref()
                .map_or(0.0, |it| 4.0 * a_second(it.every));
            let updated = it.updates.map_or(0.0, |it| a_second(it.every));
            f64::from(it.count) * (f64::from(it.sessions) * (published + asked) + updated)
        };
        self.kinds.iter().map(of).sum()
    }

    /// What cannot be in it.
    pub fn check(&self) -> Result<(), WorldError> {
        let wrong = |what: String| Err(WorldError(what));
        if self.length == 0 || self.length > u64::MAX / 4 {
            return wrong("a duration of 0, or of centuries".to_owned());
        }
        if self.sessions() > MOST || self.nodes() > MOST {
            let (nodes, sessions) = (self.nodes(), self.sessions());
            return wrong(format!(
                "{nodes} servers with {sessions} sessions (at most {MOST} of each)"
            ));
        }
        for kind in &self.kinds {
            let name = &kind.name;
            if kind.cores == 0 || kind.count == 0 {
                return wrong(format!("{name}: no server, or no core"));
            }
            if kind.link.is_some_and(|it| it >= self.links.len()) {
                return wrong(format!("{name}: a link that is not there"));
            }
            let background = kind.background / f64::from(kind.cores);
            if !(0.0..0.999).contains(&background) {
                return wrong(format!(
                    "{name}: what it does without any message takes {:.0} % of its cores: nothing is left to serve with",
                    background * 100.0
                ));
            }
            if let Some(it) = &kind.publishing {
                if it.every == 0 || it.sampling == 0 || it.change == 0 || it.values.is_empty() {
                    return wrong(format!("{name}: an interval of 0, or no values"));
                }
                if !(1..=7).contains(&it.window) {
                    return wrong(format!(
                        "{name}: {} Publish requests (want 1 to 7)",
                        it.window
                    ));
                }
            }
            if kind.connect.full.is_empty() || kind.connect.resume.is_empty() {
                return wrong(format!("{name}: no step of connecting"));
            }
            if kind.client.back_off.first == 0 || kind.client.timeout == 0 {
                return wrong(format!("{name}: a back-off or timeout of 0"));
            }
        }
        for it in &self.happenings {
            let there = match it.on {
                On::Link(link, which) => self
                    .links
                    .get(link)
                    .map(|it| (it.name.as_str(), which, self.copies(link))),
                On::Node(kind, which) => self
                    .kinds
                    .get(kind)
                    .map(|it| (it.name.as_str(), which, it.count)),
            };
            match there {
                None => return wrong("something happens to what is not there".to_owned()),
                Some((name, Some(which), count)) if which >= count => {
                    return wrong(format!(
                        "{name}: there is no number {} of it, but {count}",
                        u64::from(which) + 1
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// How many there are of a link: one, or one for each so many servers behind it.
    pub fn copies(&self, link: usize) -> u32 {
        let behind = self.kinds.iter().filter(|it| it.link == Some(link));
        let behind: u32 = behind.map(|it| it.count).sum();
        let each = self.links.get(link).and_then(|it| it.each);
        each.map_or(1, |each| behind.div_ceil(each.max(1)).max(1))
    }
}
