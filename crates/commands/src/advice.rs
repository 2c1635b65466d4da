//! What to try when a server cannot be reached or turns us away.

use load::access::{Access, AccessError, Credentials, Security};
use load::transport::{CallError, LinkError, ProxyError, TransportStep};
use pki::StoreError;
use wire::channel::ChannelError;
use wire::session::client::SessionError;
use wire::types::StatusCode;
use wss::connect::ConnectError;
use wss::{HttpError, Rejected, TlsError, TunnelError};

use crate::failure::Failure;
use crate::settings;

/// What happened, where, and what to type next.
pub fn on(error: &AccessError, access: &Access) -> Failure {
    let url = &access.url;
    let failure = Failure::new(format!("{url}: {error}"));
    match hint(error, access) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What to type next, where that is known.
pub fn hint(error: &AccessError, access: &Access) -> Option<String> {
    Some(match error {
        AccessError::Untrusted {
            refusal,
            thumbprint,
            ..
        } => {
            let name = thumbprint.get(..8).unwrap_or(thumbprint);
            match refusal.reason {
                pki::Reason::Untrusted => format!(
                    "if it is the right one: uaperf cert trust {name}, or accept it this once with \
                     --trust"
                ),
                pki::Reason::Distrusted => {
                    "`uaperf cert reject` said so: `uaperf cert list` shows it, `uaperf cert trust` takes it back, \
                     --trust accepts it this once"
                        .into()
                }
                pki::Reason::RevocationUnknown | pki::Reason::IssuerRevocationUnknown => {
                    "let its authority be asked with --revocation cached, bring the authority's list with `uaperf cert trust \
                     FILE.crl`, or take it all the same with --revocation-fail soft"
                        .into()
                }
                _ => format!(
                    "see what is wrong with it: uaperf cert show {name}; leave checks out with \
                     --skip-check, or all of them this once with --trust"
                ),
            }
        }
        AccessError::Link(LinkError::NotCalled { others, .. }) => match others.is_empty() {
            true => "is the server told to dial this host and port? a plant is with `uaperf serve --reverse URL`".into(),
            false => "name the server by the URL that it says".into(),
        },
        AccessError::NotOffered(_) => {
            "choose one of these with --security POLICY:MODE, or --security best".into()
        }
        AccessError::User { .. } => {
            "give what the endpoint takes: --user NAME, --user-cert FILE --user-key FILE, --user-token FILE, or \
             none of them"
                .into()
        }
        AccessError::Session(SessionError::PlainSecret) => {
            "use an encrypted endpoint with --security best, or allow it with --plain-password"
                .into()
        }
        AccessError::Store(StoreError::File { .. }) => {
            "certificates are made at first use: let this user read and write there, or name another folder \
             with --pki"
                .into()
        }
        AccessError::Store(StoreError::Stopped { .. }) => {
            "those that are made stay; the same command makes the others".into()
        }
        AccessError::Link(error) => return link(error, access),
        AccessError::Call { step, error } => return call(*step, error, access),
        _ => return None,
    })
}

fn link(error: &LinkError, access: &Access) -> Option<String> {
    let port = access.url.port();
    Some(match error {
        LinkError::Lookup { host, .. } if settings::names(host) => {
            format!("the settings have a target of this name: write @{host}")
        }
        LinkError::Lookup { .. } => "check the spelling, or use the server's IP address".into(),
        LinkError::Refused(_) => format!(
            "nothing listens on port {port} there: is the server running, and is 4840 its port?"
        ),
        LinkError::Unreachable { .. } => {
            "check address, cable and firewall; a slow line may want --timeout 30s".into()
        }
        LinkError::Silent => {
            "another service may own the port, or the server is overloaded; try --timeout 30s"
                .into()
        }
        LinkError::OtherProtocol("HTTP") => {
            "that is a web server: OPC UA most often has port 4840".into()
        }
        LinkError::OtherProtocol(_) => "look for the OPC UA port in the server's manual".into(),
        LinkError::Tunnel(TunnelError::Tls(error)) => return tls(error, access),
        LinkError::NoJson => {
            "give the server's opc.https:// or opc.wss:// URL, or leave --encoding out".into()
        }
        LinkError::OnlyNone(_) => "leave --security out, or give the server's opc.tcp:// URL".into(),
        LinkError::Tunnel(TunnelError::Upgrade(_)) => {
            "is there a path in the URL of its opc.wss endpoint? `uaperf discover` shows its endpoints over opc.tcp"
                .into()
        }
        LinkError::Tunnel(TunnelError::Http(HttpError::Status { .. })) => {
            "is there a path in the URL of its opc.https endpoint? `uaperf discover` shows its endpoints over opc.tcp"
                .into()
        }
        LinkError::Proxy { error, .. } => {
            let between = access.proxy.as_ref();
            proxy(error, between.is_some_and(|it| it.has_login()))
        }
        LinkError::NotReverse(_) => "give the server's opc.tcp:// URL with --listen-reverse".into(),
        LinkError::ClosedAt(TransportStep::OpenChannel) => distrusted(access),
        LinkError::Channel(ChannelError::Peer(message)) => return status(message.status, access),
        LinkError::Channel(error) => return status(error.status(), access),
        _ => return None,
    })
}

/// What to do about a proxy that makes no tunnel; it was told who asks, or was not.
pub fn proxy(error: &ProxyError, has_login: bool) -> String {
    let text = match error {
        ProxyError::Answer(ConnectError::Login { schemes })
            if !schemes.iter().any(|it| it.eq_ignore_ascii_case("basic")) =>
        {
            "uaperf logs in by Basic only: let this host through without a login, or name another proxy with --proxy"
        }
        ProxyError::Answer(ConnectError::Login { .. }) if has_login => {
            "the proxy did not take the login: check its user, and the password in UAPERF_PROXY_PASSWORD or \
             --proxy-password-file"
        }
        ProxyError::Answer(ConnectError::Login { .. }) => {
            "say who asks: --proxy http://USER@HOST:PORT, with the password in UAPERF_PROXY_PASSWORD or \
             --proxy-password-file FILE"
        }
        ProxyError::Answer(ConnectError::Refused {
            status: 502..=504, ..
        }) => {
            "the proxy reaches no server there: it looks the host of the URL up, and dials its port"
        }
        ProxyError::Answer(ConnectError::Refused { .. }) => {
            "the proxy decides who may reach which host and port: many let through to port 443 only"
        }
        ProxyError::Answer(_) => "is that the port of a proxy that speaks HTTP without TLS?",
        _ => "check host and port of --proxy; is the proxy running, and may this host reach it?",
    };
    text.to_owned()
}

/// Certificates of TLS are trusted as those of channels are.
fn tls(error: &TlsError, access: &Access) -> Option<String> {
    match error {
        TlsError::Rejected(rejected) => Some(rejection(rejected)),
        TlsError::Rustls(_) => {
            let (port, scheme) = (access.url.port(), access.url.transport().scheme());
            Some(format!(
                "is port {port} its port for {scheme}? opc.tcp:// goes to another one"
            ))
        }
        _ => None,
    }
}

/// What to do with a certificate that was refused.
pub fn rejection(it: &Rejected) -> String {
    let Some(name) = it.thumbprint.as_deref().map(|it| it.get(..8).unwrap_or(it)) else {
        return "it sent something else than a certificate; accept it this once with --trust"
            .to_owned();
    };
    format!(
        "see it with `uaperf cert show {name}`; if it is the right one: uaperf cert trust {name}, or accept it this once \
         with --trust"
    )
}

/// A bare BadSecurityChecksFailed or a closed socket most often means one thing.
pub fn distrusted(access: &Access) -> String {
    if let Some(each) = &access.each {
        let folder = load::access::ClientIdentities::folder(&access.store);
        return format!(
            "most often the server does not trust all clients yet: each of the {} has a certificate in {folder}; \
             copy them to the trusted ones on the server, or if that is uaperf's: uaperf cert trust --pki \
             ITS-FOLDER {folder}/*.der",
            each.clients().len(),
            folder = folder.display(),
        );
    }
    let own = access.store.certificates(pki::store::Place::Own);
    let other_keys = match access.security {
        Security::Exactly(it) if it.policy.is_authenticated() => {
            "; or it derives other keys, as open62541 does with ECC_curve25519: use another --security"
        }
        _ => "",
    };
    format!(
        "most often the server does not trust our certificate yet: move it to the trusted ones on \
         the server (many list it under \"rejected\"), or give the server the file in {}{other_keys}",
        own.display()
    )
}

fn call(step: TransportStep, error: &CallError, access: &Access) -> Option<String> {
    match error {
        CallError::Link(LinkError::ClosedAt(_)) if step != TransportStep::FirstRead => {
            Some(distrusted(access))
        }
        CallError::Link(error) => link(error, access),
        error => status(error.status(), access),
    }
}

/// Whether this most often means that the server does not trust a certificate.
pub fn is_distrust(status: StatusCode) -> bool {
    [
        StatusCode::BadSecurityChecksFailed,
        StatusCode::BadCertificateUntrusted,
        StatusCode::BadCertificateInvalid,
        StatusCode::BadCertificateUriInvalid,
    ]
    .iter()
    .any(|code| code.sub_code() == status.sub_code())
}

fn status(status: StatusCode, access: &Access) -> Option<String> {
    let is = |codes: &[StatusCode]| {
        codes
            .iter()
            .any(|code| code.sub_code() == status.sub_code())
    };
    if is_distrust(status) {
        return Some(distrusted(access));
    }
    if is(&[
        StatusCode::BadUserAccessDenied,
        StatusCode::BadIdentityTokenRejected,
        StatusCode::BadIdentityTokenInvalid,
    ]) {
        if let Credentials::X509 { .. } = access.user {
            return Some(
                "the server does not let the owner of --user-cert in: it has to trust that certificate (a plant's: \
                 uaperf --pki FOLDER cert trust FILE, with the FOLDER of its user_certificates or --user-pki)"
                    .into(),
            );
        }
        if let Credentials::Issued { .. } = access.user {
            return Some(
                "the server does not take the token of --user-token: it may have expired, or be made for another \
                 server"
                    .into(),
            );
        }
        let who = access.user_name();
        return Some(format!(
            "the server does not let {who} in: check the name and the password (--user NAME, \
             UAPERF_PASSWORD), and what `uaperf probe` lists as its users"
        ));
    }
    if is(&[StatusCode::BadTooManySessions]) {
        return Some("close other clients, or wait until their sessions have timed out".into());
    }
    if is(&[
        StatusCode::BadTcpEndpointUrlInvalid,
        StatusCode::BadTcpServerTooBusy,
    ]) {
        return Some("the server knows no endpoint of this name: check the path of the URL".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_cannot_be_read_is_none_to_be_looked_at() {
        let rejected = |thumbprint: Option<&str>| Rejected {
            status: 0,
            reason: String::new(),
            thumbprint: thumbprint.map(str::to_owned),
        };
        let known = rejection(&rejected(Some("0123456789")));
        assert!(known.contains("`uaperf cert show 01234567`"), "{known}");
        let unknown = rejection(&rejected(None));
        assert!(!unknown.contains("uaperf cert"), "{unknown}");
    }
}
