//! The keys of a security group: of a file, or of a key service.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use load::access::{Access, Credentials, Security};
use load::pubsub::{KeyServer, KeyServiceError, KeySupply, KeyUse, RawKey, SecurityKeys};
use pubsub::security::{GroupKeys, PubSubPolicy, token_after};
use wire::types::StatusCode;
use wire::url::Url;
use zeroize::Zeroizing;

use crate::access::{self, Trusting};
use crate::failure::Failure;
use crate::global::Global;
use crate::{advice, pcap, place};

use super::broker::Secret;

/// Keys by their tokens, in the order in which they are used.
pub type Keys = Vec<(u32, GroupKeys)>;

/// What is in a file of keys.
pub fn text(file: &Path) -> Result<Zeroizing<String>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    Ok(Zeroizing::new(text))
}

/// A key that nobody had before, as a file has it.
pub fn made(policy: PubSubPolicy) -> Zeroizing<String> {
    let key = RawKey::made(policy, load::transport::random());
    line(policy, 1, &key)
}

/// A line of such a file.
pub fn line(policy: PubSubPolicy, token: u32, key: &[u8]) -> Zeroizing<String> {
    let mut line = Zeroizing::new(String::with_capacity(40 + 2 * key.len()));
    // Writing into a String does not fail.
    let _ = write!(line, "{} {token} ", policy.name());
    for byte in key {
        let _ = write!(line, "{byte:02x}");
    }
    line.push('\n');
    line
}

/// What a key service told, as a file.
pub fn lines(told: &SecurityKeys) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::new());
    for (n, key) in told.keys.iter().enumerate() {
        let token = token_after(told.first, n as u64);
        text.push_str(&line(told.policy, token, key));
    }
    text
}

/// Where keys come from.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// A file.
    File(PathBuf),
    /// A key service.
    Service(Url),
}

impl FromStr for KeySource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.contains("://") {
            true => text
                .parse()
                .map(Self::Service)
                .map_err(|error| format!("{error}; want a file, or opc.tcp://HOST:PORT")),
            false => Ok(Self::File(text.into())),
        }
    }
}

/// Keys of a key service.
#[derive(Debug, clap::Args)]
#[group(id = "key-service")]
pub struct Args {
    /// The SecurityGroup whose keys are asked for, where --keys is a key service
    #[arg(long, value_name = "NAME", requires = "keys")]
    security_group: Option<String>,
    /// Log in at the key service with this name, or at the server that says what it publishes; the password comes from
    /// UAPERF_PASSWORD, --service-password-file or a prompt
    #[arg(long, value_name = "NAME")]
    service_user: Option<String>,
    /// File with the password of --service-user in its first line
    #[arg(long, value_name = "FILE", requires = "service_user")]
    service_password_file: Option<PathBuf>,
}

impl Args {
    /// Asks a key service from now on, logged in with this secret. Its certificate has to be a trusted one, as others
    /// have.
    pub fn supply(
        &self,
        url: &Url,
        secret: &Secret,
        trusting: &Trusting,
        for_listener: bool,
        global: &Global,
    ) -> anyhow::Result<KeySupply> {
        let group = self.group(url)?;
        self.supply_of(group, url, secret, trusting, for_listener, global)
    }

    fn group(&self, url: &Url) -> Result<&str, Failure> {
        self.security_group.as_deref().ok_or_else(|| {
            Failure::usage(format!("--keys {url}: --security-group is missing"))
                .hint("add --security-group NAME")
        })
    }

    /// What a plan says of the key service, if keys come of one.
    pub fn plan(&self, keys: Option<&KeySource>) -> Result<Option<plan::KeyService>, Failure> {
        let Some(KeySource::Service(url)) = keys else {
            return Ok(None);
        };
        Ok(Some(plan::KeyService {
            url: url.to_string(),
            group: self.group(url)?.to_owned(),
            user: self.service_user.clone(),
        }))
    }

    /// The secret of who logs in.
    pub fn secret(&self) -> anyhow::Result<Secret> {
        let ask = |name: &String| access::password(self.service_password_file.as_deref(), name);
        self.service_user.as_ref().map(ask).transpose()
    }

    /// The options for another process, which is told the secret otherwise.
    pub fn words(&self, keys: Option<&KeySource>) -> Vec<String> {
        let Some(KeySource::Service(url)) = keys else {
            return Vec::new();
        };
        let mut words = vec![format!("--keys={url}")];
        let named = [
            ("--security-group", &self.security_group),
            ("--service-user", &self.service_user),
        ];
        for (name, value) in named {
            words.extend(value.iter().map(|it| format!("{name}={it}")));
        }
        words
    }

    /// Whether somebody logs in.
    pub fn has_user(&self) -> bool {
        self.service_user.is_some()
    }

    /// The way to a server, over the best that it offers, logged in with this secret.
    pub fn access(
        &self,
        url: &Url,
        secret: &Secret,
        trusting: &Trusting,
        global: &Global,
    ) -> anyhow::Result<Access> {
        let user = match self.service_user.as_ref().zip(secret.as_ref()) {
            None => Credentials::Anonymous,
            Some((name, password)) => Credentials::UserName {
                name: name.clone(),
                password: password.clone(),
            },
        };
        let trusted = trusting.resolve(global)?;
        Ok(Access {
            security: Security::Best,
            trust: trusted.rule,
            checks: trusted.checks,
            revocation: trusted.revocation,
            asker: trusted.asker,
            user,
            recorder: pcap::recorder(),
            ..Access::new(url.clone(), trusted.store, place::own_request())
        })
    }

    /// Asks a key service for the keys of this group from now on, logged in with this secret.
    pub fn supply_of(
        &self,
        group: &str,
        url: &Url,
        secret: &Secret,
        trusting: &Trusting,
        for_listener: bool,
        global: &Global,
    ) -> anyhow::Result<KeySupply> {
        let access = self.access(url, secret, trusting, global)?;
        let mut server = KeyServer::new(access, group);
        if let Err(error) = server.get(0, 1) {
            return Err(failed(&error, server.access(), group).into());
        }
        KeySupply::start(Box::new(server), for_listener)
            .map_err(|why| Failure::new(format!("{url}: {why}")).into())
    }
}

/// Why a key service gave no keys, or took none, with what to try.
pub fn failed(error: &KeyServiceError, access: &Access, group: &str) -> Failure {
    if let KeyServiceError::Access(error) = error {
        return advice::on(error, access);
    }
    let failure = Failure::new(format!("{}, group {group:?}: {error}", access.url));
    match error {
        KeyServiceError::NotEncrypted(_) => {
            failure.hint("the server has to offer an endpoint with SignAndEncrypt")
        }
        KeyServiceError::Refused { status, .. } => match *status {
            StatusCode::BadNotFound => {
                failure.hint("does the server have a SecurityGroup with this id?")
            }
            StatusCode::BadUserAccessDenied => {
                failure.hint("log in as a user who may have the keys of this group")
            }
            StatusCode::BadNodeIdUnknown
            | StatusCode::BadMethodInvalid
            | StatusCode::BadNotImplemented
            | StatusCode::BadNotExecutable => failure.hint("is this server a key service?"),
            _ => failure,
        },
        _ => failure,
    }
}

/// Which keys there were, and how the key service was asked.
pub fn write(out: &mut String, it: &KeyUse) -> std::fmt::Result {
    if let (Some(first), Some(last)) = (it.tokens.first(), it.tokens.last()) {
        write!(out, "  keys: ")?;
        match it.tokens.len() {
            1 => write!(out, "token {}", first.token)?,
            n => write!(out, "{n} tokens, {} to {}", first.token, last.token)?,
        }
    } else {
        write!(out, "  keys: none used")?;
    }
    if it.asked > 0 {
        write!(out, "; the key service answered {} times", it.asked)?;
    }
    if let Some(why) = &it.last_error {
        write!(out, ", {} requests failed: {why}", it.failed)?;
    }
    writeln!(out)
}

/// Reads a file: a line `POLICY TOKEN HEX` for each key; `#` begins a comment. Keys never appear in messages.
pub fn read(file: &Path) -> Result<Keys, Failure> {
    parse(&text(file)?, file)
}

/// The same of what is in it.
pub fn parse(text: &str, file: &Path) -> Result<Keys, Failure> {
    let all = parse_raw(text, file)?;
    let prepared = all.iter().map(|(policy, token, key)| {
        let key = GroupKeys::new(*policy, key);
        let wrong = |it| Failure::usage(format!("{}: {it}", file.display()));
        Ok((*token, key.map_err(wrong)?))
    });
    prepared.collect()
}

/// Its lines, with keys as they are handed out.
pub fn parse_raw(text: &str, file: &Path) -> Result<Vec<(PubSubPolicy, u32, RawKey)>, Failure> {
    let mut keys = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let wrong = |what: String| {
            let place = format!("{}, line {}", file.display(), n + 1);
            Failure::usage(format!("{place}: {what}"))
                .hint("a line is POLICY TOKEN HEX, as in: PubSub-Aes256-CTR 1 0a0b0c…")
        };
        let [policy, token, hex] = words.as_slice() else {
            return Err(wrong(format!("{} words, want 3", words.len())));
        };
        let policy: PubSubPolicy = policy.parse().map_err(|it| wrong(format!("{it}")))?;
        let token: u32 = token
            .parse()
            .map_err(|_| wrong(format!("token {token:?} is no number")))?;
        let key = bytes(hex).ok_or_else(|| wrong("the key is not in hexadecimal digits".into()))?;
        // Whether it is long enough is known only once it is prepared.
        GroupKeys::new(policy, &key).map_err(|it| wrong(it.to_string()))?;
        keys.push((policy, token, key));
    }
    match keys.is_empty() {
        true => Err(Failure::usage(format!("{}: no keys in it", file.display()))
            .hint("a line is POLICY TOKEN HEX, as in: PubSub-Aes256-CTR 1 0a0b0c…")),
        false => Ok(keys),
    }
}

fn bytes(hex: &str) -> Option<RawKey> {
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let digit = |it: u8| char::from(it).to_digit(16);
    let byte = |[a, b]: &[u8; 2]| u8::try_from(digit(*a)? * 16 + digit(*b)?).ok();
    pairs
        .iter()
        .map(byte)
        .collect::<Option<Vec<u8>>>()
        .map(RawKey::new)
}
