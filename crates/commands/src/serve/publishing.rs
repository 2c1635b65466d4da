//! A plant that publishes its signals, too: the same values that clients read and subscribe to.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use load::access::TlsTrust;
use load::pubsub::{
    Address, Discovery, Dscp, Interface, KeyService, KeySupply, Login, LossModel, Mqtt, Publish,
    PublishError, Published, SecurityKeys, Source, Target, Values, publish,
};
use plan::DatagramFate;
use plan::unit::duration::{parse, show};
use plant::{Config, Secured, SecurityGroup, Server, ServerWatch, Signals};
use pubsub::PublisherId;
use pubsub::discovery::Endpoint;
use pubsub::security::Mode as MessageMode;
use pubsub::view::Encoding;
use record::Progress;
use wire::channel::Protection;
use wire::policy::Mode;
use wire::template::walk::BuiltInType;
use wire::url::Transport;

use crate::access;
use crate::failure::Failure;
use crate::publishing::broker::{self, Url};
use crate::publishing::{message, no_socket, results};
use crate::screen::tell;

/// Publishing over PubSub, as typed.
#[derive(Debug, clap::Args)]
#[group(id = "publishing-args")]
pub struct Args {
    /// Publish the signals, too, to opc.udp://HOST:PORT, a multicast group, opc.eth://MAC in frames, or a broker at mqtt://HOST:PORT/PREFIX or
    /// mqtts://, instead of where the plant says; may be given several times
    #[arg(long, value_name = "URL")]
    publish: Vec<Url>,
    /// Distance of two messages
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse)]
    publish_interval: Duration,
    /// How values are encoded: variant, raw
    #[arg(long, value_name = "HOW", default_value = "variant", hide_possible_values = true, value_parser = ["variant", "raw"])]
    publish_encoding: String,
    /// Interface that frames go by, or that a multicast group is reached by, as its address or name [default: the system's
    /// choice]
    #[arg(long, value_name = "IP|NAME")]
    publish_interface: Option<Interface>,
    /// Routers that multicast datagrams may pass
    #[arg(long, value_name = "N", default_value_t = 1)]
    publish_ttl: u8,
    /// Traffic class of datagrams (DSCP): 0 to 63, or a name such as ef or af31
    #[arg(long, value_name = "CLASS")]
    publish_dscp: Option<Dscp>,
    /// The first so many signals [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    publish_signals: Option<u16>,
    /// Answer probes that come to this address, over UDP, and tell there what is published: a group such as
    /// opc.udp://224.0.2.14, or an address of this host
    #[arg(long, value_name = "URL", requires = "publish")]
    publish_discovery: Option<Address>,
    /// Secure messages with the keys of a SecurityGroup of the plant: sign, sign-and-encrypt
    #[arg(long, value_name = "HOW", requires = "publish", hide_possible_values = true, value_parser = ["none", "sign", "sign-and-encrypt"])]
    publish_security: Option<String>,
    /// Which SecurityGroup [default: the one that there is]
    #[arg(long, value_name = "NAME", requires = "publish_security")]
    publish_security_group: Option<String>,
    /// How messages to a broker are written: uadp, json, json-verbose, json-reversible
    #[arg(long, value_name = "MAPPING", default_value = "uadp", hide_possible_values = true, value_parser = broker::MAPPINGS)]
    publish_mapping: String,
    /// Quality of service at a broker: 0 at most once, 1 at least once, 2 exactly once
    #[arg(long, value_name = "0|1|2", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=2))]
    publish_qos: u8,
    /// Version of MQTT: 3.1.1, 5
    #[arg(long, value_name = "VERSION", default_value = "3.1.1", hide_possible_values = true, value_parser = ["3.1.1", "5"])]
    publish_mqtt: String,
    /// Log in at the broker with this name; the password comes from UAPERF_PASSWORD, --publish-password-file or a
    /// prompt, and travels unencrypted to mqtt:// URLs
    #[arg(long, value_name = "NAME")]
    publish_user: Option<String>,
    /// File with the password of --publish-user in its first line
    #[arg(long, value_name = "FILE", requires = "publish_user")]
    publish_password_file: Option<PathBuf>,
    /// Show this certificate (DER or PEM, with those above it) to a broker that asks for one, mqtts://; its key is
    /// --publish-client-key
    #[arg(long, value_name = "FILE", requires = "publish_client_key")]
    publish_client_cert: Option<PathBuf>,
    /// Private key of --publish-client-cert (DER or PEM)
    #[arg(long, value_name = "FILE", requires = "publish_client_cert")]
    publish_client_key: Option<PathBuf>,
}

impl Args {
    /// What is published: what is typed goes before what is written.
    pub fn put_into(&self, config: &mut Config) -> anyhow::Result<()> {
        if self.publish_interval.is_zero() {
            return Err(Failure::usage("--publish-interval 0s: want more than nothing").into());
        }
        if self.publish.is_empty() {
            return Ok(());
        }
        let over_udp = self.publish.iter().find(|to| !to.is_broker());
        if let Some(to) = over_udp.filter(|_| self.publish_mapping != "uadp") {
            let what = format!(
                "--publish-mapping {}: {to} is over {}",
                self.publish_mapping,
                to.way().unwrap_or_default()
            );
            return Err(Failure::usage(what)
                .hint("JSON goes to brokers: mqtt://HOST")
                .into());
        }
        let in_the_clear = |to: &&Url| !matches!(to, Url::Mqtt(it) if it.is_secured());
        if self.publish_client_cert.is_some()
            && let Some(to) = self.publish.iter().find(in_the_clear)
        {
            let what =
                format!("--publish-client-cert with {to}: certificates are shown inside TLS");
            return Err(Failure::usage(what).hint("mqtts://").into());
        }
        let security = self.secured(&config.security_groups)?;
        if security.is_some() && self.publish_mapping != "uadp" {
            let what = format!(
                "--publish-security with --publish-mapping {}: JSON has none",
                self.publish_mapping
            );
            return Err(Failure::usage(what)
                .hint("secured messages are UADP")
                .into());
        }
        let one = |(n, to): (u16, &Url)| plant::Publishing {
            // Those that share keys are told apart by it.
            publisher: if security.is_some() { 1 + n } else { 1 },
            security: security.clone(),
            broker: plant::Brokered {
                mapping: self.publish_mapping.clone(),
                mqtt: self.publish_mqtt.clone(),
                qos: self.publish_qos,
                user: self.publish_user.clone(),
                password_file: self.publish_password_file.clone(),
                client_cert: self.publish_client_cert.clone(),
                client_key: self.publish_client_key.clone(),
            },
            discovery: self.publish_discovery.map(|it| it.to_string()),
            interface: self.publish_interface.as_ref().map(ToString::to_string),
            ttl: self.publish_ttl,
            dscp: self.publish_dscp.map(|it| it.to_string()),
            interval: self.publish_interval,
            raw: self.publish_encoding == "raw",
            signals: self.publish_signals.map(usize::from),
            ..plant::Publishing::new(to.to_string())
        };
        config.publish = (0..).zip(&self.publish).map(one).collect();
        Ok(())
    }

    /// With whose keys messages are secured, if they are.
    fn secured(&self, groups: &[SecurityGroup]) -> Result<Option<Secured>, Failure> {
        let mode = match self.publish_security.as_deref() {
            None | Some("none") => return Ok(None),
            Some("sign") => Mode::Sign,
            Some(_) => Mode::SignAndEncrypt,
        };
        let found = match (&self.publish_security_group, groups) {
            (Some(name), _) => groups.iter().find(|it| it.id == *name),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        match found {
            Some(group) => Ok(Some(Secured {
                mode,
                group: group.id.clone(),
            })),
            None => Err(Failure::usage(
                "--publish-security: with the keys of which SecurityGroup?",
            )
            .hint("add --security-group NAME, and of several --publish-security-group NAME")),
        }
    }
}

/// The key service of the server itself.
struct OwnKeys {
    watch: ServerWatch,
    group: String,
}

impl KeyService for OwnKeys {
    fn ask(&mut self, from: u32, count: u32) -> Result<SecurityKeys, String> {
        let keys = self.watch.security_keys(&self.group, from, count);
        keys.ok_or_else(|| format!("there is no security group {}", self.group))
    }
}

impl Source for OfPlant {
    fn kinds(&self) -> Vec<BuiltInType> {
        self.0.kinds().collect()
    }

    fn names(&self) -> Vec<String> {
        self.0.names().collect()
    }

    fn read(&mut self, visit: &mut dyn FnMut(usize, u64)) {
        self.0.read(visit);
    }
}

/// The signals of a server.
struct OfPlant(Signals);

/// The faults of a server that are about datagrams.
#[derive(Debug)]
struct OfFaults(plant::DatagramFaults);

impl LossModel for OfFaults {
    fn are_wanted(&self) -> bool {
        self.0.are_wanted()
    }

    fn next(&mut self) -> DatagramFate {
        self.0.next()
    }
}

/// Publishers that run, each with a thread.
#[derive(Default)]
pub struct Publishers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Keys for those of them that secure what they send.
    supplies: Vec<KeySupply>,
}

impl Publishers {
    /// Starts all of them for each server. What was started before one failed ends.
    pub fn start(servers: &[Server], trusted: &TlsTrust, quiet: bool) -> anyhow::Result<Self> {
        let mut publishers = Self::default();
        if let Some(server) = servers.first() {
            told_apart(server)?;
        }
        let first = servers.iter().flat_map(Server::publishers);
        let all = servers.first().map_or(0, |it| it.publishers().count());
        for (at, (publishing, _)) in first.take(all).enumerate() {
            let to: Url = publishing
                .to
                .parse()
                .map_err(|error| Failure::usage(format!("publish: {error}")))?;
            let target = target(&to, &publishing.broker, trusted)?;
            for (n, server) in servers.iter().enumerate() {
                if let Some(publisher) = server.publishers().nth(at) {
                    let way = (&to, target.clone());
                    publishers.start_one((n, server), publisher, way, quiet)?;
                }
            }
        }
        Ok(publishers)
    }

    fn start_one(
        &mut self,
        (n, server): (usize, &Server),
        (it, progress): (&plant::Publishing, &Arc<Progress>),
        (to, target): (&Url, Target),
        quiet: bool,
    ) -> anyhow::Result<()> {
        let signals = server.signals(it.signals);
        let count = signals.kinds().len();
        if count == 0 {
            let what = format!("nothing to publish to {to}: the plant has no signals that move");
            return Err(Failure::usage(what)
                .hint("uaperf serve --update 100ms has some")
                .into());
        }
        let id = it.publisher;
        let own = |it: &Secured| OwnKeys {
            watch: server.watch(),
            group: it.group.clone(),
        };
        let supply = it
            .security
            .as_ref()
            .map(|it| KeySupply::start(Box::new(own(it)), false));
        let supply = supply.transpose().map_err(Failure::new)?;
        let plan = Publish {
            mapping: broker::mapping(&it.broker.mapping),
            interface: interface(it)?,
            ttl: it.ttl.into(),
            dscp: dscp(it, to)?,
            publisher_id: PublisherId::UInt16(id),
            encoding: match it.raw {
                true => Encoding::Raw,
                false => Encoding::Variant,
            },
            mode: it.security.as_ref().map(|it| match it.mode {
                Mode::Sign => MessageMode::Sign,
                _ => MessageMode::SignAndEncrypt,
            }),
            key_times: supply.as_ref().map(KeySupply::times),
            interval: Some(it.interval),
            discovery: discovery(it)?,
            fates: Some(Box::new(OfFaults(server.datagram_faults()))),
            progress: Some(Arc::clone(progress)),
            endpoints: endpoints(server),
            ..Publish::new(target, Values::From(Box::new(OfPlant(signals))))
        };
        self.supplies.extend(supply);
        let (begun, told) = channel();
        let stop = Arc::clone(&self.stop);
        let named = to.to_string();
        let thread = std::thread::Builder::new().name(format!("publish-{n}"));
        self.threads.push(thread.spawn(move || {
            let ready = begun.clone();
            let published = publish(plan, &stop, move |_| drop(ready.send(Ok(()))));
            match published {
                Ok(published) => tell_of_broker(&named, &published),
                Err(error) => {
                    if let Err(unheard) = begun.send(Err(error))
                        && let Err(error) = unheard.0
                    {
                        // It was under way; clients are served on.
                        tell!("warning: nothing is published to {named} any more: {error}");
                    }
                }
            }
        })?);
        let begun = told.recv().context("a publisher ended")?;
        begun.map_err(|error| failed(to, error))?;
        if !quiet {
            tell!(
                "publishing {count} signals each {} to {to}, PublisherId {id}",
                show(it.interval)
            );
        }
        Ok(())
    }
}

/// PublisherIds of the server of this number among others of the same kind: behind all of those before it.
pub fn count_up(all: &mut [plant::Publishing], n: u16) {
    let ids = || all.iter().map(|it| it.publisher);
    let (low, high) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
    let span = (high - low).saturating_add(1);
    move_up(all, n.wrapping_mul(span));
}

fn move_up(all: &mut [plant::Publishing], by: u16) {
    for it in all {
        it.publisher = it.publisher.wrapping_add(by);
    }
}

/// PublisherIds of servers that may publish different numbers of things: no two of them have one.
#[derive(Debug, Default)]
pub struct Ids {
    next: u16,
    taken: std::collections::HashSet<u16>,
}

impl Ids {
    /// Moves those of the next server up, behind those that were given before. Once all are taken they begin anew.
    pub fn give(&mut self, all: &mut [plant::Publishing]) {
        let is_free = |by: u16| {
            let mut ids = all.iter().map(|it| it.publisher.wrapping_add(by));
            ids.all(|id| id > 0 && !self.taken.contains(&id))
        };
        let by = (0..=u16::MAX)
            .map(|n| self.next.wrapping_add(n))
            .find(|by| is_free(*by));
        let Some(by) = by else {
            self.taken.clear();
            self.next = 0;
            return;
        };
        move_up(all, by);
        self.taken.extend(all.iter().map(|it| it.publisher));
        self.next = by;
    }
}

/// Part 14, 7.2.4.4.3.2: what is sent with a key is numbered for each PublisherId, so that two with one id and the same keys
/// would use numbers twice, and listeners take the messages of one of them for replayed ones.
fn told_apart(server: &Server) -> Result<(), Failure> {
    let mut seen: Vec<(u16, &str)> = Vec::new();
    for (it, _) in server.publishers() {
        let Some(security) = &it.security else {
            continue;
        };
        let own = (it.publisher, security.group.as_str());
        if seen.contains(&own) {
            let what = format!(
                "publish: two use PublisherId {} and the keys of the security group {}",
                own.0, own.1
            );
            return Err(Failure::usage(what).hint("give each a publisher of its own"));
        }
        seen.push(own);
    }
    Ok(())
}

/// Why a publisher did not begin, with what to try.
fn failed(to: &Url, error: PublishError) -> Failure {
    let what = format!("cannot publish to {to}: {error}");
    match error {
        PublishError::Broker(error) => broker::failed(to, &error),
        PublishError::Io(error) => no_socket(what, &error, "is its interface one of this host?"),
        PublishError::TooLarge(_) | PublishError::LargeFrame(_) => Failure::new(what).hint(
            "fewer signals with --publish-signals N, or shorter ones with --publish-encoding raw",
        ),
        _ => Failure::new(what),
    }
}

/// The interface that messages go by.
fn interface(it: &plant::Publishing) -> anyhow::Result<Option<Interface>> {
    let named = it.interface.as_deref().map(str::parse).transpose();
    named.map_err(|error| Failure::usage(format!("publish: interface: {error}")).into())
}

/// The class of traffic of datagrams, if they say one.
fn dscp(it: &plant::Publishing, to: &Url) -> Result<Option<Dscp>, Failure> {
    let dscp = it.dscp.as_deref().map(str::parse::<Dscp>).transpose();
    let dscp = dscp.map_err(|error| Failure::usage(format!("publish: dscp: {error}")))?;
    match dscp {
        Some(dscp) => message::can_be_marked(dscp, to).map(Some),
        None => Ok(None),
    }
}

/// Where probes are answered, if they are.
fn discovery(it: &plant::Publishing) -> anyhow::Result<Option<Discovery>> {
    let at = it
        .discovery
        .as_deref()
        .map(str::parse::<Address>)
        .transpose();
    let at = at.map_err(|error| Failure::usage(format!("publish: discovery: {error}")))?;
    Ok(at.map(|at| Discovery { at, each: None }))
}

/// Where clients are served, for who asks the publisher.
fn endpoints(server: &Server) -> Vec<Endpoint> {
    let config = server.config();
    let mut all = Vec::new();
    for (transport, url) in server.urls() {
        // Over HTTPS it is TLS that protects.
        let offered = match transport {
            Transport::Https => &[Protection::NONE],
            Transport::Tcp | Transport::Wss => config.protections.as_slice(),
        };
        for protection in offered {
            all.push(Endpoint {
                url: url.to_owned(),
                application_uri: config.application_uri.clone(),
                security_mode: match protection.mode {
                    Mode::None => 1,
                    Mode::Sign => 2,
                    Mode::SignAndEncrypt => 3,
                },
                security_policy: protection.policy.uri().to_owned(),
                ..Endpoint::default()
            });
        }
    }
    all
}

/// Where messages go, with all that is to be known of a broker.
fn target(to: &Url, it: &plant::Brokered, trusted: &TlsTrust) -> anyhow::Result<Target> {
    let url = match to {
        Url::Udp(to) => return Ok(Target::Udp(*to)),
        Url::Ethernet(to) => return Ok(Target::Ethernet(to.clone())),
        Url::Mqtt(url) => url.clone(),
    };
    let login = |user: &String| {
        let password = access::password(it.password_file.as_deref(), user)?;
        anyhow::Ok(Login {
            user: user.clone(),
            password: password.to_string(),
        })
    };
    Ok(Target::Mqtt(Box::new(Mqtt {
        version: broker::version(&it.mqtt),
        qos: it.qos,
        login: it.user.as_ref().map(login).transpose()?,
        in_flight: IN_FLIGHT,
        tls: match url.is_secured() {
            true => {
                let own = broker::own(it.client_cert.as_deref(), it.client_key.as_deref())?;
                let client = trusted.client_showing(url.host(), own.as_ref());
                Some(client.map_err(|error| {
                    Failure::usage(format!("publish: the client's certificate: {error}"))
                })?)
            }
            false => None,
        },
        url,
    })))
}

/// Says at the end what a broker did not take: nobody else does.
fn tell_of_broker(to: &str, published: &Published) {
    let all = published.datagrams + published.refused;
    let delivered = published.mqtt.as_ref().map(results::delivered);
    for (_, _, what, _) in delivered.iter().flat_map(|it| judge::delivered(it, all)) {
        tell!("warning: publishing to {to}: {what}");
    }
}

/// So many messages may be without acknowledgement.
const IN_FLIGHT: u16 = 1000;

impl Drop for Publishers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_several_servers_have_the_same_publisher_id() {
        let of = |n| {
            let mut all = [1, 2].map(|publisher| plant::Publishing {
                publisher,
                ..plant::Publishing::new("opc.udp://127.0.0.1")
            });
            count_up(&mut all, n);
            all.map(|it| it.publisher)
        };
        assert_eq!([of(0), of(1), of(2)], [[1, 2], [3, 4], [5, 6]]);
    }

    #[test]
    fn servers_with_different_plants_have_publisher_ids_of_their_own() {
        let with = |ids: &[u16]| -> Vec<plant::Publishing> {
            let one = |&publisher: &u16| plant::Publishing {
                publisher,
                ..plant::Publishing::new("opc.udp://239.0.0.1".to_owned())
            };
            ids.iter().map(one).collect()
        };
        let mut ids = Ids::default();
        let mut all = Vec::new();
        for plant in [
            &[100, 101, 102][..],
            &[100, 101, 102],
            &[97],
            &[1],
            &[1],
            &[7, 9],
        ] {
            for _ in 0..20 {
                let mut publishing = with(plant);
                ids.give(&mut publishing);
                all.extend(publishing.iter().map(|it| it.publisher));
            }
        }
        assert_eq!(all.get(..4), Some(&[100, 101, 102, 103][..]));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
