//! Who talks in a simulation of the protocol: the client and the server of this program, and what their steps cost.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use link::Spec;
use load::access::{Credentials, Endpoint, Security, choose};
use load::calibrate::{Calibration, PolicyCost};
use pki::Key;
use plan::unit::{Bytes, duration};
use plant::{Config, PasswordHash, Users};
use simulate::protocol::{Client, Costs, Envelope, Inside, PerByte, Reads, Scene, Server, Tls};
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection, all_protections};
use wire::policy::{Policy, PrivateKey};
use wire::session::server;
use wire::types::{
    ApplicationDescription, ApplicationType, ByteString, DataValue, DateTime, EndpointDescription,
    NodeId, TimestampsToReturn, Variant,
};
use wire::url::Transport;
use zeroize::Zeroizing;

use crate::calibrated;
use crate::failure::Failure;

/// Who talks over which link, and what steps cost.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The link between them: a preset such as cavalieri-2mbps or 4g, or 2Mbit/s,delay=20ms,loss=1%
    #[arg(long, value_name = "PRESET|SPEC", default_value = "cavalieri-2mbps")]
    pub link: Spec,
    /// What carries messages: opc.tcp, opc.wss, opc.https
    #[arg(long, value_name = "SCHEME", default_value = "opc.tcp", value_parser = transport)]
    pub transport: Transport,
    /// POLICY:MODE such as Basic256Sha256:SignAndEncrypt, or best, least, none
    #[arg(
        long,
        value_name = "POLICY:MODE|best|least|none",
        default_value = "none"
    )]
    pub security: Security,
    /// What the server offers: every policy, or only what is used. Each endpoint is named in the answer to CreateSession
    #[arg(long, value_name = "WHAT", default_value = "all")]
    offers: Offers,
    /// Log in with this name and a password of eight letters
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Ask for the endpoints first, on a connection of its own
    #[arg(long)]
    discover: bool,
    /// Whether authorities are asked if certificates were revoked: never, by the first session of all, by each
    #[arg(long, value_name = "HOW", default_value = "offline")]
    revocation: Asks,
    /// How long an authority takes to answer; both ends ask for the other one's certificate
    #[arg(long, value_name = "DURATION", default_value = "50ms", value_parser = duration::parse)]
    authority: Duration,
    /// What cryptography costs: a file of `uaperf calibrate`, cavalieri2010, or none for nothing
    /// [default: as this host was calibrated]
    #[arg(long, value_name = "FILE|NAME", hide_default_value = true)]
    costs: Option<PathBuf>,
    /// Cores of the server
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    cores: u16,
    /// How long each step may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    timeout: Duration,
    /// Where chance comes from: the same number, the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Offers {
    /// Every policy with every mode
    All,
    /// The one that is used
    Used,
}

/// When authorities are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Asks {
    /// Nobody is asked
    Offline,
    /// The first session asks, and others know
    Cached,
    /// Each session asks
    Online,
}

/// What is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub requests: u32,
    pub batch: u32,
    pub value: Option<Bytes>,
}

/// A scene, and what is to be said of it.
#[derive(Debug, Clone)]
pub struct Set {
    pub scene: Scene,
    /// The first session's, where it has to ask and others do not.
    pub first: Option<Scene>,
    pub protection: Protection,
    pub user: String,
    pub notes: Vec<String>,
    /// Where costs come from.
    pub costs: String,
}

const HOST: &str = "plant.simulated";

/// Answers have at most so many bytes inside HTTP.
const LONGEST: usize = 16 << 20;

fn transport(text: &str) -> Result<Transport, String> {
    let all = Transport::ALL;
    all.into_iter()
        .find(|it| it.scheme() == text)
        .ok_or_else(|| {
            let names = all.map(Transport::scheme);
            format!("{text:?} is no transport (want {})", names.join(", "))
        })
}

fn url(transport: Transport) -> String {
    format!(
        "{}://{HOST}:{}",
        transport.scheme(),
        transport.default_port()
    )
}

/// Certificates and keys that are used in simulations and nowhere else: with the same ones each time, the same bytes.
const CLIENT: (&[u8], &[u8]) = (
    include_bytes!("identity/client.der"),
    include_bytes!("identity/client.key"),
);
const SERVER: (&[u8], &[u8]) = (
    include_bytes!("identity/server.der"),
    include_bytes!("identity/server.key"),
);

fn identity((der, key): (&[u8], &[u8])) -> anyhow::Result<Identity> {
    Ok(Identity {
        certificate: Certificate::from_der(der)?,
        key: PrivateKey::from_der(Key::read(key)?.pkcs8())?,
    })
}

/// Its letters are all that counts: nobody checks it.
const PASSWORD: &[u8] = b"password";

/// What steps cost.
#[derive(Debug, Clone)]
enum Prices {
    /// Nothing.
    Nothing,
    /// What makes the table of a study of 2010 come out.
    Cavalieri,
    /// What a host was calibrated with, and where that is from.
    Calibrated(Box<Calibration>, String),
}

impl Prices {
    /// What was typed; without it what this host was calibrated with.
    fn of(typed: Option<&Path>) -> anyhow::Result<Self> {
        let hint = "uaperf calibrate, or --costs none, cavalieri2010 or a file of uaperf calibrate";
        let failed = |told: String| Failure::new(told).hint(hint);
        let Some(file) = typed else {
            let kept = calibrated::kept();
            let kept = kept.ok_or_else(|| failed("this host was not calibrated".to_owned()))?;
            let from = "this host, as it was calibrated".to_owned();
            return Ok(Self::Calibrated(Box::new(kept), from));
        };
        let name = file.display();
        Ok(match file.to_str() {
            Some("none") => Self::Nothing,
            Some("cavalieri2010") => Self::Cavalieri,
            _ => {
                let text =
                    std::fs::read(file).map_err(|error| failed(format!("{name}: {error}")))?;
                let calibration = serde_json::from_slice(&text).map_err(|error| {
                    failed(format!("{name} is no file of uaperf calibrate: {error}"))
                })?;
                Self::Calibrated(calibration, name.to_string())
            }
        })
    }

    /// Where they are from.
    fn name(&self) -> &str {
        match self {
            Self::Nothing => "none: cryptography takes no time",
            Self::Cavalieri => super::cavalieri_costs::NAME,
            Self::Calibrated(_, from) => from,
        }
    }

    /// What TLS takes for a signature and its check, with a key of RSA as the certificate has it.
    fn of_tls(&self) -> anyhow::Result<(f64, f64)> {
        match self {
            Self::Nothing => Ok((0.0, 0.0)),
            Self::Cavalieri => Err(Failure::usage("cavalieri2010 has no costs of TLS")
                .hint("--costs none, or a file of uaperf calibrate")
                .into()),
            Self::Calibrated(it, _) => {
                let policy = Policy::Aes256Sha256RsaPss.name();
                let policy = it.policies.iter().find(|it| it.policy == policy);
                let key = policy.map(|it| (it.key.sign_ns.median, it.key.verify_ns.median));
                key.ok_or_else(|| {
                    Failure::new(format!("{}: it has no costs of TLS", self.name()))
                        .hint("uaperf calibrate")
                        .into()
                })
            }
        }
    }

    /// What they come to with a policy.
    fn costs(&self, protection: Protection) -> anyhow::Result<Costs> {
        let it = match self {
            Self::Nothing => return Ok(Costs::default()),
            Self::Cavalieri => return Ok(super::cavalieri_costs::costs(protection)),
            Self::Calibrated(it, _) => it,
        };
        // A round trip over the loopback is four of them.
        let message = it.raw.sleeping_ns.median / 4.0;
        if protection == Protection::NONE {
            return Ok(Costs {
                message,
                ..Costs::default()
            });
        }
        let name = protection.policy.name();
        let policy = it.policies.iter().find(|it| it.policy == name);
        let policy = policy.ok_or_else(|| {
            Failure::new(format!("{}: nothing says what {name} costs", self.name()))
                .hint("uaperf calibrate")
        })?;
        Ok(Costs {
            message,
            ..secured(policy)
        })
    }
}

fn secured(it: &PolicyCost) -> Costs {
    let key = &it.key;
    let line = |of: fn(&load::calibrate::Chunk) -> f64| {
        let point = |chunk: Option<&load::calibrate::Chunk>| {
            chunk.map_or((0.0, 0.0), |it| (it.bytes as f64, of(it)))
        };
        PerByte::through(point(it.chunks.first()), point(it.chunks.last()))
    };
    Costs {
        sign: key.sign_ns.median,
        verify: key.verify_ns.median,
        encrypt: key.encrypt_ns.median,
        decrypt: key.decrypt_ns.median,
        seal_sign: line(|it| it.sign_ns.median),
        seal_encrypt: line(|it| it.encrypt_ns.median),
        open_decrypt: line(|it| it.decrypt_ns.median),
        open_verify: line(|it| it.verify_ns.median),
        ..Costs::default()
    }
}

/// The client and the server of this program over a link, with what steps cost either of them.
#[derive(Debug, Clone)]
pub struct Stage {
    pub transport: Transport,
    pub link: Spec,
    pub seed: u64,
    pub protections: Vec<Protection>,
    pub protection: Protection,
    pub user: Option<String>,
    pub discovers: bool,
    pub reading: Reading,
    pub cores: usize,
    pub timeout: Duration,
    pub costs: Costs,
    pub envelope: Envelope,
    /// Without a certificate the server has none to name.
    pub has_certificate: bool,
}

impl Stage {
    pub fn scene(self) -> anyhow::Result<Scene> {
        let (client, server) = (identity(CLIENT)?, identity(SERVER)?);
        let server = Some(server).filter(|_| self.has_certificate);
        let mut users = Users::default();
        if let Some(name) = &self.user {
            let hash = PasswordHash::new(PASSWORD, [0; 16], NonZeroU32::MIN);
            users.passwords.push((name.clone(), hash));
        }
        let config = Config {
            application_uri: "urn:simulated:uaperf:server".to_owned(),
            users,
            protections: self.protections.clone(),
            ..Config::default()
        };
        let url_of = (self.transport != Transport::Tcp).then(|| url(self.transport));
        let endpoints = plant::endpoints_at(
            &config,
            &url(Transport::Tcp),
            url_of.as_deref(),
            &server.clone().into(),
        );
        let size = self.reading.value.map(|it| it.0 as usize);
        let value = match size {
            // A double, as most measurements are.
            None => Variant::from(0.0),
            Some(size) => Variant::from(ByteString::from(vec![0; size])),
        };
        let user = match &self.user {
            None => Credentials::Anonymous,
            Some(name) => Credentials::UserName {
                name: name.clone(),
                password: Zeroizing::new(String::from_utf8_lossy(PASSWORD).into_owned()),
            },
        };
        Ok(Scene {
            link: self.link,
            seed: self.seed,
            client: Arc::new(Client {
                url: url(self.transport),
                application: ApplicationDescription {
                    application_uri: "urn:simulated:uaperf:client".into(),
                    application_name: "uaperf".into(),
                    product_uri: "urn:uaperf".into(),
                    application_type: ApplicationType::Client,
                    ..Default::default()
                },
                session_name: "uaperf".to_owned(),
                protection: self.protection,
                identity: Some(client),
                user,
                discovers: self.discovers,
                reads: Reads {
                    count: self.reading.requests,
                    nodes: (0..self.reading.batch)
                        .map(|n| NodeId::new(1, 1000 + n))
                        .collect(),
                    timestamps: TimestampsToReturn::Both,
                    value: DataValue {
                        value: Some(value),
                        source_timestamp: Some(DateTime::from(1)),
                        server_timestamp: Some(DateTime::from(1)),
                        ..DataValue::null()
                    },
                },
                timeout: self.timeout,
            }),
            server: Arc::new(Server {
                session: Arc::new(server::Config::new(server, endpoints)),
                protections: self.protections,
                cores: self.cores,
            }),
            client_costs: self.costs,
            server_costs: self.costs,
            envelope: self.envelope,
            tls: tls(self.transport)?,
        })
    }
}

/// TLS of a transport that has it, with the server's certificate.
fn tls(transport: Transport) -> anyhow::Result<Option<Tls>> {
    let inside = match transport {
        Transport::Tcp => return Ok(None),
        Transport::Wss => Inside::WebSocket,
        Transport::Https => Inside::Http(LONGEST),
    };
    let (certificate, key) = SERVER;
    let host = (HOST.to_owned(), transport.default_port());
    let key = Key::read(key)?;
    Ok(Some(Tls::new(inside, host, certificate, key.pkcs8())?))
}

impl Args {
    /// What is asked for.
    pub fn set(&self, reading: Reading) -> anyhow::Result<Set> {
        // What keys on curves cost is not calibrated yet.
        let all: Vec<Protection> = all_protections()
            .filter(|it| it.policy.curve().is_none())
            .collect();
        let is_secured = self.transport != Transport::Tcp;
        let protection = match self.transport {
            // It has no channel of its own: TLS protects.
            Transport::Https => self.protection(&[Protection::NONE])?,
            _ => self.protection(&all)?,
        };
        let prices = Prices::of(self.costs.as_deref())?;
        let mut costs = prices.costs(protection)?;
        let mut notes = Vec::new();
        if is_secured {
            (costs.sign, costs.verify) = prices.of_tls()?;
            notes.push(
                "TLS takes its signature and the check of it; its key agreement and ciphers take no time here"
                    .to_owned(),
            );
        }
        let asks = match self.revocation {
            _ if protection == Protection::NONE && !is_secured => Asks::Offline,
            asks => asks,
        };
        if asks != self.revocation {
            notes.push("without security there is no certificate to ask about".to_owned());
        }
        let protections = match self.offers {
            Offers::All => all,
            Offers::Used => vec![protection],
        };
        // Who offers nothing secured needs no certificate.
        let has_certificate = is_secured || protections.iter().any(|it| *it != Protection::NONE);
        if self.user.is_some() {
            notes.push(
                match has_certificate {
                    true => "the password is encrypted; the server does not check it",
                    false => "the password travels in the clear; the server does not check it",
                }
                .to_owned(),
            );
        }
        let authority = self.authority.as_nanos() as f64;
        if asks == Asks::Online {
            costs.ask = authority;
        }
        let stage = Stage {
            transport: self.transport,
            link: self.link,
            seed: self.seed,
            protections,
            protection,
            user: self.user.clone(),
            discovers: self.discover,
            reading,
            cores: usize::from(self.cores),
            timeout: self.timeout,
            costs,
            envelope: Envelope::default(),
            has_certificate,
        };
        let first = match asks {
            Asks::Cached => {
                let costs = Costs {
                    ask: authority,
                    ..costs
                };
                let stage = Stage {
                    costs,
                    ..stage.clone()
                };
                Some(stage.scene()?)
            }
            _ => None,
        };
        Ok(Set {
            scene: stage.scene()?,
            first,
            protection,
            user: self.user.clone().unwrap_or_else(|| "anonymous".to_owned()),
            notes,
            costs: prices.name().to_owned(),
        })
    }

    fn protection(&self, all: &[Protection]) -> anyhow::Result<Protection> {
        let endpoint = |protection: &Protection| Endpoint {
            description: EndpointDescription {
                security_level: protection.policy as u8,
                ..EndpointDescription::default()
            },
            protection: Some(*protection),
        };
        let offered: Vec<Endpoint> = all.iter().map(endpoint).collect();
        let chosen = choose(&offered, self.security)?;
        Ok(chosen.protection.unwrap_or(Protection::NONE))
    }
}
