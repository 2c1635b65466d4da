//! `service = "publish"` and `service = "listen"`: phases of scenarios.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use load::pubsub::{Address, Interface};
use plan::unit::Bytes;
use plan::unit::duration::parse;
use plan::{Phase, PlanError, Threshold, Warmup, Work};
use pubsub::security::PubSubPolicy;

use super::Taking;
use super::broker::{self, Broker, Url};
use super::keys::{self, KeySource};
use super::message::Message;
use crate::failure::Failure;
use crate::fleet::{Spec, Way};
use crate::quick::{energy, usage};

/// The services of such phases.
pub const SERVICES: [&str; 2] = ["publish", "listen"];

/// A publisher in a process of its own, and listeners that hear it
#[derive(Debug, clap::Args)]
pub struct Publish {
    /// Where to: opc.udp://HOST:PORT, or a multicast group, which several listeners need; port 0 is a free one. Or to
    /// a broker: mqtt://HOST:PORT/PREFIX, mqtts:// inside TLS. Or in frames without IP: opc.eth://MAC[:VID[.PCP]]
    #[arg(long, value_name = "URL", default_value = "opc.udp://127.0.0.1:0")]
    to: Url,
    /// How messages are written: uadp; or to a broker json, json-verbose, json-reversible
    #[arg(long, value_name = "MAPPING", default_value = "uadp", hide_possible_values = true, value_parser = broker::MAPPINGS)]
    mapping: String,
    #[command(flatten)]
    message: Message,
    /// Interface of the listeners, if that is another one: the other end of a cable [default: the publisher's]
    #[arg(long, value_name = "IP|NAME")]
    listen_interface: Option<Interface>,
    #[command(flatten)]
    broker: Broker,
    /// Messages that may wait for their acknowledgement; the broker may want fewer
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=65534))]
    in_flight: u16,
    /// Publish from another host: ssh:user@host, nats:TAG/NAME, or local:1; the listeners stay here
    #[arg(long, value_name = "SPEC")]
    on: Option<Spec>,
    /// Listen on other hosts, each with as many listeners; the publisher stays here, or where on says
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    listen_on: Vec<Spec>,
    /// The policy of keys that are made for this phase alone, without keys
    #[arg(long, value_name = "NAME", default_value = "PubSub-Aes256-CTR", hide_possible_values = true, value_parser = PossibleValuesParser::new(PubSubPolicy::ALL.map(PubSubPolicy::name)))]
    policy: String,
    #[command(flatten)]
    common: Common,
}

/// Listeners to a publisher that is there
#[derive(Debug, clap::Args)]
pub struct Listen {
    /// Where datagrams come to: opc.udp://ADDRESS:PORT of this host, or of a multicast group to join. Or from a
    /// broker: mqtt://HOST:PORT/FILTER, mqtts:// inside TLS. Or frames without IP: opc.eth://MAC, or an interface,
    /// opc.eth://NAME
    #[arg(long, value_name = "URL", required = true)]
    from: Url,
    /// Take messages of these publishers only, by their PublisherIds as they are printed
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    publishers: Vec<String>,
    /// Take messages of these writer groups only, by their ids (in JSON their names)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    groups: Vec<String>,
    #[command(flatten)]
    taking: Taking,
    #[command(flatten)]
    broker: Broker,
    /// Publishers have the clock of this host: tell delays. A broker does not say where they are
    #[arg(long)]
    same_clock: bool,
    /// Ask publishers what they send, over UDP: at a group such as opc.udp://224.0.2.14, or at the address of one
    /// publisher. With what they tell RawData is read
    #[arg(long, value_name = "URL")]
    discovery: Option<Address>,
    /// Listen on other hosts, each with as many listeners: ssh:user@host, nats:TAG/NAME, or local:1
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    on: Vec<Spec>,
    #[command(flatten)]
    common: Common,
}

/// What both have.
#[derive(Debug, clap::Args)]
#[group(id = "pubsub")]
pub struct Common {
    /// Who listens, each with a socket and a thread of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    listeners: u32,
    /// Interface that frames go by, or that a multicast group is reached by, as its address or name [default: the system's
    /// choice]
    #[arg(long, value_name = "IP|NAME")]
    interface: Option<Interface>,
    /// File with keys: a line `POLICY TOKEN HEX` for each key; or a key service, such as opc.tcp://HOST:PORT, which is
    /// asked over an encrypted channel
    #[arg(long, value_name = "FILE|URL")]
    pub(super) keys: Option<KeySource>,
    #[command(flatten)]
    pub(super) key_service: keys::Args,
    /// Room for datagrams that wait to be read, of each listener
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    receive_buffer: Bytes,
    /// How long to measure
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse)]
    duration: Duration,
    /// Leave out this much time at the beginning
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse)]
    warmup: Duration,
    /// A condition on the result, such as loss=0 or 'delay.p99<1ms': exit code 3 if it is not met
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',')]
    expect: Vec<Threshold>,
    #[command(flatten)]
    pub(super) observed: usage::Args,
    #[command(flatten)]
    pub(super) energy: energy::Args,
}

/// What was asked for.
#[derive(Debug)]
pub struct PubSubCommand {
    work: Work,
    pub(super) common: Common,
    pub(super) policy: PubSubPolicy,
    /// Where to or from, with what is said of brokers.
    pub(super) at: Url,
    pub(super) broker: Broker,
    pub(super) in_flight: u16,
    /// Where publishers are asked what they send.
    pub(super) discovery: Option<Address>,
    /// The publisher's host, where that is not this one.
    pub(super) publish_on: Option<Spec>,
    /// The listeners' hosts, where that is not this one.
    pub(super) listen_on: Vec<Spec>,
    /// A publisher of ours is on this host, if anything was not said.
    pub(super) one_host: bool,
}

/// The options of a service.
pub fn definition(service: &str) -> Option<clap::Command> {
    let name = SERVICES.into_iter().find(|name| *name == service)?;
    let command = clap::Command::new(name);
    Some(match name {
        "publish" => <Publish as clap::Args>::augment_args(command),
        _ => <Listen as clap::Args>::augment_args(command),
    })
}

/// What a phase says.
pub fn asked(service: &str, typed: &clap::ArgMatches) -> anyhow::Result<PubSubCommand> {
    match service {
        "publish" => <Publish as clap::FromArgMatches>::from_arg_matches(typed)?.try_into(),
        _ => <Listen as clap::FromArgMatches>::from_arg_matches(typed)?.try_into(),
    }
}

impl TryFrom<Publish> for PubSubCommand {
    type Error = anyhow::Error;

    fn try_from(args: Publish) -> anyhow::Result<Self> {
        let Publish {
            to,
            mapping,
            message,
            listen_interface,
            broker,
            in_flight,
            on,
            listen_on,
            policy,
            common,
        } = args;
        super::can_listen(common.listeners, &to)?;
        if let Some(spec) = &on {
            one_host("--on", spec)?;
        }
        several_hosts("--listen-on", &listen_on)?;
        let is_apart = on.is_some() || !listen_on.is_empty();
        if is_apart {
            can_be_apart(&common, &broker)?;
        }
        let hosts = listen_on.iter().map(agents).sum::<u32>();
        if hosts > 1 {
            super::can_listen(hosts, &to)?;
        }
        let is_here = |it: &Spec| matches!(it.way(), Way::Local(_));
        if to.is_free_port() && (!listen_on.is_empty() || !on.as_ref().is_none_or(is_here)) {
            let what = format!(
                "--to {to}: want the address and the port at which the listeners' host is reached, or a group"
            );
            return Err(Failure::usage(what).into());
        }
        if common.keys.is_some() && message.security == "none" {
            let what = "--keys without security: nothing would be secured: want security = \"sign-and-encrypt\"";
            return Err(Failure::usage(what).into());
        }
        let key_service = common.key_service.plan(common.keys.as_ref())?;
        if message.roll_over.is_some() && key_service.is_some() {
            let what =
                "--roll-over with a key service: want none, it says itself how long a key holds";
            return Err(Failure::usage(what).into());
        }
        if message.roll_over.is_some() && common.keys.is_none() {
            let what =
                "--roll-over without keys: want keys = \"group.keys\", with a line for each key";
            return Err(Failure::usage(what).into());
        }
        let work = Work::Publish(Box::new(plan::Publish {
            broker: to.is_broker().then(|| broker.plan(Some(in_flight), true)),
            listen_interface: listen_interface.map(|it| it.to_string()),
            key_service,
            listeners: common.listeners,
            receive_buffer: common.receive_buffer.0,
            ..message.plan(&to, &mapping, common.interface.as_ref())
        }));
        Ok(Self {
            work,
            common,
            policy: policy.parse()?,
            at: to,
            broker,
            in_flight,
            discovery: None,
            publish_on: on,
            listen_on,
            one_host: true,
        })
    }
}

impl TryFrom<Listen> for PubSubCommand {
    type Error = anyhow::Error;

    fn try_from(args: Listen) -> anyhow::Result<Self> {
        let common = args.common;
        if args.discovery.is_some() && args.from.is_broker() {
            let what = format!(
                "--discovery with {}: want none, a broker keeps what publishers tell",
                args.from
            );
            return Err(Failure::usage(what).into());
        }
        several_hosts("--on", &args.on)?;
        if !args.on.is_empty() {
            can_be_apart(&common, &args.broker)?;
        }
        let work = Work::Listen(Box::new(plan::Listen {
            from: args.from.to_string(),
            broker: args
                .from
                .is_broker()
                .then(|| args.broker.plan(None, args.same_clock)),
            interface: common.interface.as_ref().map(ToString::to_string),
            publishers: args.publishers,
            groups: args.groups,
            security: args.taking.security.unwrap_or_else(|| "none".to_owned()),
            key_service: common.key_service.plan(common.keys.as_ref())?,
            discovery: args.discovery.map(|it| it.to_string()),
            listeners: common.listeners,
            receive_buffer: common.receive_buffer.0,
            strict: args.taking.strict,
            constant_nonce: args.taking.allow_constant_nonce,
        }));
        Ok(Self {
            work,
            common,
            policy: PubSubPolicy::Aes256Ctr,
            at: args.from,
            broker: args.broker,
            in_flight: 1,
            discovery: args.discovery,
            publish_on: None,
            listen_on: args.on,
            one_host: true,
        })
    }
}

/// How many agents it stands for, as far as that is known.
fn agents(spec: &Spec) -> u32 {
    match spec.way() {
        Way::Local(count) => *count,
        Way::Ssh { .. } | Way::Nats { .. } => 1,
    }
}

fn one_host(option: &str, spec: &Spec) -> Result<(), Failure> {
    several_hosts(option, std::slice::from_ref(spec))?;
    match agents(spec) {
        1 => Ok(()),
        _ => Err(Failure::usage(format!(
            "{option} {spec}: one publisher is on one host (want local:1)"
        ))),
    }
}

fn several_hosts(option: &str, specs: &[Spec]) -> Result<(), Failure> {
    match specs.iter().find(|it| it.is_weighed()) {
        Some(spec) => Err(Failure::usage(format!(
            "{option} {spec}: nothing is shared out here (want it without what is behind the *)"
        ))),
        None => Ok(()),
    }
}

/// What is on this host alone does not go with others.
fn can_be_apart(common: &Common, broker: &Broker) -> Result<(), Failure> {
    if let Some(KeySource::Service(url)) = &common.keys {
        return Err(Failure::usage(format!(
            "--keys {url}: agents ask no key service yet (want a file: its keys are passed to them)"
        )));
    }
    match broker.has_files() {
        true => Err(Failure::usage(
            "--client-cert: its file is not on the other host (want a user, or publisher and listeners here)",
        )),
        false => Ok(()),
    }
}

impl PubSubCommand {
    /// The phase, if it makes sense.
    pub fn phase(&self) -> anyhow::Result<Phase> {
        let common = &self.common;
        let phase = Phase {
            duration: Some(common.duration),
            warmup: Warmup::Given {
                warmup: common.warmup,
            },
            expect: common.expect.clone(),
            ..Phase::new(self.work.clone())
        };
        phase.check().map_err(|PlanError { field, value, want }| {
            Failure::usage(format!("--{field} {value}: want {want}"))
        })?;
        Ok(phase)
    }
}
