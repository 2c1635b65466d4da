//! Whose pages may ask over HTTPS.

use std::net::Ipv6Addr;

use toml::Spanned;

use super::error::{Complaint, Read};

/// Whose pages may ask: what browsers call an origin, or any.
pub fn origin(text: Spanned<String>) -> Read<String> {
    match is_origin(text.get_ref()) {
        true => Ok(text.into_inner()),
        false => {
            let what = format!(
                "{:?} is no origin as browsers send it (want \"https://HOST\" in small letters, with a port that is not the usual one perhaps, \
                 nothing behind it, or \"*\")",
                text.get_ref()
            );
            Err(Complaint::about(&text, what))
        }
    }
}

/// Whether browsers would send this as an origin (RFC 6454, 6.2; Fetch, 3.2), or it is `*`, which stands for any. They send small
/// letters, no port where it is the scheme's own, and nothing behind it.
pub fn is_origin(text: &str) -> bool {
    let schemes = [("https://", 443), ("http://", 80)];
    let mut found = schemes
        .into_iter()
        .filter_map(|(scheme, port)| Some((text.strip_prefix(scheme)?, port)));
    let Some((rest, usual)) = found.next() else {
        return text == "*";
    };
    let (is_host, port) = match rest.strip_prefix('[').map(|it| it.split_once(']')) {
        Some(Some((host, port))) => {
            let address = host.parse::<Ipv6Addr>();
            let written = address.is_ok_and(|it| it.to_string() == host);
            (written, port)
        }
        Some(None) => (false, ""),
        None => {
            let (host, port) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
            let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
            let is_name = host.chars().all(|it| is_plain(it) || "-._".contains(it));
            (is_name && host.starts_with(is_plain), port)
        }
    };
    let number = port.strip_prefix(':').and_then(|it| it.parse::<u16>().ok());
    let is_port = number.is_some_and(|it| it != 0 && it != usual && format!(":{it}") == port);
    is_host && (port.is_empty() || is_port)
}

#[cfg(test)]
mod tests {
    use super::is_origin;

    #[test]
    fn an_origin_is_what_browsers_send() {
        for text in [
            "*",
            "https://hmi.example",
            "http://localhost:8080",
            "https://10.0.0.1:80",
            "http://[::1]:8080",
            "https://xn--bcher-kva_2.example",
        ] {
            assert!(is_origin(text), "{text}");
        }
        for text in [
            "",
            "null",
            "hmi.example",
            "https://",
            "https://hmi.example/",
            "https://hmi.example/page",
            "https://HMI.example",
            "HTTPS://hmi.example",
            "ftp://hmi.example",
            "https://hmi.example:443",
            "http://hmi.example:80",
            "https://hmi.example:",
            "https://hmi.example:0",
            "https://hmi.example:08443",
            "https://hmi.example:+8443",
            "https://hmi.example:70000",
            "https://a:1:2",
            "https://user@hmi.example",
            "https://*.example",
            "https://[::1",
            "https://[0:0:0:0:0:0:0:1]",
            "https://[::1]8080",
            "https://.example",
            "https://a\r\nX-Y: z",
        ] {
            assert!(!is_origin(text), "{text}");
        }
    }
}
