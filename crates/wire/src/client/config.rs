//! What a client's connection is made from.

use std::sync::Arc;
use std::time::Duration;

use crate::certificate::Certificate;
use crate::channel::{ChannelError, Identity, KeyLog, Protection, Random};
use crate::frame::Limits;
use crate::types::StatusCode;

/// What judges the server's certificate. It may read files: it is asked in the job that signs the request.
#[derive(Clone)]
pub struct CertificateCheck(Arc<Judge>);

type Judge = dyn Fn() -> Result<(), (StatusCode, String)> + Send + Sync;

impl CertificateCheck {
    /// Judges by this: a refusal has its status code and what a person should read.
    pub fn new(
        judge: impl Fn() -> Result<(), (StatusCode, String)> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(judge))
    }

    /// Judges now.
    pub fn ask(&self) -> Result<(), (StatusCode, String)> {
        (self.0)()
    }

    pub(super) fn judge(&self) -> Result<(), ChannelError> {
        self.ask()
            .map_err(|(status, why)| ChannelError::Server { status, why })
    }
}

impl std::fmt::Debug for CertificateCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CertificateCheck")
    }
}

/// What a client wants of a connection.
pub struct Config {
    /// The endpoint, as typed by the user or as named by the server.
    pub endpoint_url: String,
    /// What this side takes and will send at most.
    pub limits: Limits,
    /// Policy and mode of the channel.
    pub protection: Protection,
    /// Certificate and key, for any policy but None.
    pub identity: Option<Identity>,
    /// The server's certificate, known from discovery and trusted by the caller; for any policy
    /// but None.
    pub server: Option<Certificate>,
    /// Judges that certificate whenever the channel is opened or renewed: one that was trusted once may not be any more.
    /// None: whoever makes this answers for it as long as the connection lasts.
    pub check_certificate: Option<CertificateCheck>,
    /// The lifetime to ask for.
    pub lifetime: Duration,
    /// How long the hello and the opening of the channel may take each.
    pub timeout: Duration,
    /// Wait for the server's ReverseHello first.
    pub reverse: bool,
    /// Who is given the keys of the channel's tokens, for a capture of what is sent.
    pub key_log: Option<KeyLog>,
    /// The transport protects messages and keeps them apart (`opc.https`, Part 6, 7.4.1): there is no hello, and the channel
    /// of this number is there from the beginning, with the policy None and the token 1. Answers come in the order of the
    /// requests.
    pub shared_channel: Option<u32>,
    /// Where nonces come from.
    pub random: Random,
}

impl Config {
    /// An unprotected channel with the usual sizes and times.
    pub fn new(endpoint_url: impl Into<String>, random: Random) -> Self {
        Self {
            endpoint_url: endpoint_url.into(),
            limits: Limits::default(),
            protection: Protection::NONE,
            identity: None,
            server: None,
            check_certificate: None,
            lifetime: Duration::from_secs(3600),
            timeout: Duration::from_secs(10),
            reverse: false,
            key_log: None,
            shared_channel: None,
            random,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("endpoint_url", &self.endpoint_url)
            .field("protection", &self.protection)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
