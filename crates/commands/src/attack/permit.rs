//! Whether a server may be attacked: only one's own, and its owner has to say so.

use load::access::Access;
use load::engine::Target;
use wire::url::{Transport, Url};

use crate::failure::Failure;

/// What the owner said.
#[derive(Debug)]
pub struct Permit<'a> {
    /// Whether attacks were allowed by name.
    pub allowed: bool,
    /// The host that is the owner's own.
    pub mine: Option<&'a str>,
}

impl Permit<'_> {
    /// What can be said before anybody connects.
    pub fn check(&self, access: &Access) -> Result<(), Failure> {
        let url = &access.url;
        if let Some(mine) = self.mine.filter(|it| !is_host(it, url)) {
            return Err(Failure::usage(format!(
                "--mine {mine}: that is not the host of {url} (want {})",
                url.host()
            ))
            .hint("attack your own servers only"));
        }
        if url.transport() != Transport::Tcp {
            return Err(Failure::usage(format!(
                "{url}: attacks are made over opc.tcp (want opc.tcp://HOST:PORT)"
            )));
        }
        if access.link.is_some() || access.callers.is_some() || access.proxy.is_some() {
            return Err(Failure::usage(
                "--link, --proxy and --listen-reverse: a server is attacked where its URL says (want none of them)",
            ));
        }
        // Cached answers without an end of their own are asked for each time, too.
        let source = access.revocation.source;
        if source.asks() {
            return Err(Failure::usage(format!(
                "--revocation {source}: attacks would ask a host that is not the server (want offline or reread)"
            )));
        }
        Ok(())
    }

    /// Whether the owner said that it is to be attacked.
    pub fn is_given(&self) -> bool {
        self.allowed && self.mine.is_some()
    }

    /// What has to be said for a server that is no plant of ours on this machine.
    pub fn given(&self, target: &Target) -> Result<(), Failure> {
        let is_plant = || target.ground_truth().is_some();
        if self.is_given() || is_ours(&target.access.url, is_plant) {
            return Ok(());
        }
        let host = target.access.url.host();
        let what = match (self.allowed, self.mine) {
            (true, _) => "whose server it is has to be said",
            (false, _) => "attacking a server has to be allowed",
        };
        Err(
            Failure::usage(format!("{}: {what}", target.access.url)).hint(format!(
                "if it is your own: the same command with --allow attack --mine {host}"
            )),
        )
    }
}

/// Whether nobody else uses the server. A plant elsewhere may be anybody's, and any server may say that it is one.
fn is_ours(url: &Url, is_plant: impl FnOnce() -> bool) -> bool {
    url.is_loopback() && is_plant()
}

/// Whether this is the host of the URL, as it was typed.
fn is_host(mine: &str, url: &Url) -> bool {
    let bare = |host: &str| {
        let inside = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        inside.unwrap_or(host).to_ascii_lowercase()
    };
    bare(mine) == bare(url.host())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn access(url: &str) -> Access {
        let store = pki::Store::new(std::env::temp_dir());
        let own = pki::make::Request::application("urn:test");
        Access::new(url.parse().unwrap(), store, own)
    }

    fn refused(url: &str, mine: &str) -> String {
        let permit = Permit {
            allowed: true,
            mine: Some(mine),
        };
        let checked = permit.check(&access(url));
        checked.map_or_else(|it| it.to_string(), |()| String::new())
    }

    #[test]
    fn only_the_very_host_that_was_named_is_ones_own() {
        for (url, mine) in [
            ("opc.tcp://plc1:4840", "plc1"),
            ("opc.tcp://PLC1:4840/path", "plc1"),
            ("opc.tcp://10.0.0.7:4840", "10.0.0.7"),
            ("opc.tcp://[::1]:4840", "::1"),
            ("opc.tcp://[::1]:4840", "[::1]"),
        ] {
            assert_eq!(refused(url, mine), "", "{url} {mine}");
        }
        for (url, mine) in [
            ("opc.tcp://plc1:4840", "plc"),
            ("opc.tcp://plc1:4840", "plc10"),
            ("opc.tcp://plc1.example:4840", "plc1"),
            ("opc.tcp://127.0.0.1:4840", "localhost"),
            ("opc.tcp://10.0.0.7:4840", "10.0.0.70"),
            ("opc.tcp://plc1:4840", ""),
        ] {
            let told = refused(url, mine);
            assert!(told.contains("is not the host of"), "{url} {mine}: {told}");
        }
    }

    #[test]
    fn only_a_plant_on_this_machine_needs_no_permission() {
        let ours = |url: &str, plant| is_ours(&url.parse().unwrap(), || plant);
        for url in [
            "opc.tcp://127.0.0.1:4840",
            "opc.tcp://localhost:4840",
            "opc.tcp://[::1]:4840",
        ] {
            assert!(ours(url, true), "{url}");
            assert!(!ours(url, false), "{url}");
        }
        for url in ["opc.tcp://plc1:4840", "opc.tcp://10.0.0.7:4840"] {
            assert!(!ours(url, true), "{url}");
        }
    }

    #[test]
    fn what_is_not_reached_by_its_own_address_is_not_attacked() {
        let told = refused("opc.wss://plc1:4843", "plc1");
        assert!(told.contains("over opc.tcp"), "{told}");
    }

    #[test]
    fn nobody_else_is_asked_at_attacks() {
        use pki::Source;

        let permit = Permit {
            allowed: true,
            mine: Some("plc1"),
        };
        let told = |source| {
            let mut access = access("opc.tcp://plc1:4840");
            access.revocation.source = source;
            let checked = permit.check(&access);
            checked.map_or_else(|it| it.to_string(), |()| String::new())
        };
        for source in [
            Source::Cached,
            Source::Online,
            Source::Manager,
            Source::ManagerCached,
        ] {
            let told = told(source);
            assert!(told.contains("a host that is not the server"), "{told}");
        }
        for source in [Source::Offline, Source::Reread] {
            assert_eq!(told(source), "", "{source}");
        }
    }
}
