//! Where PubSub goes to or comes from, and how a broker is spoken to, as typed.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::PossibleValuesParser;
use load::pubsub::{Address, BrokerError, BrokerUrl, EthernetUrl, Login, Mapping, Mqtt, Place};
use load::transport::LinkError;
use pubsub::json::Style;
use pubsub::mqtt::Version;
use wss::{ClientCertificate, TlsError, TunnelError};
use zeroize::Zeroizing;

use crate::access::{self, Trusting};
use crate::advice;
use crate::failure::Failure;
use crate::global::Global;

/// A host or group, or a broker.
#[derive(Debug, Clone)]
pub enum Url {
    /// opc.udp://
    Udp(Address),
    /// opc.eth://
    Ethernet(EthernetUrl),
    /// mqtt://, mqtts://
    Mqtt(BrokerUrl),
}

impl Url {
    /// Whether it is a broker.
    pub fn is_broker(&self) -> bool {
        matches!(self, Self::Mqtt(_))
    }

    /// Whether it is a group, whose members all get each datagram.
    pub fn is_multicast(&self) -> bool {
        match self {
            Self::Udp(it) => it.is_multicast(),
            Self::Ethernet(it) => it.is_multicast(),
            Self::Mqtt(_) => false,
        }
    }

    /// Where messages come to or go to without a broker, or the broker.
    pub fn without_broker(self) -> Result<Place, BrokerUrl> {
        match self {
            Self::Udp(it) => Ok(Place::Udp(it)),
            Self::Ethernet(it) => Ok(Place::Ethernet(it)),
            Self::Mqtt(it) => Err(it),
        }
    }

    /// What is between both ends, if it is no broker.
    pub fn way(&self) -> Option<&'static str> {
        match self {
            Self::Udp(_) => Some("UDP"),
            Self::Ethernet(_) => Some("Ethernet"),
            Self::Mqtt(_) => None,
        }
    }

    /// Whether the port is to be a free one of this host.
    pub fn is_free_port(&self) -> bool {
        matches!(self, Self::Udp(it) if it.0.port() == 0)
    }

    /// Whether one listener alone hears what is sent there.
    pub fn is_one_host(&self) -> bool {
        match self {
            Self::Udp(it) => !it.is_multicast(),
            // Whoever looks at the interface has a copy.
            Self::Ethernet(_) | Self::Mqtt(_) => false,
        }
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if BrokerUrl::is_one(text) {
            let url = text.parse().map(Self::Mqtt);
            return url.map_err(|error| format!("{error}"));
        }
        if EthernetUrl::is_one(text) {
            let url = text.parse().map(Self::Ethernet);
            return url.map_err(|error| format!("{error}"));
        }
        text.parse().map(Self::Udp).map_err(|error| {
            format!(
                "{error}; want opc.udp://HOST:PORT, opc.eth://MAC, mqtt://HOST:PORT/TOPIC, or mqtts:// with TLS"
            )
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(it) => it.fmt(f),
            Self::Ethernet(it) => it.fmt(f),
            Self::Mqtt(it) => it.fmt(f),
        }
    }
}

impl From<Place> for Url {
    fn from(place: Place) -> Self {
        match place {
            Place::Udp(it) => Self::Udp(it),
            Place::Ethernet(it) => Self::Ethernet(it),
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
    /// unencrypted to mqtt:// URLs
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// File with the password in its first line
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Show this certificate (DER or PEM, with those above it) to a broker that asks for one; its key is --client-key
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,
    /// Private key of --client-cert (DER or PEM)
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
    #[command(flatten)]
    trusting: Trusting,
}

/// Who logs in, and the secret.
pub type Secret = Option<Zeroizing<String>>;

impl Broker {
    /// What a plan says of it.
    pub fn plan(&self, in_flight: Option<u16>, same_clock: bool) -> plan::Broker {
        plan::Broker {
            mqtt: self.mqtt.clone(),
            qos: self.qos,
            user: self.user.clone(),
            in_flight,
            same_clock,
        }
    }

    /// Whose certificates are accepted.
    pub fn trusting(&self) -> &Trusting {
        &self.trusting
    }

    /// Whether it needs files of this host.
    pub fn has_files(&self) -> bool {
        self.client_cert.is_some() || self.client_key.is_some()
    }

    /// Whether somebody logs in.
    pub fn has_user(&self) -> bool {
        self.user.is_some()
    }

    /// The secret of who logs in.
    pub fn secret(&self) -> anyhow::Result<Secret> {
        let ask = |user: &String| access::password(self.password_file.as_deref(), user);
        self.user.as_ref().map(ask).transpose()
    }

    /// The options for another process, which is told the secret otherwise.
    pub fn words(&self) -> Vec<String> {
        let mut words = self.trusting.words();
        words.push(format!("--qos={}", self.qos));
        words.push(format!("--mqtt={}", self.mqtt));
        words.extend(self.user.iter().map(|user| format!("--user={user}")));
        let files = [
            ("--client-cert", &self.client_cert),
            ("--client-key", &self.client_key),
        ];
        for (name, file) in files {
            words.extend(file.iter().map(|it| format!("{name}={}", it.display())));
        }
        words
    }

    /// This broker; so many messages may wait for their acknowledgement.
    pub fn at(
        &self,
        url: BrokerUrl,
        in_flight: u16,
        secret: &Secret,
        global: &Global,
    ) -> anyhow::Result<Mqtt> {
        let tls = match url.is_secured() {
            true => {
                let own = self.own()?;
                let trusted = self.trusting.resolve(global)?;
                let client = trusted.client_showing(url.host(), own.as_ref());
                Some(client.map_err(|error| Failure::usage(format!("--client-cert: {error}")))?)
            }
            false if self.client_cert.is_some() => {
                let what = format!("--client-cert with {url}: certificates are shown inside TLS");
                return Err(Failure::usage(what).hint("mqtts://").into());
            }
            false => None,
        };
        let login = self.user.as_ref().zip(secret.as_ref());
        let login = login.map(|(user, password)| Login {
            user: user.clone(),
            password: password.to_string(),
        });
        Ok(Mqtt {
            url,
            version: version(&self.mqtt),
            qos: self.qos,
            login,
            in_flight,
            tls,
        })
    }
}

impl Broker {
    /// The certificate that is shown, if there is one.
    fn own(&self) -> Result<Option<ClientCertificate>, Failure> {
        own(self.client_cert.as_deref(), self.client_key.as_deref())
    }
}

/// The certificate of a file, with its key, if there is one.
pub fn own(
    certificate: Option<&Path>,
    key: Option<&Path>,
) -> Result<Option<ClientCertificate>, Failure> {
    let (Some(certificate), Some(key)) = (certificate, key) else {
        return Ok(None);
    };
    let broken = |error: &dyn fmt::Display| Failure::usage(error.to_string());
    let all = pki::store::read_certificates(certificate).map_err(|error| broken(&error))?;
    let key = pki::store::read_key(key).map_err(|error| broken(&error))?;
    Ok(Some(ClientCertificate {
        chain: all.iter().map(|it| it.der().to_vec()).collect(),
        pkcs8: Zeroizing::new(key.pkcs8().to_vec()),
    }))
}

/// A version of MQTT by its name.
pub fn version(name: &str) -> Version {
    match name {
        "5" => Version::V5,
        _ => Version::V3,
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

/// How it was spoken to.
pub fn write_version(out: &mut String, version: &str, tls: Option<&str>) -> fmt::Result {
    write!(out, "  MQTT {version}")?;
    match tls {
        Some(tls) => write!(out, " over {tls}"),
        None => Ok(()),
    }
}

/// Why there is no connection, with what to try.
pub fn failed(at: &impl fmt::Display, error: &BrokerError) -> Failure {
    let failure = Failure::new(format!("{at}: {error}"));
    match error {
        BrokerError::Tls(tls) => match &**tls {
            LinkError::Tunnel(TunnelError::Tls(TlsError::Rejected(it))) => {
                failure.hint(advice::rejection(it))
            }
            LinkError::Tunnel(TunnelError::Tls(TlsError::Rustls(_))) => {
                failure.hint("is this the port for TLS? mqtt:// uses another port")
            }
            _ => failure.hint("does a broker with TLS run there?"),
        },
        BrokerError::Io(_) | BrokerError::Name(_) => failure.hint("does a broker run there?"),
        BrokerError::Refused(_) => failure.hint("see --user and --password-file"),
        BrokerError::Packet(_) | BrokerError::Silent(_) | BrokerError::Closed => {
            failure.hint(
                "is it a broker, and does it know the MQTT that --mqtt says? mqtts:// is for ports with TLS",
            )
        }
        BrokerError::Qos(most) => failure.hint(format!("try --qos {most}")),
        _ => failure,
    }
}
