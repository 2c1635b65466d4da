//! What a publisher sends, as typed: on a command line or in a scenario.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use load::pubsub::{Dscp, Interface, Signal};
use plan::unit::duration::parse;
use pubsub::PublisherId;
use pubsub::layout::Layout;
use pubsub::security::Mode;
use pubsub::view::Encoding;

use super::broker::Url;
use crate::failure::Failure;

/// What is in its messages, how they are secured, and when they are sent.
#[derive(Debug, clap::Args)]
#[group(id = "message")]
pub struct Message {
    /// Fields of each DataSetMessage; each value is the number of its cycle
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    pub signals: u16,
    /// Their type
    #[arg(long = "type", value_name = "TYPE", default_value = "float", value_parser = PossibleValuesParser::new(Signal::ALL.map(Signal::name)))]
    pub kind: String,
    /// DataSetMessages in each NetworkMessage
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=255))]
    pub writers: u16,
    /// Writer groups: NetworkMessages in each cycle
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub groups: u16,
    /// PublisherId: a number (UInt16 if it fits, else UInt64) or a text
    #[arg(long, value_name = "ID", default_value = "1")]
    pub publisher: String,
    /// Header layout of Annex A: periodic-fixed, dynamic
    #[arg(long, value_name = "LAYOUT", default_value = "dynamic")]
    pub layout: Layout,
    /// How fields are encoded: variant, raw, value
    #[arg(long, value_name = "HOW", default_value = "variant", hide_possible_values = true, value_parser = ["variant", "raw", "value"])]
    pub encoding: String,
    /// How messages are secured: none, sign, sign-and-encrypt
    #[arg(long, value_name = "HOW", default_value = "none", hide_possible_values = true, value_parser = ["none", "sign", "sign-and-encrypt"])]
    pub security: String,
    /// Take the next key of the file at this interval; the last one stays
    #[arg(long, value_name = "TIME", value_parser = parse)]
    pub roll_over: Option<Duration>,
    /// Time from one cycle to the next, whatever the cycle before took
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse)]
    pub interval: Duration,
    /// As many cycles as possible, without a pause
    #[arg(long, conflicts_with = "interval")]
    pub max: bool,
    /// Routers that multicast datagrams may pass
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=255))]
    pub ttl: u32,
    /// Traffic class of datagrams (DSCP): 0 to 63, or a name such as ef or af31
    #[arg(long, value_name = "CLASS")]
    pub dscp: Option<Dscp>,
}

impl Message {
    /// Time between two cycles, if there is one.
    pub fn interval(&self) -> Option<Duration> {
        (!self.max).then_some(self.interval)
    }

    /// What a publisher of such messages does, as phases say it: written like that and sent there by no broker, and heard
    /// by nobody.
    pub fn plan(&self, to: &Url, mapping: &str, interface: Option<&Interface>) -> plan::Publish {
        plan::Publish {
            to: to.to_string(),
            broker: None,
            mapping: mapping.to_owned(),
            interface: interface.map(ToString::to_string),
            listen_interface: None,
            ttl: self.ttl,
            dscp: self.dscp.map(|it| it.to_string()),
            publisher: self.publisher.clone(),
            groups: self.groups,
            writers: self.writers,
            signals: self.signals,
            kind: self.kind.clone(),
            encoding: self.encoding.clone(),
            layout: self.layout.to_string(),
            security: self.security.clone(),
            key_service: None,
            roll_over: self.roll_over,
            interval: self.interval(),
            listeners: 0,
            receive_buffer: 0,
        }
    }
}

/// What is sent there can say of which class of traffic it is.
pub fn can_be_marked(dscp: Dscp, to: &Url) -> Result<Dscp, Failure> {
    if matches!(to, Url::Udp(_)) {
        return Ok(dscp);
    }
    let what = format!("--dscp {dscp} with {to}: it is of datagrams over UDP");
    Err(Failure::usage(what).hint("frames have a priority instead: opc.eth://MAC:VID.PCP"))
}

/// How messages are secured, if they are.
pub fn mode(name: &str) -> Option<Mode> {
    match name {
        "sign" => Some(Mode::Sign),
        "sign-and-encrypt" => Some(Mode::SignAndEncrypt),
        _ => None,
    }
}

/// What it is called.
pub fn name(mode: Option<Mode>) -> &'static str {
    match mode {
        Some(Mode::Sign) => "sign",
        Some(Mode::SignAndEncrypt) => "sign-and-encrypt",
        None => "none",
    }
}

/// A type of signals.
pub fn signal(name: &str) -> Signal {
    let found = Signal::ALL.into_iter().find(|it| it.name() == name);
    found.unwrap_or(Signal::Float)
}

/// An encoding of fields.
pub fn encoding(name: &str) -> Encoding {
    match name {
        "raw" => Encoding::Raw,
        "value" => Encoding::DataValue,
        _ => Encoding::Variant,
    }
}

/// A number where it is one.
pub fn publisher_id(text: &str) -> PublisherId<'static> {
    if let Ok(id) = text.parse::<u16>() {
        return PublisherId::UInt16(id);
    }
    match text.parse::<u64>() {
        Ok(id) => PublisherId::UInt64(id),
        Err(_) => PublisherId::String(text.to_owned().into()),
    }
}
