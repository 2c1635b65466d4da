//! Where a broker is, and what is meant at it: `mqtt://host:port/topic`, or `mqtts://` with TLS.

use std::fmt;
use std::str::FromStr;

/// The port of MQTT.
const PORT: u16 = 1883;
/// The port of MQTT inside TLS.
const SECURED_PORT: u16 = 8883;

/// A broker, and what is meant at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    host: String,
    port: u16,
    /// Whether it is spoken to inside TLS.
    secured: bool,
    /// What stands after the host: a prefix of topics, or a topic filter.
    pub topic: Option<String>,
}

/// Text that is no such URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {why}")]
pub struct BrokerUrlError {
    text: String,
    why: &'static str,
}

impl BrokerUrl {
    /// Whether a text begins like one.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("mqtt://") || text.starts_with("mqtts://")
    }

    /// Whether it is spoken to inside TLS.
    pub fn is_secured(&self) -> bool {
        self.secured
    }

    /// The host as typed, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for BrokerUrl {
    type Err = BrokerUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let failed = |why| BrokerUrlError {
            text: text.to_owned(),
            why,
        };
        let (rest, secured) = match (text.strip_prefix("mqtt://"), text.strip_prefix("mqtts://")) {
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
            (None, None) => {
                return Err(failed("want mqtt://HOST:PORT/TOPIC, or mqtts:// with TLS"));
            }
        };
        let (place, topic) = match rest.split_once('/') {
            Some((place, topic)) => (place, Some(topic)),
            None => (rest, None),
        };
        if place.contains('@') {
            return Err(failed(
                "a name in the URL: give it with --user, and the password by a file",
            ));
        }
        let (host, port) = match place.rsplit_once(':') {
            // The colons of an IPv6 address without a port are inside its brackets.
            Some((host, port)) if !port.ends_with(']') => {
                let port = port
                    .parse()
                    .map_err(|_| failed("the port is no number to 65535"))?;
                (host, port)
            }
            _ if secured => (place, SECURED_PORT),
            _ => (place, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(failed("no host"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            secured,
            topic: topic.filter(|it| !it.is_empty()).map(str::to_owned),
        })
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secured { "mqtts" } else { "mqtt" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port)?,
            false => write!(f, "{scheme}://{}:{}", self.host, self.port)?,
        }
        match &self.topic {
            Some(topic) => write!(f, "/{topic}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_with_and_without_port_and_topic() {
        let read = |text: &str| text.parse::<BrokerUrl>().unwrap().to_string();
        assert_eq!(read("mqtt://broker"), "mqtt://broker:1883");
        assert_eq!(read("mqtt://[::1]/a/+/#"), "mqtt://[::1]:1883/a/+/#");
        assert_eq!(read("mqtt://127.0.0.1:18830/"), "mqtt://127.0.0.1:18830");
        assert_eq!(read("mqtts://broker/a"), "mqtts://broker:8883/a");
        for (text, why) in [
            ("mqtt://me:secret@broker", "--user"),
            ("mqtt://broker:port", "port"),
            ("mqtt:///topic", "host"),
            ("opc.udp://broker", "want mqtt://"),
        ] {
            let error = text.parse::<BrokerUrl>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
