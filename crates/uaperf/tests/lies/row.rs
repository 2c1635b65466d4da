//! The commands, as each cell runs them.

/// A command that measures, or judges what was measured.
pub struct Row {
    /// The command, and a word more where there are several of it.
    pub name: &'static str,
    /// What it is told beside the server.
    pub words: &'static [&'static str],
    /// The service that its load consists of, as faults call it.
    pub service: &'static str,
    /// How it goes about it.
    pub way: Way,
}

/// How a command goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Requests at planned times, over sessions that stay.
    Requests,
    /// Rounds of several steps.
    Rounds,
    /// Notifications that come by themselves.
    Subscriptions,
    /// As the thesis's client, which has options and output of its own.
    Thesis,
    /// A scenario of two points.
    Scenario,
    /// Trials with a growing load.
    Search,
    /// A single look.
    Look,
    /// Files of runs that are over.
    Files,
}

impl Row {
    pub fn command(&self) -> &'static str {
        self.name.split(' ').next().unwrap_or(self.name)
    }

    /// Whether each of its operations begins with a connection or session of its own, so that no session is lost.
    pub fn comes_anew(&self) -> bool {
        matches!(self.name, "read fresh" | "connect")
    }

    /// Whether the result is one run file with one phase.
    pub fn has_run(&self) -> bool {
        use Way::{Requests, Rounds, Subscriptions, Thesis};
        matches!(self.way, Requests | Rounds | Subscriptions | Thesis)
    }

    /// Whether the result has the condition `--expect` in it.
    pub fn expects(&self) -> bool {
        self.has_run() && self.way != Way::Thesis
    }
}

const COUNTER: &str = "nsu=urn:lies;i=1";

pub const ROWS: &[Row] = &[
    Row {
        name: "read",
        words: &["-n", COUNTER, "--rate", "60/s"],
        service: "read",
        way: Way::Requests,
    },
    Row {
        name: "read closed",
        words: &["-n", COUNTER, "--in-flight", "1", "--think", "10ms"],
        service: "read",
        way: Way::Requests,
    },
    Row {
        name: "read fresh",
        words: &["-n", COUNTER, "--rate", "20/s", "--fresh-session"],
        service: "read",
        way: Way::Requests,
    },
    Row {
        name: "write",
        words: &[
            "-n",
            "nsu=urn:lies;i=100",
            "--rate",
            "60/s",
            "--allow",
            "write",
        ],
        service: "write",
        way: Way::Requests,
    },
    Row {
        name: "browse",
        words: &["-n", "i=85", "--rate", "60/s"],
        service: "browse",
        way: Way::Requests,
    },
    Row {
        name: "history",
        words: &["-n", COUNTER, "--rate", "60/s", "--last", "1s"],
        service: "history_read",
        way: Way::Requests,
    },
    Row {
        name: "translate",
        words: &["--rate", "60/s"],
        service: "translate_browse_paths_to_node_ids",
        way: Way::Requests,
    },
    Row {
        name: "call",
        words: &[
            "--object",
            "nsu=urn:lies;i=4001",
            "--method",
            "nsu=urn:lies;i=4000",
            "--arg",
            "1.0",
            "--allow",
            "call",
            "--rate",
            "60/s",
        ],
        service: "call",
        way: Way::Requests,
    },
    Row {
        name: "register",
        words: &["-n", COUNTER, "--rate", "60/s"],
        service: "read",
        way: Way::Requests,
    },
    Row {
        name: "subscribe",
        words: &[
            "-n",
            COUNTER,
            "--publishing",
            "50ms",
            "--sampling",
            "50ms",
            "--queue",
            "10",
        ],
        service: "publish",
        way: Way::Subscriptions,
    },
    Row {
        name: "connect",
        words: &["--rate", "20/s", "--allow", "storm"],
        service: "read",
        way: Way::Rounds,
    },
    Row {
        name: "items",
        words: &["-n", COUNTER, "--rate", "20/s"],
        service: "create_monitored_items",
        way: Way::Rounds,
    },
    Row {
        name: "nodes",
        words: &["--count", "2", "--rate", "20/s", "--allow", "nodes"],
        service: "add_nodes",
        way: Way::Rounds,
    },
    Row {
        name: "sequence",
        words: &["--sequence", "user: read nsu=urn:lies;i=1 -> think 20ms"],
        service: "read",
        way: Way::Rounds,
    },
    Row {
        name: "perfclient",
        words: &["-n", COUNTER, "-rate", "60", "-requests", "180"],
        service: "read",
        way: Way::Thesis,
    },
    Row {
        name: "run",
        words: &[],
        service: "read",
        way: Way::Scenario,
    },
    Row {
        name: "saturate",
        words: &[
            "--from",
            "20/s",
            "--to",
            "40/s",
            "--slo",
            "p99<500ms,errors=0",
        ],
        service: "read",
        way: Way::Search,
    },
    Row {
        name: "probe",
        words: &["--repeat", "3"],
        service: "read",
        way: Way::Look,
    },
    Row {
        name: "security",
        words: &["--quick", "--values", "1", "--connections", "1"],
        service: "read",
        way: Way::Look,
    },
    Row {
        name: "discover",
        words: &["--repeat", "3"],
        service: "find_servers",
        way: Way::Look,
    },
    Row {
        name: "show",
        words: &[],
        service: "read",
        way: Way::Files,
    },
    Row {
        name: "report",
        words: &[],
        service: "read",
        way: Way::Files,
    },
    Row {
        name: "compare",
        words: &[],
        service: "read",
        way: Way::Files,
    },
];

/// Commands that neither measure a server nor judge a measurement, and why they have no row.
pub const WITHOUT: &[(&str, &str)] = &[
    (
        "demo",
        "runs commands that have rows, against servers of its own; demo pubsub as well (tests/demo_pubsub.rs)",
    ),
    (
        "config",
        "shows what is set; that settings are those of the command is in tests/settings.rs",
    ),
    (
        "calibrate",
        "measures this host, against no server of anybody",
    ),
    (
        "cost",
        "its steps are commands that have rows; which of them it leaves out is in tests/cost.rs",
    ),
    (
        "paper",
        "carries out scenarios as `run` does, which has a row",
    ),
    (
        "watch",
        "looks at processes, and never asks a server for anything",
    ),
    (
        "bench",
        "looks at this machine, and times messages to a server whatever stands in the answers",
    ),
    (
        "fleet",
        "looks at hosts and serves devices, and measures no server; agents that are not there are in tests/fleet.rs",
    ),
    (
        "agent",
        "makes a share of the load of a command that has a row; what is lost of it is in tests/fleet.rs",
    ),
    (
        "attack",
        "harms servers on purpose; what it says of bad ones, of those that go, and of itself is in tests/attack",
    ),
    ("results", "lists files of runs, which `show` shows"),
    ("rerun", "becomes the command of a result, which has a row"),
    ("doctor", "looks at this machine, and measures no server"),
    ("check", "reads a scenario and measures nothing"),
    ("new", "writes a scenario and measures nothing"),
    ("serve", "is the server"),
    (
        "publish",
        "sends datagrams that nobody answers; what it says of itself is in tests/pubsub.rs, as a phase in tests/pubsub_phase.rs",
    ),
    (
        "listen",
        "hears a publisher, not a server; each fault of one is in tests/pubsub.rs, as a phase in tests/pubsub_phase.rs",
    ),
    (
        "pubsub",
        "makes and fetches keys, and adds up what two files say: it measures nothing; key services that refuse are in tests/pubsub_keys.rs, files of other \
         times in tests/pubsub_plant.rs",
    ),
    (
        "link",
        "carries the load of others and measures nothing; what goes wrong with it is in tests/link.rs",
    ),
    (
        "plant",
        "reads plant files, and makes one of what a server has: it measures nothing",
    ),
    (
        "model",
        "reads results that are over; which of them it leaves out is in tests/model.rs",
    ),
    ("size", "reads a model and a plant, and measures nothing"),
    (
        "simulate",
        "asks no server: what it computes is in tests/simulate.rs",
    ),
    ("cert", "keeps certificates"),
    (
        "ca",
        "keeps authorities and answers for them; openssl judges that in tests/ca.rs",
    ),
    ("peers", "keeps other stacks"),
    ("man", "prints"),
    ("completions", "prints"),
    ("help", "prints"),
];
