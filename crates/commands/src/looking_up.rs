//! The options by which it is looked up whether a certificate was revoked: the same for clients and for servers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use load::access::{Access, Security};
use load::certificate_manager::Manager;
use pki::{Checks, Fail, Revocation, Source, Store};
use plan::unit::duration::{self, nanos};
use revocation::Asker;
use wire::url::Url;

use crate::place;

/// Where it is looked up whether a certificate was revoked.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "looking-up")]
pub struct Args {
    /// Where to look up whether a certificate was revoked: offline (the lists of the folder), reread (the same, read
    /// anew each time), cached (the lists, else the authority, whose answers are kept), online (the authority each
    /// time), gds:URL (this certificate manager each time: another OPC UA server with CheckRevocationStatus, whose
    /// certificate has to be trusted), gds-cached:URL (the same, and its answers are kept)
    #[arg(long, value_name = "WHERE", default_value_t, conflicts_with = "trust")]
    revocation: Where,
    /// When the status cannot be found out: hard refuses the certificate, soft accepts it
    #[arg(long, value_name = "hard|soft", default_value_t)]
    revocation_fail: Fail,
    /// How long an authority or a certificate manager has for its answer
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    revocation_timeout: Duration,
}

impl Args {
    /// Where, and what follows.
    pub fn revocation(&self) -> Revocation {
        Revocation {
            source: self.revocation.source,
            fail: self.revocation_fail,
        }
    }

    /// The options for another process.
    pub fn words(&self) -> Vec<String> {
        vec![
            format!("--revocation={}", self.revocation),
            format!("--revocation-fail={}", self.revocation_fail),
            format!("--revocation-timeout={}ns", nanos(self.revocation_timeout)),
        ]
    }

    /// What asks, with the certificates of this folder, and with these checks of those whom it asks over OPC UA.
    pub fn asker(&self, store: &Store, checks: Checks) -> Asker {
        let asker = Asker::new(self.revocation_timeout);
        let Some(url) = &self.revocation.manager else {
            return asker;
        };
        let access = Access {
            security: Security::Best,
            checks,
            // To ask it about itself, or others about it, would begin a circle.
            revocation: Revocation {
                source: Source::Offline,
                fail: self.revocation_fail,
            },
            timeout: self.revocation_timeout,
            ..Access::new(url.clone(), store.clone(), place::own_request())
        };
        asker.with_manager(Arc::new(Manager::new(access)))
    }
}

/// Where, with the URL of the certificate manager if it is there.
#[derive(Debug, Clone, PartialEq, Default)]
struct Where {
    source: Source,
    manager: Option<Url>,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.manager {
            Some(url) => write!(f, "{}:{url}", self.source),
            None => self.source.fmt(f),
        }
    }
}

impl FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        for source in [Source::Manager, Source::ManagerCached] {
            let name = source.to_string();
            let Some(rest) = text.strip_prefix(&name) else {
                continue;
            };
            if rest.is_empty() {
                return Err(format!(
                    "{text:?} names no server (want {name}:opc.tcp://HOST:PORT)"
                ));
            }
            if let Some(url) = rest.strip_prefix(':') {
                let url = url.parse().map_err(|error| format!("{error}"))?;
                return Ok(Self {
                    source,
                    manager: Some(url),
                });
            }
        }
        let source = text.parse().map_err(|_| {
            format!(
                "bad revocation: {text:?} (want offline, reread, cached, online, gds:URL or gds-cached:URL)"
            )
        })?;
        Ok(Self {
            source,
            manager: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is_looked_up_is_read_and_written() {
        for text in [
            "offline",
            "online",
            "gds:opc.tcp://gds:4840",
            "gds-cached:opc.tcp://gds:4840",
        ] {
            assert_eq!(text.parse::<Where>().unwrap().to_string(), text);
        }
        let no_server = "gds".parse::<Where>().unwrap_err();
        assert!(no_server.contains("names no server"), "{no_server}");
        let bad_url = "gds:http://gds".parse::<Where>().unwrap_err();
        assert!(bad_url.contains("opc.tcp"), "{bad_url}");
        let unknown = "gdsx".parse::<Where>().unwrap_err();
        assert!(unknown.contains("want offline"), "{unknown}");
    }
}
