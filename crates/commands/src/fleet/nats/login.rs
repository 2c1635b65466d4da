//! Which broker, as whom: from the environment and from files, never from a command line.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, ServerAddr};

use super::super::spec::is_word;
use crate::failure::Failure;

/// Names the broker.
const URL: &str = "UAPERF_NATS_URL";
/// Those that share a broker and do not hear each other.
const TENANT: &str = "UAPERF_NATS_TENANT";
const TOKEN: &str = "UAPERF_NATS_TOKEN";
const TOKEN_FILE: &str = "UAPERF_NATS_TOKEN_FILE";
const NKEY: &str = "UAPERF_NATS_NKEY";
const CREDS: &str = "UAPERF_NATS_CREDS";
const CA: &str = "UAPERF_NATS_CA";
const CERT: &str = "UAPERF_NATS_CERT";
const KEY: &str = "UAPERF_NATS_KEY";

/// A broker that does not answer within this is away.
const PING: Duration = Duration::from_secs(2);
/// Between two attempts to reach it again.
const AGAIN: Duration = Duration::from_millis(300);

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|it| !it.is_empty())
}

/// A broker and a tenant.
#[derive(Debug, Clone)]
pub struct Login {
    url: String,
    tenant: String,
}

/// Whether what passes the controller's broker can be read on no network.
pub fn is_private() -> bool {
    let url = set(URL).unwrap_or_default();
    let is_loopback =
        |it: &str| matches!(it, "localhost" | "[::1]" | "::1") || it.starts_with("127.");
    let host = url.parse::<ServerAddr>().map(|it| it.host().to_owned());
    url.starts_with("tls://") || host.is_ok_and(|it| is_loopback(&it))
}

impl Login {
    /// That of this user's controllers.
    pub fn usual() -> anyhow::Result<Self> {
        let url = set(URL).ok_or_else(|| {
            Failure::usage(format!("nats: no broker is named: {URL} is not set"))
                .hint(format!("export {URL}=tls://broker:4222"))
        })?;
        Self::of(&url, None)
    }

    /// This broker; the tenant is the environment's where none is named.
    pub fn of(url: &str, tenant: Option<&str>) -> anyhow::Result<Self> {
        let tenant = tenant.map(str::to_owned).or_else(|| set(TENANT));
        let tenant = tenant.unwrap_or_else(|| "default".to_owned());
        // A secret of a URL is on a command line, or where one came from; it is not repeated.
        if url.contains('@') {
            let what = "the broker's URL has a user or a token in it";
            let hint = format!("want tls://HOST:PORT, and the token in {TOKEN_FILE}");
            return Err(Failure::usage(what).hint(hint).into());
        }
        let is_known = url.starts_with("nats://") || url.starts_with("tls://");
        if !is_known || url.parse::<ServerAddr>().is_err() {
            let what = format!("{url:?} is no broker (want nats://HOST:PORT or tls://HOST:PORT)");
            return Err(Failure::usage(what).into());
        }
        if !is_word(&tenant) {
            let what = format!("{tenant:?} is no tenant (want letters, digits, - and _)");
            return Err(Failure::usage(what).into());
        }
        Ok(Self {
            url: url.to_owned(),
            tenant,
        })
    }

    /// Where that is, for messages.
    pub fn place(&self) -> String {
        format!("tenant {} at {}", self.tenant, self.url)
    }

    /// A subject of this tenant.
    pub fn subject(&self, words: &[&str]) -> String {
        format!("uaperf.{}.{}", self.tenant, words.join("."))
    }

    async fn options(&self, name: &str) -> anyhow::Result<ConnectOptions> {
        let mut options = ConnectOptions::new()
            .name(name)
            .custom_inbox_prefix(self.subject(&["inbox"]))
            .ping_interval(PING)
            .reconnect_delay_callback(|_| AGAIN)
            .require_tls(self.url.starts_with("tls://"));
        let secret = |name: &str, file: String| {
            let text = std::fs::read_to_string(&file);
            let text = text.map_err(|error| Failure::usage(format!("{name}: {file}: {error}")));
            text.map(|it| it.trim().to_owned())
        };
        if let Some(token) = set(TOKEN) {
            options = options.token(token);
        }
        if let Some(file) = set(TOKEN_FILE) {
            options = options.token(secret(TOKEN_FILE, file)?);
        }
        if let Some(file) = set(NKEY) {
            options = options.nkey(secret(NKEY, file)?);
        }
        if let Some(file) = set(CREDS) {
            let wrong = |error| Failure::usage(format!("{CREDS}: {file}: {error}"));
            options = options
                .credentials(&secret(CREDS, file.clone())?)
                .map_err(wrong)?;
        }
        if let Some(file) = set(CA) {
            options = options.add_root_certificates(file.into());
        }
        match (set(CERT), set(KEY)) {
            (Some(cert), Some(key)) => {
                options = options.add_client_certificate(cert.into(), PathBuf::from(key));
            }
            (None, None) => {}
            _ => return Err(Failure::usage(format!("{CERT} and {KEY}: want both")).into()),
        }
        Ok(options)
    }

    /// Speaks with it as this one.
    pub async fn connect(&self, name: &str) -> anyhow::Result<Client> {
        Ok(self
            .options(name)
            .await?
            .connect(self.url.as_str())
            .await
            .map_err(|error| self.refused(&error))?)
    }

    /// The same for who waits until it is there; `away` is told once that it is not.
    pub async fn wait(&self, name: &str, mut away: impl FnMut(&str)) -> anyhow::Result<Client> {
        let mut told = false;
        loop {
            let error = match self.options(name).await?.connect(self.url.as_str()).await {
                Ok(client) => return Ok(client),
                Err(error) => error,
            };
            let may_come = matches!(
                error.kind(),
                ConnectErrorKind::Io | ConnectErrorKind::Dns | ConnectErrorKind::TimedOut
            ) && !is_of_tls(&error);
            let failure = self.refused(&error);
            if !may_come {
                return Err(failure.into());
            }
            if !std::mem::replace(&mut told, true) {
                away(&failure.to_string());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn refused(&self, error: &async_nats::ConnectError) -> Failure {
        let url = &self.url;
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                Failure::usage(format!("the broker at {url} refuses this user: {error}")).hint(
                    format!("{TOKEN_FILE}, {NKEY} or {CREDS} names the file of what it wants"),
                )
            }
            _ if is_of_tls(error) => {
                Failure::new(format!("no TLS with the broker at {url}: {error}")).hint(format!(
                    "{CA} names the file of its authority; {CERT} and {KEY} our own"
                ))
            }
            _ => Failure::new(format!("the broker at {url} cannot be reached: {error}")),
        }
    }
}

/// Whether TLS failed: a certificate that is refused comes as data that is not valid.
fn is_of_tls(error: &async_nats::ConnectError) -> bool {
    let read = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    error.kind() == ConnectErrorKind::Tls
        || read.is_some_and(|it| it.kind() == io::ErrorKind::InvalidData)
}
