//! Whose commands an agent takes, which servers it loads for them, and with what; what it did is written down.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use anyhow::Context;
use fleet::Share;
use record::Timestamp;
use wire::url::Url;

use crate::failure::Failure;
use crate::fleet::key::{self, Public};
use crate::fleet::pattern::matches;
use crate::fleet::task::{Load, Role, Serves, Task};
use crate::{access, landscape, place, proxy, quick, screen};

/// What an agent takes; everything from whoever started it, without a file of keys.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "guard")]
pub struct Args {
    /// Take only commands that are signed with a key of this file: lines that `uaperf fleet key` prints
    #[arg(long, value_name = "FILE", requires = "targets")]
    allow_from: Option<PathBuf>,
    /// Load only these servers: host or host:port, each with * for anything
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        value_delimiter = ',',
        requires = "allow_from"
    )]
    targets: Vec<Pattern>,
    /// Make only these kinds of load: a command such as read, subscribe, write or connect; publish, listen; serve (devices of
    /// a landscape); watch (processes of its host); link (a relay to one of the targets); overload (more than a server says
    /// that it takes)
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "read,subscribe",
        value_parser = kind,
        requires = "allow_from"
    )]
    loads: Vec<String>,
    /// Write down what was asked and done here [default: uaperf/fleet/agent.log in the user's state folder]
    #[arg(long, value_name = "FILE", requires = "allow_from")]
    journal: Option<PathBuf>,
}

impl Args {
    /// The same for another process of this program.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(file) = &self.allow_from {
            words.extend(["--allow-from".into(), file.into()]);
            let shown: Vec<String> = self.targets.iter().map(Pattern::to_string).collect();
            words.push(format!("--targets={}", shown.join(",")).into());
            words.push(format!("--loads={}", self.loads.join(",")).into());
        }
        if let Some(file) = &self.journal {
            words.extend(["--journal".into(), file.into()]);
        }
        words
    }
}

/// Sends more than a server says that it takes.
const OVERLOAD: &str = "overload";

/// Options of a load that an agent takes.
const LOAD: [&str; 4] = ["--threads", "--pin", "--ignore-limits", "--allow"];

/// What agents do beside loads; publishers and relays are held to the targets as loads are, listeners and devices to the
/// addresses at which they listen.
const ROLES: [&str; 5] = ["publish", "listen", "serve", "watch", "link"];

/// Options of a publisher or a listener that an agent takes: none that names a file.
const OF_ROLES: [&str; 19] = [
    "--signals",
    "--type",
    "--writers",
    "--groups",
    "--publisher",
    "--layout",
    "--encoding",
    "--mapping",
    "--security",
    "--ttl",
    "--duration",
    "--interval",
    "--max",
    "--dscp",
    "--roll-over",
    "--interface",
    "--qos",
    "--mqtt",
    "--in-flight",
];

/// Those of listeners alone, and of who logs in.
const OF_LISTENERS: [&str; 3] = ["--same-clock", "--discovery", "--user"];

/// Options of devices that an agent takes.
const OF_DEVICES: [&str; 7] = [
    "--trust",
    "--threads",
    "--memory",
    "--grace",
    "--revocation",
    "--revocation-fail",
    "--revocation-timeout",
];

/// Bytes that no command has been signed with before.
const NONCE: usize = 32;

fn kind(text: &str) -> Result<String, String> {
    match quick::SERVICES.contains(&text) || ROLES.contains(&text) || text == OVERLOAD {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "{text:?} is no kind of load (want {}, {}, {OVERLOAD})",
            quick::SERVICES.join(", "),
            ROLES.join(", ")
        )),
    }
}

/// Servers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    host: String,
    port: Option<String>,
}

impl std::str::FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let want =
            || format!("{text:?} names no servers (want plc1, plc*:4840, 10.0.0.*, [::1]:4840)");
        // An address of IPv6 has colons of its own.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let plain = |it: &str| !it.is_empty() && !it.contains(['/', ' ', '@', ',']);
        let is_port = |it: &str| it == "*" || it.parse::<u16>().is_ok();
        if !plain(host) || !port.is_none_or(is_port) {
            return Err(want());
        }
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_ascii_lowercase(),
            port: port.map(str::to_owned),
        })
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.host.contains(':'), &self.port) {
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (_, None) => f.write_str(&self.host),
        }
    }
}

impl Pattern {
    fn allows(&self, url: &Url) -> bool {
        self.allows_place(url.host(), url.port())
    }

    fn allows_place(&self, host: &str, port: u16) -> bool {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let port = port.to_string();
        matches(&self.host, &host) && self.port.as_ref().is_none_or(|it| matches(it, &port))
    }
}

/// What stands between a controller and the load.
pub struct Guard {
    known: Vec<Public>,
    targets: Vec<Pattern>,
    loads: Vec<String>,
    nonce: Vec<u8>,
    journal: Option<(PathBuf, Mutex<File>)>,
}

impl Guard {
    /// As it was asked for. An agent that cannot write down what it does does nothing.
    pub fn new(args: &Args) -> anyhow::Result<Self> {
        let mut guard = Self {
            known: Vec::new(),
            targets: args.targets.clone(),
            loads: args.loads.clone(),
            nonce: Vec::new(),
            journal: None,
        };
        let Some(file) = &args.allow_from else {
            return Ok(guard);
        };
        guard.known = key::known(file)?;
        guard.nonce = vec![0; NONCE];
        load::transport::random()(&mut guard.nonce);
        let file = match &args.journal {
            Some(file) => file.clone(),
            None => place::state()?.join("fleet").join("agent.log"),
        };
        let open = || {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            OpenOptions::new().create(true).append(true).open(&file)
        };
        let opened = open().with_context(|| format!("--journal {}", file.display()))?;
        guard.journal = Some((file, Mutex::new(opened)));
        Ok(guard)
    }

    /// What commands are to be signed with, and once only; empty where none has to be.
    pub fn nonce(&self) -> Vec<u8> {
        self.nonce.clone()
    }

    /// What it says of itself.
    pub fn limits(&self) -> Option<String> {
        let keys = match self.known.len() {
            0 => return None,
            1 => "1 key".to_owned(),
            n => format!("{n} keys"),
        };
        let loads = self.loads.join(", ");
        Some(format!("commands of {keys} only: {loads}"))
    }

    /// Refuses what is not allowed. Either is written down.
    pub fn check(&self, share: &Share, task: &Task) -> anyhow::Result<()> {
        if self.known.is_empty() {
            return Ok(());
        }
        let (who, allowed) = match self.signer(share) {
            Ok(key) => (key.to_string(), self.allows(task)),
            Err(why) => ("nobody known".to_owned(), Err(why)),
        };
        let what = match task {
            Task::Load(load) => format!(
                "{} with {} sessions of {}",
                load.service,
                share.seats.len(),
                load.targets.join(", ")
            ),
            Task::Late(own) => format!("results of {}", own.load),
            Task::Role(role) => format!("{} {}", role.name().1, role.url()),
        };
        let verdict = match &allowed {
            Ok(()) => "taken".to_owned(),
            Err(why) => format!("refused ({why})"),
        };
        self.write(&format!("{verdict}: {what}, for {who}"))?;
        allowed.map_err(|why| Failure::usage(format!("it refuses: {why}")).into())
    }

    /// Writes down how a load ended.
    pub fn ended(&self, how: &str) -> anyhow::Result<()> {
        match self.known.is_empty() {
            true => Ok(()),
            false => self.write(how),
        }
    }

    fn write(&self, what: &str) -> anyhow::Result<()> {
        let Some((file, journal)) = &self.journal else {
            return Ok(());
        };
        // A line is what it is, whatever somebody calls a server.
        let what = screen::plain(what);
        let line = format!("{} {what}\n", Timestamp::from(SystemTime::now()));
        let mut journal = journal
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let written = journal
            .write_all(line.as_bytes())
            .and_then(|()| journal.flush());
        written.with_context(|| file.display().to_string())
    }

    fn signer(&self, share: &Share) -> Result<&Public, String> {
        let want = "want the key of `uaperf fleet key` in its --allow-from file";
        let proof = share.proof.as_ref();
        let proof = proof.ok_or_else(|| format!("the command is not signed ({want})"))?;
        let signed = share
            .signed(&self.nonce)
            .map_err(|error| error.to_string())?;
        let mut known = self.known.iter();
        known
            .find(|it| it.has_signed(proof, &signed))
            .ok_or_else(|| format!("the command is signed with another key ({want})"))
    }

    fn allows(&self, task: &Task) -> Result<(), String> {
        let wants = |kind: &str| match self.loads.iter().any(|it| it == kind) {
            true => Ok(()),
            false => Err(format!(
                "{kind} is not among its --loads: {}",
                self.loads.join(", ")
            )),
        };
        let load = match task {
            Task::Load(load) => load,
            Task::Late(_) => return Ok(()),
            Task::Role(role) => {
                wants(role.name().1)?;
                return match &**role {
                    Role::Serve(it) => self.allows_devices(it),
                    Role::Watch(_) => Ok(()),
                    Role::Link(it) => self.allows_server(&it.to),
                    _ => self.allows_role(role),
                };
            }
        };
        let Load {
            service, targets, ..
        } = &**load;
        wants(service)?;
        // How servers are reached and how fast; no option by which a file is written.
        let is_known = |word: &&String| {
            let name = word.split('=').next().unwrap_or(word);
            access::Args::is_word(word) || LOAD.contains(&name)
        };
        if let Some(word) = load.words.iter().find(|it| !is_known(it)) {
            return Err(format!("{word} is no option for an agent"));
        }
        if load.words.iter().any(|it| it == "--ignore-limits") {
            wants(OVERLOAD)?;
        }
        self.allows_proxies(&load.words)?;
        for target in targets {
            self.allows_server(target)?;
        }
        Ok(())
    }

    fn allows_server(&self, target: &str) -> Result<(), String> {
        let url: Result<Url, _> = target.parse();
        let url = url.map_err(|error| error.to_string())?;
        match self.targets.iter().any(|it| it.allows(&url)) {
            true => Ok(()),
            false => Err(format!("{target} is not among its --targets")),
        }
    }

    fn allows_devices(&self, role: &Serves) -> Result<(), String> {
        let is_known = |word: &&String| {
            let name = word.split('=').next().unwrap_or(word);
            OF_DEVICES.contains(&name)
        };
        if let Some(word) = role.words.iter().find(|it| !is_known(it)) {
            return Err(format!("{word} is no option for an agent"));
        }
        for url in landscape::addresses(role)? {
            let (host, port) = host_and_port(&url);
            if !self.targets.iter().any(|it| it.allows_place(host, port)) {
                return Err(format!("{url} is not among its --targets"));
            }
        }
        Ok(())
    }

    fn allows_role(&self, role: &Role) -> Result<(), String> {
        let is_known = |word: &&String| {
            let name = word.split('=').next().unwrap_or(word);
            OF_ROLES.contains(&name)
                || OF_LISTENERS.contains(&name)
                || access::Args::is_word(word) && !word.starts_with("--security")
        };
        if let Some(word) = role.words().iter().find(|it| !is_known(it)) {
            return Err(format!("{word} is no option for an agent"));
        }
        // Who is asked what it sends gets datagrams, too.
        let words = role.words().iter();
        let asked = words.filter_map(|word| word.strip_prefix("--discovery="));
        for url in asked.chain([role.url()]) {
            let (host, port) = host_and_port(url);
            if !self.targets.iter().any(|it| it.allows_place(host, port)) {
                return Err(format!("{url} is not among its --targets"));
            }
        }
        Ok(())
    }
}

/// Of a URL of PubSub; the port is that of its scheme where none is said. An address of Ethernet is a host.
fn host_and_port(url: &str) -> (&str, u16) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let usual = match scheme {
        "mqtt" => 1883,
        "mqtts" => 8883,
        _ => 4840,
    };
    match authority.rsplit_once(':') {
        Some((host, port)) if !authority.ends_with(']') => (host, port.parse().unwrap_or(usual)),
        _ => (authority, usual),
    }
}

impl Guard {
    /// What a proxy is told is no load, but it is somebody's port all the same.
    fn allows_proxies(&self, words: &[String]) -> Result<(), String> {
        for place in words.iter().filter_map(|word| proxy::place_of(word)) {
            let (host, port) = place.map_err(|why| format!("--proxy: {why}"))?;
            if !self.targets.iter().any(|it| it.allows_place(&host, port)) {
                return Err(format!(
                    "the proxy {host}:{port} is not among its --targets"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fleet::key::Own;

    #[test]
    fn a_command_that_was_signed_for_another_process_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::make(&folder.path().join("key")).unwrap();
        let guard = |nonce: u8| Guard {
            known: vec![own.public()],
            targets: Vec::new(),
            loads: Vec::new(),
            nonce: vec![nonce; NONCE],
            journal: None,
        };
        let mut share = Share::default();
        share.proof = Some(own.sign(&share.signed(&guard(1).nonce).unwrap()));
        assert_eq!(guard(1).signer(&share), Ok(&own.public()));
        assert!(guard(2).signer(&share).unwrap_err().contains("another key"));
        // Nor is it good for another task.
        share.task = vec![1];
        assert!(guard(1).signer(&share).is_err());
    }

    #[test]
    fn a_proxy_has_to_be_allowed_as_a_server_is() {
        let guard = Guard {
            known: Vec::new(),
            targets: vec!["plc1".parse().unwrap(), "proxy:3128".parse().unwrap()],
            loads: Vec::new(),
            nonce: Vec::new(),
            journal: None,
        };
        let with = |proxy: &str| guard.allows_proxies(&[format!("--proxy={proxy}")]);
        assert_eq!(with("http://proxy:3128"), Ok(()));
        assert_eq!(with("http://me@proxy:3128"), Ok(()));
        assert_eq!(with("env"), Ok(()));
        for wrong in ["http://proxy:22", "http://other:3128", "proxy"] {
            assert!(with(wrong).unwrap_err().contains("proxy"), "{wrong}");
        }
    }

    #[test]
    fn what_is_allowed_is_the_same_for_a_process_that_is_started() {
        for text in ["plc1", "10.0.0.*:4840", "[::1]:4840", "::1"] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string().parse(), Ok(pattern));
        }
    }

    #[test]
    fn a_publisher_is_held_to_kinds_targets_and_options_as_a_load_is() {
        let guard = |loads: &[&str]| Guard {
            known: Vec::new(),
            targets: vec!["10.0.0.*:4840".parse().unwrap()],
            loads: loads.iter().map(|it| (*it).to_owned()).collect(),
            nonce: Vec::new(),
            journal: None,
        };
        let task = |url: &str, word: &str| {
            Task::Role(Box::new(Role::Publish(crate::fleet::task::Publishes {
                url: url.to_owned(),
                words: vec![word.to_owned()],
                secret: None,
                keys: String::new(),
                window_ns: (0, 0),
            })))
        };
        let may = guard(&["publish"]);
        let good = task("opc.udp://10.0.0.7", "--signals=1");
        assert_eq!(may.allows(&good), Ok(()));
        let refused = |guard: &Guard, task: &Task, want: &str| {
            let why = guard.allows(task).unwrap_err();
            assert!(why.contains(want), "{why}");
        };
        refused(&guard(&["read"]), &good, "publish is not among its --loads");
        let elsewhere = task("opc.udp://10.0.1.7:4840", "--max");
        refused(&may, &elsewhere, "not among its --targets");
        let broker = task("mqtt://10.0.0.7/a:4840", "--max");
        refused(&may, &broker, "not among its --targets");
        let file = task("opc.udp://10.0.0.7", "--out=/etc/passwd");
        refused(&may, &file, "no option for an agent");
        // Listeners ask at another place than that at which they listen.
        let listens = |word: &str| {
            Task::Role(Box::new(Role::Listen(crate::fleet::task::Listens {
                url: "opc.udp://10.0.0.7".to_owned(),
                service: "listen".to_owned(),
                words: vec![word.to_owned()],
                phase: String::new(),
                secret: None,
                keys: String::new(),
            })))
        };
        let may = guard(&["listen"]);
        let near = listens("--discovery=opc.udp://10.0.0.9:4840");
        assert_eq!(may.allows(&near), Ok(()));
        let far = listens("--discovery=opc.udp://10.0.1.9:4840");
        refused(
            &may,
            &far,
            "opc.udp://10.0.1.9:4840 is not among its --targets",
        );
    }

    #[test]
    fn devices_are_held_to_where_they_listen_and_publish_and_name_no_files() {
        let guard = |targets: &[&str]| Guard {
            known: Vec::new(),
            targets: targets.iter().map(|it| it.parse().unwrap()).collect(),
            loads: vec!["serve".to_owned()],
            nonce: Vec::new(),
            journal: None,
        };
        let task = |more: &str, host: Option<&str>, word: &str| {
            Task::Role(Box::new(Role::Serve(Serves {
                text: format!("[[group]]\nname = 'a'\ncount = 3\nport = 7000\n{more}"),
                name: "south".to_owned(),
                devices: vec![(1, 3)],
                host: host.map(str::to_owned),
                words: vec![word.to_owned()],
            })))
        };
        let own = guard(&["127.0.0.1:7001", "127.0.0.1:7002"]);
        assert_eq!(own.allows(&task("", None, "--trust")), Ok(()));
        let refused = |guard: &Guard, task: &Task, want: &str| {
            let why = guard.allows(task).unwrap_err();
            assert!(why.contains(want), "{why}");
        };
        // Whoever is reached by others listens on all addresses, whatever name is said.
        let reached = task("", Some("127.0.0.1"), "--trust");
        refused(&own, &reached, "opc.tcp://0.0.0.0:7001 is not among");
        assert_eq!(guard(&["0.0.0.0"]).allows(&reached), Ok(()));
        let publishes = task("publish = ['opc.udp://10.0.0.7:4840']", None, "--trust");
        refused(&own, &publishes, "opc.udp://10.0.0.7:4840 is not among");
        let file = task("plant = '/etc/passwd'", None, "--trust");
        refused(&own, &file, "no plant files");
        let ledger = task("", None, "--ledger=/etc/passwd");
        refused(&own, &ledger, "no option for an agent");
    }

    #[test]
    fn servers_are_allowed_by_host_and_port() {
        let allows = |pattern: &str, url: &str| {
            let pattern: Pattern = pattern.parse().unwrap();
            pattern.allows(&url.parse().unwrap())
        };
        assert!(allows("plc1", "opc.tcp://PLC1:4841/line"));
        assert!(allows("plc1:4840", "opc.tcp://plc1:4840"));
        assert!(!allows("plc1:4840", "opc.tcp://plc1:4841"));
        assert!(allows("[::1]:4840", "opc.tcp://[::1]:4840"));
        assert!(allows("::1", "opc.tcp://[::1]:4840"));
        assert!(!allows("10.0.0.*", "opc.tcp://10.0.1.1:4840"));
        for bad in ["", ":4840", "plc1:x", "opc.tcp://plc1:4840", "a b"] {
            assert!(
                bad.parse::<Pattern>().unwrap_err().contains("want"),
                "{bad}"
            );
        }
    }
}
