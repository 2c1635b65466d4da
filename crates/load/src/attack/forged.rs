//! Certificates that no server should accept, each in a way of its own.

use pki::make::{Authority, MakeError, Request};
use pki::{Identity, Key, Usage};
use wire::policy::Policy;

use crate::access::{Access, key_kind};

/// The application that they are of; nobody trusts it.
pub const URI: &str = "urn:uaperf:unknown";
/// As many as are sent at most, the application's own among them.
const LONGEST: usize = 10;
/// Names in each certificate of a long chain: they make it long in bytes as well.
const NAMES: usize = 60;

/// How each is wrong, and what is shown.
pub fn all(access: &Access, policy: Policy) -> Result<Vec<(&'static str, Identity)>, MakeError> {
    let today = access.today();
    let key = Key::make(key_kind(policy))?;
    let request = || Request::application(URI).host("localhost");
    let alone = |request: Request| {
        let made = request.self_signed(&key, today)?;
        Ok::<_, MakeError>(Identity::new(made, key.clone()))
    };
    let expired = request().from(today.plus_days(-60)).days(30);
    // A key that may sign lists of what was revoked, and nothing that a channel needs.
    let misused = request().usage(Usage::CRL_SIGN);
    Ok(vec![
        ("self-made", alone(request())?),
        ("expired", alone(expired)?),
        ("wrong key use", alone(misused)?),
        ("long chain", long_chain(access, &key, request())?),
    ])
}

/// As many authorities one below the other as are sent at most, each with long texts.
fn long_chain(access: &Access, key: &Key, request: Request) -> Result<Identity, MakeError> {
    let today = access.today();
    let named = |name: String| {
        (0..NAMES).fold(Request::authority(name), |request, n| {
            request.dns(format!("host-{n:02}.chain.example"))
        })
    };
    let mut authority = Authority::root(named("unknown root".into()), key.clone(), today)?;
    let mut above = Vec::new();
    for n in 1..LONGEST {
        authority = authority.authority(named(format!("unknown {n}")), key.clone(), today)?;
        above.insert(0, authority.certificate().clone());
    }
    let certificate = authority.sign(&request, key, today)?;
    Ok(Identity {
        above,
        ..Identity::new(certificate, key.clone())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_is_wrong_in_the_way_that_its_name_says() {
        let url = "opc.tcp://localhost:4840".parse().unwrap();
        let store = pki::Store::new(std::env::temp_dir());
        let access = Access::new(url, store, Request::application("urn:test"));
        let all = all(&access, Policy::Basic256Sha256).unwrap();
        let named = |name: &str| &all.iter().find(|it| it.0 == name).unwrap().1;
        let today = access.today();
        let problems = |name: &str| named(name).certificate.problems(today).join("; ");
        assert_eq!(problems("self-made"), "");
        assert!(
            problems("expired").contains("expired"),
            "{}",
            problems("expired")
        );
        let usage = named("wrong key use").certificate.usage();
        assert!(usage.is_some_and(|it| !it.allows_any(Usage::DIGITAL_SIGNATURE)));
        let chain = named("long chain").sent();
        assert_eq!(
            pki::Certificate::chain_from_der(&chain).unwrap().len(),
            LONGEST
        );
        // Of one chunk: what any server takes has 65,535 bytes at most.
        assert!((16_000..60_000).contains(&chain.len()), "{}", chain.len());
        for (name, identity) in &all {
            assert!(crate::access::identity(identity).is_ok(), "{name}");
        }
    }
}
