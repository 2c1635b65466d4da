//! The servers that registered at this one, for those who ask for them (Part 4, 5.5).

use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wire::certificate::Certificate;
use wire::time::Instant;
use wire::types::{
    ApplicationDescription, ApplicationType, LocalizedText, RegisteredServer, StatusCode, UAString,
};

/// How often a server may say that it is there (Part 4, 5.5.5.1: ten minutes at most).
pub const REGISTER_EVERY: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(600);

/// Who was not heard of for so long is gone: two registrations were left out.
const LIFETIME: Duration = Duration::from_secs(2 * 600 + 60);

/// Servers that may be registered at a time.
const MOST: usize = 1_000;

/// Bytes of names and URLs of one of them.
const LARGEST: usize = 64 * 1024;

/// The servers that registered at this one.
#[derive(Debug, Default)]
pub struct Directory(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    server: RegisteredServer,
    until: Instant,
}

impl Directory {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // No entry is half written by a thread that panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a server down, or strikes one out that is no longer online. `peer` is the certificate that its
    /// channel was opened with.
    pub fn register(
        &self,
        server: &RegisteredServer,
        peer: Option<&Certificate>,
        now: Instant,
    ) -> Result<(), StatusCode> {
        check(server, peer)?;
        let mut entries = self.lock();
        entries.retain(|entry| entry.until > now && entry.server.server_uri != server.server_uri);
        if !server.is_online {
            return Ok(());
        }
        if entries.len() >= MOST {
            return Err(StatusCode::BadResourceUnavailable);
        }
        entries.push(Entry {
            server: server.clone(),
            until: now + LIFETIME,
        });
        Ok(())
    }

    /// Those that are there, in the order in which they were last heard of, with names in the first of these
    /// locales that they have one in.
    pub fn servers(&self, locales: &[UAString], now: Instant) -> Vec<ApplicationDescription> {
        let entries = self.lock();
        let there = entries.iter().filter(|entry| entry.until > now);
        there
            .map(|entry| description(&entry.server, locales))
            .collect()
    }
}

/// Part 4, 5.5.5.3.
fn check(server: &RegisteredServer, peer: Option<&Certificate>) -> Result<(), StatusCode> {
    // 5.5.5.1: only over a channel that says who the server is.
    let peer = peer.ok_or(StatusCode::BadSecurityModeInsufficient)?;
    let uri: &str = server.server_uri.as_ref();
    if uri.is_empty() || peer.application_uri() != Some(uri) {
        return Err(StatusCode::BadServerUriInvalid);
    }
    if server.server_type == ApplicationType::Client {
        return Err(StatusCode::BadInvalidArgument);
    }
    let names = server.server_names.as_deref().unwrap_or_default();
    if !names.iter().any(|name| !name.text.is_empty()) {
        return Err(StatusCode::BadServerNameMissing);
    }
    let urls = server.discovery_urls.as_deref().unwrap_or_default();
    if !urls.iter().any(|url| !url.is_empty()) {
        return Err(StatusCode::BadDiscoveryUrlMissing);
    }
    let text = |text: &UAString| text.as_ref().len() + size_of::<UAString>();
    let size = names
        .iter()
        .map(|name| text(&name.text) + text(&name.locale))
        .chain(urls.iter().map(text))
        .sum::<usize>()
        + text(&server.product_uri)
        + text(&server.gateway_server_uri)
        + text(&server.semaphore_file_path);
    match size > LARGEST {
        true => Err(StatusCode::BadInvalidArgument),
        false => Ok(()),
    }
}

fn description(server: &RegisteredServer, locales: &[UAString]) -> ApplicationDescription {
    let names = server.server_names.as_deref().unwrap_or_default();
    let spoken = |locale: &UAString| names.iter().find(|name| name.locale == *locale);
    let name = locales.iter().find_map(spoken).or(names.first());
    ApplicationDescription {
        application_uri: server.server_uri.clone(),
        product_uri: server.product_uri.clone(),
        application_name: name.cloned().unwrap_or_else(LocalizedText::null),
        application_type: server.server_type,
        gateway_server_uri: server.gateway_server_uri.clone(),
        discovery_urls: server.discovery_urls.clone(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "urn:test:server";

    fn certificate(uri: &str) -> Certificate {
        let key = pki::Key::generate(2048).unwrap();
        let now = std::time::SystemTime::now().into();
        let request = pki::make::Request::application(uri).dns("localhost");
        let signed = request.self_signed(&key, now).unwrap();
        Certificate::from_der(&pki::Identity::new(signed, key).sent()).unwrap()
    }

    fn server(url: &str) -> RegisteredServer {
        RegisteredServer {
            server_uri: URI.into(),
            server_names: Some(vec![
                LocalizedText::new("en", "Line"),
                LocalizedText::new("de", "Linie"),
            ]),
            server_type: ApplicationType::Server,
            discovery_urls: Some(vec![url.into()]),
            is_online: true,
            ..Default::default()
        }
    }

    #[test]
    fn a_server_is_listed_under_its_own_uri_until_it_ends_or_is_not_heard_of() {
        let directory = Directory::default();
        let own = certificate(URI);
        let at = |seconds| Instant::from_nanos(0) + Duration::from_secs(seconds);
        let put = |server: &RegisteredServer, now| directory.register(server, Some(&own), now);
        assert_eq!(put(&server("opc.tcp://a"), at(0)), Ok(()));
        assert_eq!(put(&server("opc.tcp://b"), at(1000)), Ok(()));
        let there = directory.servers(&["fr".into(), "de".into()], at(2000));
        assert_eq!(there.len(), 1);
        assert_eq!(there[0].application_name.text.as_ref(), "Linie");
        assert_eq!(there[0].discovery_urls, Some(vec!["opc.tcp://b".into()]));
        assert!(directory.servers(&[], at(2261)).is_empty());

        assert_eq!(put(&server("opc.tcp://a"), at(3000)), Ok(()));
        let gone = RegisteredServer {
            is_online: false,
            ..server("opc.tcp://a")
        };
        assert_eq!(put(&gone, at(3001)), Ok(()));
        assert!(directory.servers(&[], at(3001)).is_empty());
    }

    #[test]
    fn what_nobody_could_use_or_nobody_vouches_for_is_refused() {
        let own = certificate(URI);
        let good = || server("opc.tcp://a");
        let refused = |change: fn(&mut RegisteredServer)| {
            let mut server = good();
            change(&mut server);
            check(&server, Some(&own)).unwrap_err()
        };
        let insufficient = StatusCode::BadSecurityModeInsufficient;
        assert_eq!(check(&good(), None), Err(insufficient));
        let other = certificate("urn:test:other");
        let invalid = Err(StatusCode::BadServerUriInvalid);
        assert_eq!(check(&good(), Some(&other)), invalid);
        let client = refused(|of| of.server_type = ApplicationType::Client);
        assert_eq!(client, StatusCode::BadInvalidArgument);
        let nameless = refused(|of| of.server_names = None);
        assert_eq!(nameless, StatusCode::BadServerNameMissing);
        let nowhere = refused(|of| of.discovery_urls = Some(Vec::new()));
        assert_eq!(nowhere, StatusCode::BadDiscoveryUrlMissing);
        let large = refused(|of| of.product_uri = "x".repeat(LARGEST).into());
        assert_eq!(large, StatusCode::BadInvalidArgument);
    }
}
