//! The options by which a server is reached: security, trust, user. The same for every
//! subcommand that talks to one.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use link::Spec;
use load::access::{Access, ClientIdentities, Credentials, Security, TlsTrust, TrustRule};
use load::relay::{Background, Settings};
use load::transport::{Callers, Dscp};
use pki::Store;
use wire::url::Url;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::global::Global;
use crate::{looking_up, pcap, place, proxy, reverse, secret, usage};
use plan::unit::duration;

/// How a server is reached.
#[derive(Debug, Clone, clap::Args)]
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
    #[command(flatten)]
    trusting: Trusting,
    /// Log in with this name; the secret comes from UAPERF_PASSWORD, --password-file or a prompt
    #[arg(
        long,
        value_name = "NAME",
        group = "secret",
        conflicts_with = "user_cert"
    )]
    user: Option<String>,
    /// File with the password of --user in its first line; with several users, one password for all or a line for each
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Allow sending the password or token unencrypted, to servers that demand it
    #[arg(long, requires = "secret")]
    plain_password: bool,
    /// Log in with this X.509 certificate (DER or PEM); its key is --user-key
    #[arg(long, value_name = "FILE", requires = "user_key")]
    user_cert: Option<PathBuf>,
    /// Private key of --user-cert (DER or PEM)
    #[arg(long, value_name = "FILE", requires = "user_cert")]
    user_key: Option<PathBuf>,
    /// Log in with the token in this file that an authorization service issued, such as a JWT
    #[arg(long, value_name = "FILE", group = "secret", conflicts_with_all = ["user_cert", "user"])]
    user_token: Option<PathBuf>,
    /// How messages are encoded: binary or json; json over opc.https and opc.wss only
    #[arg(long, value_name = "ENCODING", value_enum, default_value_t)]
    encoding: Encoding,
    /// Go on with keys of earlier connections of TLS where the server lets us, over opc.https and opc.wss; the certificate that it
    /// showed then is judged each time
    #[arg(long)]
    tls_resume: bool,
    /// Put a link between here and the server: a preset such as 4g or satellite, or 2Mbit/s,delay=20ms,loss=1%
    #[arg(long, value_name = "PRESET|SPEC", conflicts_with = "proxy")]
    link: Option<Spec>,
    /// Mark packets to the server with this class of traffic (DSCP): 0 to 63, or ef, va, le, cs0 to cs7, af11 to af43
    #[arg(long, value_name = "CLASS", conflicts_with = "link")]
    dscp: Option<Dscp>,
    /// How long a session may go without a request: what the server is asked for, which may grant another time
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration::parse)]
    session_timeout: Duration,
    /// How long each step and each call may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    timeout: Duration,
    #[command(flatten)]
    proxies: proxy::Args,
    #[command(flatten)]
    reverse: reverse::Args,
    #[command(flatten)]
    pcap: pcap::Args,
    /// The secret of --user, where another process has asked for it.
    #[arg(skip)]
    given: Option<Zeroizing<String>>,
}

/// How messages are encoded (Part 6, 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Encoding {
    /// OPC UA Binary.
    #[default]
    Binary,
    /// JSON, in its compact form.
    Json,
}

/// Whose certificates are accepted.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "trusting")]
pub struct Trusting {
    /// Accept the server's certificate this once, whatever is wrong with it
    #[arg(long)]
    trust: bool,
    /// Certificate checks to leave out: policy, time, host, uri, usage, revocation
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    skip_check: Vec<pki::Checks>,
    #[command(flatten)]
    looking_up: looking_up::Args,
}

impl Trusting {
    /// The options for another process.
    pub fn words(&self) -> Vec<String> {
        let mut words = self.looking_up.words();
        words.extend(
            self.skip_check
                .iter()
                .map(|it| format!("--skip-check={it}")),
        );
        if self.trust {
            // Nobody is asked then.
            words = vec!["--trust".to_owned()];
        }
        words
    }

    /// The same with the folder of certificates.
    pub fn resolve(&self, global: &Global) -> anyhow::Result<TlsTrust> {
        let rule = match self.trust {
            true => TrustRule::Everyone,
            false => TrustRule::Listed,
        };
        let off = self.skip_check.iter();
        let checks = off.fold(pki::Checks::ALL, |checks, &off| checks.without(off));
        let store = Store::new(global.pki()?);
        let asker = self.looking_up.asker(&store, checks);
        Ok(TlsTrust {
            store,
            rule,
            checks,
            revocation: self.looking_up.revocation(),
            asker: Arc::new(asker),
        })
    }
}

impl Args {
    fn definition() -> clap::Command {
        <Self as clap::Args>::augment_args(clap::Command::new("access"))
    }

    /// Options that mean something in the process that was started only, or that hold a secret.
    const OWN: [&str; 5] = [
        "--password-file",
        "--proxy-password-file",
        "--pcap",
        "--pcap-max",
        "--listen-reverse",
    ];

    /// Whether another process may be told so how it reaches servers.
    pub fn is_word(word: &str) -> bool {
        let name = word.split('=').next().unwrap_or(word);
        let long = name.strip_prefix("--");
        !Self::OWN.contains(&name)
            && Self::definition()
                .get_arguments()
                .any(|arg| arg.get_long().is_some() && arg.get_long() == long)
    }

    /// The options as they were typed, for another process, on the command line or in a phase. Secrets and what belongs
    /// to this one are not among them.
    pub fn words(of_phase: Option<&clap::ArgMatches>) -> Vec<String> {
        let all = Self::definition();
        let mut words = match of_phase {
            Some(typed) => usage::typed_there(&all, typed),
            None => usage::typed(&all),
        };
        words.retain(|word| Self::is_word(word));
        words
    }

    /// The secret of --user, for another process that is to log in so.
    pub fn secret(&self) -> anyhow::Result<Option<Zeroizing<String>>> {
        self.user.as_deref().map(|it| self.password(it)).transpose()
    }

    /// The same, with the secret of --user.
    pub fn with_secret(self, given: Option<Zeroizing<String>>) -> Self {
        Self { given, ..self }
    }

    /// Whether servers are awaited that dial.
    pub fn is_dialled(&self) -> bool {
        self.reverse.is_asked()
    }

    /// Whether connections are recorded.
    pub fn pcap(&self) -> &pcap::Args {
        &self.pcap
    }

    /// How long each step and each call may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The options with everything looked up that they name.
    pub fn resolve(&self, url: Url, global: &Global) -> anyhow::Result<Access> {
        self.with(url, self.user()?, global)
    }

    /// The same for several servers; who logs in is asked for once. With `each`, sessions differ.
    pub fn resolve_all(
        &self,
        urls: &[Url],
        each: Option<Arc<ClientIdentities>>,
        global: &Global,
    ) -> anyhow::Result<Vec<Access>> {
        let first = each.as_ref().and_then(|each| each.clients().first());
        let user = match first {
            Some(client) => client.user.clone(),
            None => self.user()?,
        };
        let one = |url: &Url| {
            Ok(Access {
                each: each.clone(),
                ..self.with(url.clone(), user.clone(), global)?
            })
        };
        urls.iter().map(one).collect()
    }

    fn with(&self, url: Url, user: Credentials, global: &Global) -> anyhow::Result<Access> {
        let trusted = self.trusting.resolve(global)?;
        Ok(Access {
            security: self.security.unwrap_or_default(),
            trust: trusted.rule,
            checks: trusted.checks,
            revocation: trusted.revocation,
            asker: trusted.asker,
            user,
            plain_password: self.plain_password,
            json: self.encoding == Encoding::Json,
            tls_resume: self.tls_resume,
            dscp: self.dscp,
            link: self.link(&url)?,
            proxy: self.proxies.to(&url)?,
            callers: self.callers()?,
            recorder: self.pcap.begin()?,
            session_timeout: self.session_timeout,
            timeout: self.timeout,
            ..Access::new(url, trusted.store, place::own_request())
        })
    }

    /// Where servers are awaited that dial.
    fn callers(&self) -> Result<Option<Arc<Callers>>, Failure> {
        if self.reverse.is_asked() && self.proxies.is_asked() {
            return Err(Failure::usage(
                "--proxy and --listen-reverse: a proxy leads to servers that are dialled (want one of them)",
            ));
        }
        let callers = self.reverse.begin()?;
        match (&callers, &self.link) {
            (Some(_), Some(_)) => Err(Failure::usage(
                "--link and --listen-reverse: a link leads to servers that are dialled (want one of them; \
                 `uaperf link` between the server and here emulates one)",
            )),
            _ => Ok(callers),
        }
    }

    /// A link of its own to this server, at work from now on.
    fn link(&self, url: &Url) -> anyhow::Result<Option<Arc<Background>>> {
        let Some(spec) = self.link else {
            return Ok(None);
        };
        let failed = |why: String| Failure::new(format!("--link: {why}"));
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let settings =
            Settings::to(url, listen, spec).map_err(|error| failed(error.to_string()))?;
        let link = Background::start(settings).map_err(|error| failed(error.to_string()))?;
        Ok(Some(Arc::new(link)))
    }

    fn user(&self) -> anyhow::Result<Credentials> {
        if let Some(name) = &self.user {
            return Ok(Credentials::UserName {
                name: name.clone(),
                password: self.password(name)?,
            });
        }
        if let Some(file) = &self.user_token {
            return Ok(Credentials::Issued { data: token(file)? });
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

    /// The name of --user where it stands for several.
    pub fn user_pattern(&self) -> Option<&str> {
        self.user.as_deref().filter(|name| name.contains(NUMBER))
    }

    /// Who logs in, session by session.
    pub fn users(&self, sessions: u32) -> anyhow::Result<Vec<Credentials>> {
        let Some(pattern) = self.user_pattern() else {
            return Ok(vec![self.user()?; sessions as usize]);
        };
        let passwords = match &self.password_file {
            Some(file) => secret::lines(file)?,
            None => vec![self.password(pattern)?],
        };
        if passwords.len() > 1 && passwords.len() < sessions as usize {
            return Err(Failure::usage(format!(
                "--password-file {}: {} passwords for {sessions} sessions (want one for all, or a line for \
                 each)",
                file_name(self.password_file.as_deref()),
                passwords.len()
            ))
            .into());
        }
        let one = |n: u32| {
            let own = passwords.get(n as usize - 1);
            let password = own.filter(|_| passwords.len() > 1).or(passwords.first());
            Credentials::UserName {
                name: pattern.replace(NUMBER, &n.to_string()),
                // Of a file with nothing but empty lines no line is left: it says an empty one.
                password: password.cloned().unwrap_or_default(),
            }
        };
        Ok((1..=sessions).map(one).collect())
    }

    fn password(&self, name: &str) -> anyhow::Result<Zeroizing<String>> {
        match &self.given {
            Some(given) => Ok(given.clone()),
            None => password(self.password_file.as_deref(), name),
        }
    }
}

/// The password of a name: of a file, UAPERF_PASSWORD, or typed in.
pub fn password(file: Option<&Path>, name: &str) -> anyhow::Result<Zeroizing<String>> {
    if let Some(file) = file {
        return secret::first_line(file);
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

/// The process that serves this URL, if that is on this machine and this user may see it.
fn listener(url: &Url) -> Option<u32> {
    let found = || observe::listener(url.port()).ok();
    url.is_loopback().then(found).flatten()
}

/// The same of a server that is dialled: behind a proxy the loopback is that of another machine.
pub fn served_by(access: &Access) -> Option<u32> {
    let is_dialled = access.proxy.is_none();
    is_dialled.then(|| listener(&access.url)).flatten()
}

/// Stands for the number of a session in the name of its user.
const NUMBER: &str = "{n}";

/// The token in a file, without the ends of lines behind it.
fn token(file: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let read = std::fs::read(file)
        .map(Zeroizing::new)
        .with_context(|| format!("cannot read the token from {}", file.display()))?;
    match read.trim_ascii_end() {
        [] => Err(Failure::usage(format!(
            "--user-token {}: the file is empty",
            file.display()
        ))
        .into()),
        token => Ok(Zeroizing::new(token.to_vec())),
    }
}

fn file_name(file: Option<&Path>) -> String {
    file.map_or_else(String::new, |file| file.display().to_string())
}
