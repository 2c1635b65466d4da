//! `--proxy`: a proxy of HTTP that makes a tunnel to each server.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use load::transport::Proxy;
use wire::url::Url;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::secret;

/// Whether servers are reached through a proxy.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "proxies")]
pub struct Args {
    /// Reach servers in a tunnel that this proxy makes (CONNECT); env: the one of HTTPS_PROXY, unless
    /// NO_PROXY names the host
    #[arg(
        long,
        value_name = "http://[USER@]HOST:PORT|env",
        help_heading = "Proxy"
    )]
    proxy: Option<ProxyChoice>,
    /// File with the password of the USER of --proxy in its first line; without it that is in UAPERF_PROXY_PASSWORD, or
    /// asked for
    #[arg(long, value_name = "FILE", help_heading = "Proxy", requires = "proxy")]
    proxy_password_file: Option<PathBuf>,
}

/// Which proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyChoice {
    /// The one that the environment names.
    Env,
    /// This one.
    At(Place),
}

/// Where a proxy is, and who logs in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    host: String,
    port: u16,
    user: Option<String>,
    /// In a variable only.
    password: Option<Zeroizing<String>>,
}

const WANT: &str = "want http://HOST:PORT or http://USER@HOST:PORT";

impl FromStr for ProxyChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "env" {
            return Ok(Self::Env);
        }
        let place = Place::read(text).map_err(|why| format!("{why} ({WANT}, or env)"))?;
        match place.password {
            None => Ok(Self::At(place)),
            Some(_) => Err(format!(
                "a password has no place on a command line ({WANT}, the password in UAPERF_PROXY_PASSWORD or \
                 --proxy-password-file)"
            )),
        }
    }
}

impl Place {
    /// `http://USER:PASSWORD@HOST:PORT`, of which user and password may be left out. What is wrong is said without them.
    fn read(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) => return Err(format!("a proxy of {scheme} is not spoken to")),
            None => return Err("no URL of a proxy".to_owned()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let (host, port) = place
            .rsplit_once(':')
            .ok_or("a proxy has no port of its own")?;
        let bare = match host.strip_prefix('[') {
            Some(host) => host.strip_suffix(']').ok_or("no host")?,
            None if host.contains(':') => return Err("no host".to_owned()),
            None => host,
        };
        let sound = |c: char| !c.is_whitespace() && !c.is_control() && !"/?#@[]".contains(c);
        if bare.is_empty() || !bare.chars().all(sound) {
            return Err("no host".to_owned());
        }
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or("no port (1 to 65535)")?;
        let (user, password) = match login.map(|it| it.split_once(':').ok_or(it)) {
            None => (None, None),
            Some(Err(user)) => (Some(decoded(user)?), None),
            Some(Ok((user, password))) => (
                Some(decoded(user)?),
                Some(Zeroizing::new(decoded(password)?)),
            ),
        };
        // RFC 7617, 2: the first colon ends it.
        if user
            .as_deref()
            .is_some_and(|it| it.is_empty() || it.contains(':'))
        {
            return Err("no user".to_owned());
        }
        Ok(Self {
            host: bare.to_owned(),
            port,
            user,
            password,
        })
    }
}

/// What a part of a URL stands for (RFC 3986, 2.1).
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || "a % that stands for no character".to_owned();
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let (digits, behind) = behind.split_at_checked(2).ok_or_else(wrong)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = behind;
    }
    bytes.extend_from_slice(rest.as_bytes());
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    match text.chars().any(char::is_control) {
        true => Err(wrong()),
        false => Ok(text),
    }
}

impl Args {
    /// Whether there may be one between.
    pub fn is_asked(&self) -> bool {
        self.proxy.is_some()
    }

    /// The proxy to this server, if there is one between.
    pub fn to(&self, url: &Url) -> anyhow::Result<Option<Arc<Proxy>>> {
        let place = match &self.proxy {
            None => return Ok(None),
            Some(ProxyChoice::At(place)) => place.clone(),
            Some(ProxyChoice::Env) => match of_environment(url, variable)? {
                Some(place) => place,
                None => return Ok(None),
            },
        };
        let login = match (place.user, place.password) {
            (None, _) => None,
            (Some(user), Some(password)) => Some((user, password)),
            (Some(user), None) => {
                let password = self.password(&user)?;
                Some((user, password))
            }
        };
        Ok(Some(Arc::new(Proxy::new(place.host, place.port, login))))
    }

    fn password(&self, user: &str) -> anyhow::Result<Zeroizing<String>> {
        if let Some(file) = &self.proxy_password_file {
            return secret::first_line(file);
        }
        if let Ok(password) = std::env::var("UAPERF_PROXY_PASSWORD") {
            return Ok(Zeroizing::new(password));
        }
        let asked = rpassword::prompt_password(format!("Password of {user} at the proxy: "));
        asked.map(Zeroizing::new).map_err(|error| {
            Failure::usage(format!("no password for {user} at the proxy: {error}"))
                .hint("give it in UAPERF_PROXY_PASSWORD or with --proxy-password-file FILE")
                .into()
        })
    }
}

/// Where a word of a command line, `--proxy=…`, has connections go, if it is to one place.
pub fn place_of(word: &str) -> Option<Result<(String, u16), String>> {
    let asked = word.strip_prefix("--proxy=")?.parse();
    match asked {
        Ok(ProxyChoice::Env) => None,
        Ok(ProxyChoice::At(place)) => Some(Ok((place.host, place.port))),
        Err(why) => Some(Err(why)),
    }
}

/// A variable of the environment, in capitals or not.
fn variable(name: &str) -> Option<String> {
    let read = |name: &str| std::env::var(name).ok();
    let value = read(&name.to_lowercase()).or_else(|| read(name))?;
    Some(value).filter(|it| !it.is_empty())
}

/// The proxy that the environment names for this server.
fn of_environment(
    url: &Url,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Place>, Failure> {
    let Some(proxy) = variable("HTTPS_PROXY") else {
        return Ok(None);
    };
    let none = variable("NO_PROXY").unwrap_or_default();
    let parts = none.split([',', ' ']).map(str::trim);
    if parts
        .filter(|it| !it.is_empty())
        .any(|it| is_left_out(url, it))
    {
        return Ok(None);
    }
    let place = Place::read(&proxy);
    place
        .map(Some)
        .map_err(|why| Failure::usage(format!("--proxy env: HTTPS_PROXY: {why} ({WANT})")))
}

/// Whether a part of NO_PROXY is about this server: a host and those below it, an address, a network, or all of them;
/// with a port or without.
fn is_left_out(url: &Url, part: &str) -> bool {
    let host = url.host();
    if part == "*" {
        return true;
    }
    if let Some((network, bits)) = part.split_once('/') {
        let (Ok(network), Ok(address), Ok(bits)) = (network.parse(), host.parse(), bits.parse())
        else {
            return false;
        };
        return is_within(address, network, bits);
    }
    let bare = part.trim_matches(['[', ']']);
    if let (Ok(one), Ok(other)) = (host.parse::<IpAddr>(), bare.parse::<IpAddr>()) {
        return one == other;
    }
    let name = match part.rsplit_once(':') {
        Some((name, port)) if port.parse() == Ok(url.port()) => name,
        Some(_) => return false,
        None => part,
    };
    let name = name.trim_matches(['[', ']']).to_ascii_lowercase();
    let name = name.trim_start_matches("*.").trim_start_matches('.');
    let host = host.to_ascii_lowercase();
    match host.strip_suffix(name) {
        Some(before) => !name.is_empty() && (before.is_empty() || before.ends_with('.')),
        None => false,
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (address, network, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => (u128::from(a.to_bits()), u128::from(n.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(n)) => (a.to_bits(), n.to_bits(), 128),
        _ => return false,
    };
    let Some(behind) = u32::checked_sub(width, bits) else {
        return false;
    };
    // A network of no bits is all there is.
    (address ^ network).checked_shr(behind).unwrap_or_default() == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_url_without_a_password() {
        let at = |text: &str| match text.parse() {
            Ok(ProxyChoice::At(place)) => (place.host, place.port, place.user),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(at("http://proxy:3128"), ("proxy".into(), 3128, None));
        let user = Some("al@ice".to_owned());
        assert_eq!(at("HTTP://al%40ice@[::1]:80/"), ("::1".into(), 80, user));
        assert_eq!("env".parse(), Ok(ProxyChoice::Env));
        for wrong in [
            "proxy:3128",
            "https://proxy:3128",
            "socks5://proxy:1080",
            "http://proxy",
            "http://:3128",
            "http://proxy:0",
            "http://proxy:3128/path",
            "http://::1:3128",
            "http://@proxy:3128",
            "http://a%3Ab@proxy:3128",
            "http://a%0a@proxy:3128",
            "http://a%4@proxy:3128",
            "",
        ] {
            assert!(wrong.parse::<ProxyChoice>().is_err(), "{wrong}");
        }
        let told = "http://me:s3cret@proxy:3128"
            .parse::<ProxyChoice>()
            .unwrap_err();
        assert!(told.contains("UAPERF_PROXY_PASSWORD") && !told.contains("s3cret"));
    }

    #[test]
    fn the_environment_names_a_proxy_and_whom_it_is_not_for() {
        let found = |url: &str, none: &str| {
            let read = |name: &str| match name {
                "HTTPS_PROXY" => Some("http://me:my%20word@proxy:3128".to_owned()),
                _ => Some(none.to_owned()),
            };
            of_environment(&url.parse().unwrap(), read).unwrap()
        };
        let place = found("opc.wss://plc1.example:4843", "").unwrap();
        assert_eq!(place.password.unwrap().as_str(), "my word");
        for (url, none) in [
            ("opc.wss://plc1.example:4843", "*"),
            ("opc.wss://plc1.example:4843", "other, PLC1.example"),
            ("opc.wss://plc1.example:4843", ".example"),
            ("opc.wss://plc1.example:4843", "*.example:4843"),
            ("opc.https://10.1.2.3", "10.0.0.0/8"),
            ("opc.https://10.1.2.3", "10.1.2.3"),
            ("opc.https://[::1]:8443", "[::1]"),
            ("opc.https://[fd00::7]", "fd00::/8"),
            ("opc.https://[fd00::7]", "::/0"),
        ] {
            assert_eq!(found(url, none), None, "{url} {none}");
        }
        for (url, none) in [
            (
                "opc.wss://plc1.example:4843",
                "xample,lc1.example,plc1.example:443",
            ),
            ("opc.wss://plc1.example:4843", "plc1.example.org, ., :, /"),
            (
                "opc.https://11.1.2.3",
                "10.0.0.0/8,10.1.2.3,::/0,0.0.0.0/33",
            ),
        ] {
            assert!(found(url, none).is_some(), "{url} {none}");
        }
        let nothing = |_: &str| None;
        let url = "opc.https://plc1".parse().unwrap();
        assert_eq!(of_environment(&url, nothing).unwrap(), None);
        let wrong = |_: &str| Some("socks5://me:s3cret@proxy".to_owned());
        let told = of_environment(&url, |name| match name {
            "HTTPS_PROXY" => wrong(name),
            _ => None,
        });
        let told = told.unwrap_err().to_string();
        assert!(
            told.contains("HTTPS_PROXY") && !told.contains("s3cret"),
            "{told}"
        );
    }
}
