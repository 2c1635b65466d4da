//! Where PubSub goes to or comes from, and how a broker is spoken to, as typed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use load::pubsub::{Address, BrokerError, BrokerUrl, Login, Mapping, Mqtt};
use pubsub::json::Style;
use pubsub::mqtt::Version;

use crate::failure::Failure;

/// A host or group, or a broker.
#[derive(Debug, Clone)]
pub enum Url {
    /// opc.udp://
    Udp(Address),
    /// mqtt://
    Mqtt(BrokerUrl),
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match BrokerUrl::is_one(text) {
            true => text
                .parse()
                .map(Self::Mqtt)
                .map_err(|error| format!("{error}")),
            false => text.parse().map(Self::Udp).map_err(|error| {
                format!("{error}; want opc.udp://HOST:PORT or mqtt://HOST:PORT/TOPIC")
            }),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(it) => it.fmt(f),
            Self::Mqtt(it) => it.fmt(f),
        }
    }
}

/// How a broker is spoken to.
#[derive(Debug, clap::Args)]
#[group(id = "broker")]
#[command(next_help_heading = "With a broker")]
pub struct Broker {
    /// Quality of service: 0 at most once, 1 at least once, 2 exactly once
    #[arg(long, value_name = "0|1|2", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=2))]
    qos: u8,
    /// Version of MQTT: 3.1.1, 5
    #[arg(long, value_name = "VERSION", default_value = "3.1.1", hide_possible_values = true, value_parser = PossibleValuesParser::new(["3.1.1", "5"]))]
    mqtt: String,
    /// Log in with this name; the password comes from UAPERF_PASSWORD, --password-file or a prompt, and travels
    /// unencrypted
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// File with the password in its first line
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

impl Broker {
    /// This broker; so many messages may wait for their acknowledgement.
    pub fn at(&self, url: BrokerUrl, in_flight: u16) -> anyhow::Result<Mqtt> {
        let login = match &self.user {
            None => None,
            Some(user) => Some(Login {
                user: user.clone(),
                password: crate::access::password(self.password_file.as_deref(), user)?.to_string(),
            }),
        };
        Ok(Mqtt {
            url,
            version: match self.mqtt.as_str() {
                "5" => Version::V5,
                _ => Version::V3,
            },
            qos: self.qos,
            login,
            in_flight,
        })
    }
}

/// The mappings by their names.
pub const MAPPINGS: [&str; 4] = ["uadp", "json", "json-verbose", "json-reversible"];

/// The mapping of a name.
pub fn mapping(name: &str) -> Mapping {
    match name {
        "json" => Mapping::Json(Style::Compact),
        "json-verbose" => Mapping::Json(Style::Verbose),
        "json-reversible" => Mapping::Json(Style::Reversible),
        _ => Mapping::Uadp,
    }
}

/// Why there is no connection, with what to try.
pub fn failed(at: &impl fmt::Display, error: &BrokerError) -> Failure {
    let failure = Failure::new(format!("{at}: {error}"));
    match error {
        BrokerError::Io(_) | BrokerError::Name(_) => failure.hint("does a broker run there?"),
        BrokerError::Refused(_) => failure.hint("see --user and --password-file"),
        BrokerError::Packet(_) | BrokerError::Silent(_) | BrokerError::Closed => {
            failure.hint("is it a broker, and does it know the MQTT that --mqtt says?")
        }
        BrokerError::Qos(most) => failure.hint(format!("try --qos {most}")),
        _ => failure,
    }
}
