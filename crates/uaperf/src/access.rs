//! The options by which a server is reached: security, trust, user. The same for every
//! subcommand that talks to one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use load::access::{Access, Credentials, Security, TrustRule};
use pki::Store;
use wire::url::Url;
use zeroize::Zeroizing;

use crate::cli::Global;
use crate::failure::Failure;
use crate::place;
use plan::unit::duration;

/// How a server is reached.
#[derive(Debug, clap::Args)]
#[group(id = "access")]
#[command(next_help_heading = "Security and user")]
pub struct Args {
    /// POLICY:MODE such as Basic256Sha256:SignAndEncrypt, or best, least, none
    /// [default: none if offered, else the best]
    #[arg(
        long,
        value_name = "POLICY:MODE|best|least|none",
        hide_default_value = true
    )]
    security: Option<Security>,
    /// Accept the server's certificate this once, whatever is wrong with it
    #[arg(long)]
    trust: bool,
    /// Certificate checks to leave out: policy, time, host, uri, usage, revocation
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    skip_check: Vec<pki::Checks>,
    /// Log in with this name; the secret comes from UAPERF_PASSWORD, --password-file or a prompt
    #[arg(long, value_name = "NAME", conflicts_with = "user_cert")]
    user: Option<String>,
    /// File with the password of --user in its first line
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Allow the password to travel unencrypted, to servers that want it so
    #[arg(long, requires = "user")]
    plain_password: bool,
    /// Log in with this X.509 certificate (DER or PEM); its key is --user-key
    #[arg(long, value_name = "FILE", requires = "user_key")]
    user_cert: Option<PathBuf>,
    /// Private key of --user-cert (DER or PEM)
    #[arg(long, value_name = "FILE", requires = "user_cert")]
    user_key: Option<PathBuf>,
    /// How long each step and each call may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    timeout: Duration,
}

impl Args {
    /// How long each step and each call may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The options with everything looked up that they name.
    pub fn resolve(&self, url: Url, global: &Global) -> anyhow::Result<Access> {
        self.with(url, self.user()?, global)
    }

    /// The same for several servers; who logs in is asked for once.
    pub fn resolve_all(&self, urls: &[Url], global: &Global) -> anyhow::Result<Vec<Access>> {
        let user = self.user()?;
        let one = |url: &Url| self.with(url.clone(), user.clone(), global);
        urls.iter().map(one).collect()
    }

    fn with(&self, url: Url, user: Credentials, global: &Global) -> anyhow::Result<Access> {
        let store = Store::new(global.pki()?);
        let trust = match self.trust {
            true => TrustRule::Everyone,
            false => TrustRule::Listed,
        };
        let checks = self
            .skip_check
            .iter()
            .fold(pki::Checks::ALL, |checks, &off| checks.without(off));
        Ok(Access {
            url,
            security: self.security.unwrap_or_default(),
            store,
            own: place::own_request(),
            trust,
            checks,
            user,
            plain_password: self.plain_password,
            timeout: self.timeout,
        })
    }

    fn user(&self) -> anyhow::Result<Credentials> {
        if let Some(name) = &self.user {
            return Ok(Credentials::UserName {
                name: name.clone(),
                password: self.password(name)?,
            });
        }
        let (Some(certificate), Some(key)) = (&self.user_cert, &self.user_key) else {
            return Ok(Credentials::Anonymous);
        };
        let certificates = pki::store::read_certificates(certificate)
            .map_err(|broken| Failure::usage(broken.to_string()))?;
        let key = pki::store::read_key(key).map_err(|broken| Failure::usage(broken.to_string()))?;
        let certificate = certificates.into_iter().next().ok_or_else(|| {
            Failure::usage(format!("{} holds no certificate", certificate.display()))
        })?;
        let usable = |error: String| Failure::usage(format!("the user's certificate: {error}"));
        let own = load::access::identity(&pki::Identity::new(certificate, key))
            .map_err(|error| usable(error.to_string()))?;
        Ok(Credentials::X509 {
            certificate: own.certificate,
            key: own.key,
        })
    }

    fn password(&self, name: &str) -> anyhow::Result<Zeroizing<String>> {
        if let Some(file) = &self.password_file {
            return first_line(file);
        }
        if let Ok(password) = std::env::var("UAPERF_PASSWORD") {
            return Ok(Zeroizing::new(password));
        }
        rpassword::prompt_password(format!("Password of {name}: "))
            .map(Zeroizing::new)
            .map_err(|error| {
                Failure::usage(format!("no password for {name}: {error}"))
                    .hint("give it in UAPERF_PASSWORD or with --password-file FILE")
                    .into()
            })
    }
}

fn first_line(file: &Path) -> anyhow::Result<Zeroizing<String>> {
    let text = std::fs::read_to_string(file)
        .map(Zeroizing::new)
        .with_context(|| format!("cannot read the password from {}", file.display()))?;
    Ok(Zeroizing::new(
        text.lines().next().unwrap_or_default().to_owned(),
    ))
}
