//! Faults as text: `delay=2ms,on=read,share=1%`, and as a table of a plant file.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use plan::NodeSpec;
use plan::unit::{Percent, duration};
use wire::service::{Kind, Request};
use wire::types::StatusCode;
use wire::types::status_code::SubStatusCode;

use super::{Effect, Fault, Pick, Rule, Setting, Target};

/// Why a text is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// Not `key=value,…`.
    #[error("no fault in {0:?} (want an effect and what it is for: delay=2ms,on=read,share=1%)")]
    Nothing(String),
    /// A key that means nothing.
    #[error(
        "no such key in a fault: {0:?} (want an effect: delay, service_time, stall, drop, repeat, \
         reorder, corrupt, wrong_key, overflow, bad, refuse, disconnect, restart; or on, node, share, every, period, \
         after, for, times, seed)"
    )]
    Key(String),
    /// Two effects.
    #[error("a fault has one effect, not both {0} and {1}: write two faults")]
    TwoEffects(&'static str, &'static str),
    /// A value that does not fit its key.
    #[error("{key}={value}: {want}")]
    Value {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// What is allowed.
        want: String,
    },
    /// An effect that makes no sense for its target.
    #[error("{effect} cannot happen on={on} (want one of: {want})")]
    Target {
        /// The effect.
        effect: &'static str,
        /// The target.
        on: String,
        /// What it can happen to.
        want: &'static str,
    },
    /// Keys that contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// The effects by name, with what they can happen to, the first being meant when nothing is said.
const EFFECTS: &[(&str, &[&str])] = &[
    ("delay", &["request", "SERVICE", "notification", "datagram"]),
    ("service_time", &["request", "SERVICE"]),
    ("stall", &["server", "request", "SERVICE"]),
    (
        "drop",
        &["notification", "request", "SERVICE", "value", "datagram"],
    ),
    (
        "repeat",
        &["notification", "request", "SERVICE", "datagram"],
    ),
    (
        "reorder",
        &["notification", "request", "SERVICE", "datagram"],
    ),
    ("corrupt", &["datagram"]),
    ("wrong_key", &["datagram"]),
    ("overflow", &["value"]),
    ("bad", &["request", "SERVICE", "value"]),
    ("refuse", &["connection", "session"]),
    (
        "disconnect",
        &["connection", "request", "SERVICE", "notification"],
    ),
    ("restart", &["server", "request", "SERVICE"]),
];

/// The same for people, by effect.
fn allowed(effect: &str) -> &'static str {
    match effect {
        "delay" => "request, a service such as read, notification, datagram",
        "service_time" => "request, a service such as read",
        "stall" | "restart" => "server, request, a service such as read",
        "drop" => "notification, request, a service such as read, value, datagram",
        "repeat" | "reorder" => "notification, request, a service such as read, datagram",
        "corrupt" | "wrong_key" => "datagram",
        "overflow" => "value",
        "bad" => "request, a service such as read, value",
        "refuse" => "connection, session",
        _ => "connection, request, a service such as read, notification",
    }
}

/// A key and what was said of it.
type Pairs = Vec<(String, String)>;

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let pairs: Pairs = parts
            .map(|part| match part.split_once('=') {
                Some((key, value)) => (key.trim().to_owned(), value.trim().to_owned()),
                None => (part.to_owned(), String::new()),
            })
            .collect();
        match pairs.is_empty() {
            true => Err(FaultError::Nothing(text.to_owned())),
            false => read(pairs),
        }
    }
}

impl TryFrom<BTreeMap<String, Setting>> for Fault {
    type Error = FaultError;

    fn try_from(table: BTreeMap<String, Setting>) -> Result<Self, FaultError> {
        let mut pairs = Pairs::new();
        for (key, value) in table {
            match value {
                Setting::Flag(true) => pairs.push((key, String::new())),
                Setting::Flag(false) => {}
                Setting::Integer(n) => pairs.push((key, n.to_string())),
                Setting::Number(n) => pairs.push((key, n.to_string())),
                Setting::Text(text) => pairs.push((key, text)),
                Setting::List(list) => {
                    pairs.extend(list.into_iter().map(|text| (key.clone(), text)));
                }
            }
        }
        match pairs.is_empty() {
            true => Err(FaultError::Nothing("an empty table".into())),
            false => read(pairs),
        }
    }
}

/// What was read so far.
#[derive(Default)]
struct PartialFault {
    effect: Option<(&'static str, Effect)>,
    on: Option<Target>,
    rule: Rule,
    nodes: Vec<NodeSpec>,
    picked: bool,
}

fn read(pairs: Pairs) -> Result<Fault, FaultError> {
    let mut draft = PartialFault::default();
    for (key, value) in pairs {
        let name = key.replace('-', "_");
        // `drop_every = 1000` is `drop` and `every = 1000`.
        if let Some(effect) = name.strip_suffix("_every") {
            draft.effect(effect, "", &key)?;
            draft.set("every", &value)?;
        } else if EFFECTS.iter().any(|(effect, _)| *effect == name) {
            draft.effect(&name, &value, &key)?;
        } else {
            draft.set(&name, &value)?;
        }
    }
    draft.finish()
}

fn wrong(key: &str, value: &str, want: impl fmt::Display) -> FaultError {
    FaultError::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        want: want.to_string(),
    }
}

fn time(key: &str, value: &str) -> Result<Duration, FaultError> {
    match duration::parse(value) {
        Ok(time) if time.is_zero() => Err(wrong(key, value, "want more than nothing")),
        Ok(time) => Ok(time),
        Err(error) => Err(wrong(key, value, error)),
    }
}

fn whole(key: &str, value: &str) -> Result<u64, FaultError> {
    let number = value.replace('_', "").parse().ok();
    number
        .filter(|n| *n > 0)
        .ok_or_else(|| wrong(key, value, "want a whole number, 1 or more"))
}

/// How many, where nothing said means one.
fn some(key: &str, value: &str) -> Result<u32, FaultError> {
    match value {
        "" => Ok(1),
        value => u32::try_from(whole(key, value)?).map_err(|error| wrong(key, value, error)),
    }
}

fn status(key: &str, value: &str) -> Result<StatusCode, FaultError> {
    let wrong = || {
        let want = "want a status code by name or number: BadNodeIdUnknown, 0x80340000";
        wrong(key, value, want)
    };
    if let Some(hex) = value.strip_prefix("0x") {
        let code = u32::from_str_radix(hex, 16).map_err(|_| wrong())?;
        return Ok(StatusCode::from(code));
    }
    let name = value.replace('_', "");
    let code: SubStatusCode = name.parse().map_err(|()| wrong())?;
    Ok(StatusCode::from(code as u32))
}

impl PartialFault {
    fn effect(&mut self, name: &str, value: &str, key: &str) -> Result<(), FaultError> {
        let plain = |effect| match value {
            "" => Ok(effect),
            _ => Err(wrong(name, value, "want no value here")),
        };
        let (name, effect) = match name {
            "delay" => ("delay", Effect::Delay(time(name, value)?)),
            "service_time" => ("service_time", service_time(value)?),
            "stall" => ("stall", Effect::Stall(time(name, value)?)),
            "drop" => ("drop", plain(Effect::Drop)?),
            "repeat" => ("repeat", Effect::Repeat(some(name, value)?)),
            "reorder" => ("reorder", Effect::Reorder(some(name, value)?)),
            "corrupt" => ("corrupt", plain(Effect::Corrupt)?),
            "wrong_key" => ("wrong_key", plain(Effect::WrongKey)?),
            "overflow" => ("overflow", plain(Effect::Overflow)?),
            "bad" => ("bad", Effect::Bad(status(name, value)?)),
            "refuse" => ("refuse", plain(Effect::Refuse)?),
            "disconnect" => ("disconnect", plain(Effect::Disconnect)?),
            "restart" => ("restart", Effect::Restart(time(name, value)?)),
            _ => return Err(FaultError::Key(key.to_owned())),
        };
        match self.effect {
            Some((other, _)) => Err(FaultError::TwoEffects(other, name)),
            None => {
                self.effect = Some((name, effect));
                Ok(())
            }
        }
    }

    fn pick(&mut self, pick: Pick) -> Result<(), FaultError> {
        match std::mem::replace(&mut self.picked, true) {
            true => Err(FaultError::Contradiction(
                "a fault hits a share of events or every n-th of them: give share or every, once",
            )),
            false => {
                self.rule.pick = pick;
                Ok(())
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), FaultError> {
        match key {
            "on" => self.on = Some(target(value)?),
            "node" | "nodes" => {
                let spec: NodeSpec = value.parse().map_err(|error| wrong(key, value, error))?;
                if matches!(spec, NodeSpec::Browse(_) | NodeSpec::File(_)) {
                    return Err(wrong(key, value, "want nodes by their ids"));
                }
                self.nodes.push(spec);
            }
            "share" => {
                let fraction = match value.parse::<Percent>() {
                    Ok(percent) => Some(percent.fraction()),
                    Err(_) => value.parse().ok(),
                };
                let want = "want a percentage such as 1% or a fraction such as 0.01, at least 0.0001% and at most 100%";
                let pick = fraction.and_then(Pick::share);
                self.pick(pick.ok_or_else(|| wrong(key, value, want))?)?;
            }
            "every" => self.pick(Pick::Every(whole(key, value)?))?,
            "period" => self.rule.period = Some(time(key, value)?),
            "after" => {
                let after = duration::parse(value);
                self.rule.after = after.map_err(|error| wrong(key, value, error))?;
            }
            "for" => self.rule.lasts = Some(time(key, value)?),
            "times" => self.rule.times = Some(whole(key, value)?),
            "seed" => {
                let seed = value.parse();
                self.rule.seed = seed.map_err(|_| wrong(key, value, "want a whole number"))?;
            }
            _ => return Err(FaultError::Key(key.to_owned())),
        }
        Ok(())
    }

    fn finish(self) -> Result<Fault, FaultError> {
        let (name, effect) = self
            .effect
            .ok_or(FaultError::Contradiction("a fault needs an effect: delay, service_time, stall, drop, repeat, reorder, corrupt, wrong_key, overflow, bad, refuse, disconnect or restart"))?;
        let targets = EFFECTS.iter().find(|(effect, _)| *effect == name);
        let targets = targets.map_or(&[][..], |(_, targets)| targets);
        let on = match self.on {
            Some(on) => on,
            // Nodes have values.
            None if !self.nodes.is_empty() => Target::Value,
            None => target(targets.first().copied().unwrap_or_default())?,
        };
        let kind = match on {
            Target::Service(_) => "SERVICE".to_owned(),
            on => on.to_string(),
        };
        if !targets.contains(&kind.as_str()) {
            return Err(FaultError::Target {
                effect: name,
                on: on.to_string(),
                want: allowed(name),
            });
        }
        if !self.nodes.is_empty() && on != Target::Value {
            return Err(FaultError::Contradiction(
                "a node can only be named for what happens on=value",
            ));
        }
        let by_clock = on == Target::Server;
        if by_clock && self.rule.pick != Pick::All {
            return Err(FaultError::Contradiction(
                "what happens to the server by the clock has a period, not a share: give period, or on=request with share or every",
            ));
        }
        if by_clock && self.rule.period.is_none() && self.rule.lasts.is_some() {
            return Err(FaultError::Contradiction(
                "without a period it happens once, at the time given by after: for has no meaning",
            ));
        }
        Ok(Fault {
            effect,
            on,
            rule: self.rule,
            nodes: self.nodes,
        })
    }
}

fn service_time(value: &str) -> Result<Effect, FaultError> {
    if let Ok(percent) = value.parse::<Percent>() {
        return match percent.fraction() > 0.0 {
            true => Ok(Effect::Slower(percent.fraction())),
            false => Err(wrong("service_time", value, "want more than nothing")),
        };
    }
    let want = "want a duration such as 200us, or a percentage such as 5% of what it takes";
    let time = time("service_time", value).map_err(|_| wrong("service_time", value, want))?;
    Ok(Effect::ServiceTime(time))
}

/// The services under names that are shorter.
const SHORT: &[(&str, &str)] = &[
    ("translate", "translatebrowsepathstonodeids"),
    ("register", "registernodes"),
    ("unregister", "unregisternodes"),
];

fn squeezed(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The name of a service without "Request".
fn service(kind: Kind) -> &'static str {
    kind.name().trim_end_matches("Request")
}

fn target(value: &str) -> Result<Target, FaultError> {
    let asked = squeezed(value);
    let long = SHORT.iter().find(|(short, _)| *short == asked);
    let asked = long.map_or(asked.as_str(), |(_, long)| long);
    Ok(match asked {
        "request" | "response" => Target::Request,
        "notification" => Target::Notification,
        "datagram" => Target::Datagram,
        "value" => Target::Value,
        "connection" => Target::Connection,
        "session" => Target::Session,
        "server" => Target::Server,
        name => {
            let mut kinds = Request::KINDS.iter();
            let found = kinds.find(|kind| squeezed(service(**kind)) == name);
            Target::Service(*found.ok_or_else(|| {
                let want = "want request, notification, datagram, value, connection, session, server, or a service: read, write, browse, call, publish, create_session …";
                wrong("on", value, want)
            })?)
        }
    })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("request"),
            Self::Notification => f.write_str("notification"),
            Self::Datagram => f.write_str("datagram"),
            Self::Value => f.write_str("value"),
            Self::Connection => f.write_str("connection"),
            Self::Session => f.write_str("session"),
            Self::Server => f.write_str("server"),
            Self::Service(kind) => {
                for (at, c) in service(*kind).char_indices() {
                    if at > 0 && c.is_ascii_uppercase() {
                        f.write_str("_")?;
                    }
                    write!(f, "{}", c.to_ascii_lowercase())?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Fault {
    /// As it can be typed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let typed = duration::typed;
        match self.effect {
            Effect::Delay(time) => write!(f, "delay={}", typed(time))?,
            Effect::ServiceTime(time) => write!(f, "service_time={}", typed(time))?,
            Effect::Slower(part) => write!(f, "service_time={}", Percent::from_fraction(part))?,
            Effect::Stall(time) => write!(f, "stall={}", typed(time))?,
            Effect::Drop => f.write_str("drop")?,
            Effect::Repeat(n) => write!(f, "repeat={n}")?,
            Effect::Reorder(n) => write!(f, "reorder={n}")?,
            Effect::Corrupt => f.write_str("corrupt")?,
            Effect::WrongKey => f.write_str("wrong_key")?,
            Effect::Overflow => f.write_str("overflow")?,
            Effect::Bad(status) => {
                let code = status.bits();
                match status.sub_code() {
                    known if known as u32 == code => write!(f, "bad={known}")?,
                    _ => write!(f, "bad={code:#010x}")?,
                }
            }
            Effect::Refuse => f.write_str("refuse")?,
            Effect::Disconnect => f.write_str("disconnect")?,
            Effect::Restart(time) => write!(f, "restart={}", typed(time))?,
        }
        write!(f, ",on={}", self.on)?;
        for node in &self.nodes {
            write!(f, ",node={node}")?;
        }
        let rule = &self.rule;
        match rule.pick {
            Pick::All => {}
            Pick::Every(n) => write!(f, ",every={n}")?,
            Pick::Share { hits, of } => {
                let percent = Percent::from_fraction(hits as f64 / of as f64);
                write!(f, ",share={percent}")?;
            }
        }
        if let Some(period) = rule.period {
            write!(f, ",period={}", typed(period))?;
        }
        if !rule.after.is_zero() {
            write!(f, ",after={}", typed(rule.after))?;
        }
        if let Some(lasts) = rule.lasts {
            write!(f, ",for={}", typed(lasts))?;
        }
        if let Some(times) = rule.times {
            write!(f, ",times={times}")?;
        }
        if rule.seed != Rule::default().seed {
            write!(f, ",seed={}", rule.seed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_fault_is_shown_as_it_can_be_typed_again() {
        for text in [
            "delay=2ms,on=read,share=1%",
            "service_time=200us,on=request",
            "service_time=5%,on=call",
            "stall=500ms,on=server,period=10s,after=2s",
            "drop,on=notification,every=1000",
            "repeat=2,on=notification,share=0.5%,seed=9",
            "reorder=1,on=translate_browse_paths_to_node_ids,for=1m",
            "overflow,on=value,times=3",
            "bad=BadNodeIdUnknown,on=value,node=ns=2;i=1000..1009,node=ns=2;s=x",
            "bad=0x80af0480,on=write",
            "refuse,on=session",
            "refuse,on=connection,share=10%",
            "disconnect,on=connection,share=10%,period=30s",
            "restart=2s,on=server,after=1m",
        ] {
            assert_eq!(fault(text).to_string(), text);
        }
    }

    #[test]
    fn what_is_left_out_is_what_makes_sense() {
        assert_eq!(fault("drop").on, Target::Notification);
        assert_eq!(fault("delay=1ms").on, Target::Request);
        assert_eq!(fault("refuse").on, Target::Connection);
        assert_eq!(fault("restart=1s,after=5s").on, Target::Server);
        assert_eq!(fault("bad=Bad,node=i=2258").on, Target::Value);
        assert_eq!(
            fault("service-time=1ms,on=CreateSession").on.to_string(),
            "create_session"
        );
    }

    #[test]
    fn a_table_of_a_plant_file_is_the_same() {
        let table: Fault =
            serde_json::from_str(r#"{"on": "notification", "drop_every": 1000}"#).unwrap();
        assert_eq!(table, fault("drop,on=notification,every=1000"));
        let table: Fault = serde_json::from_str(
            r#"{"bad": "BadOutOfService", "node": ["i=2258", "ns=1;i=1..3"], "share": 0.25}"#,
        )
        .unwrap();
        let text = "bad=BadOutOfService,node=i=2258,node=ns=1;i=1..3,share=25%";
        assert_eq!(table, fault(text));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for (text, part) in [
            ("", "no fault in"),
            ("on=read", "needs an effect"),
            ("dely=2ms", "no such key in a fault: \"dely\""),
            ("delay=2", "a number and a unit"),
            ("delay=0ms", "want more than nothing"),
            ("delay=2ms,drop", "one effect, not both delay and drop"),
            ("delay=2ms,on=rad", "want request, notification"),
            ("delay=2ms,on=value", "delay cannot happen on=value"),
            ("bad=BadFoo", "by name or number"),
            ("drop,share=0%", "at least 0.0001%"),
            ("drop,share=1%,every=3", "give share or every, once"),
            ("drop,every=0", "1 or more"),
            ("delay=1ms,node=i=1", "delay cannot happen on=value"),
            (
                "bad=Bad,on=read,node=i=1",
                "only be named for what happens on=value",
            ),
            ("restart=1s,share=5%", "has a period, not a share"),
            ("stall=1s,for=5s", "it happens once"),
            ("overflow=3", "want no value here"),
        ] {
            let error = text.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'));
        }
    }
}
