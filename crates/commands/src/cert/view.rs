//! A certificate as text for people and as JSON for machines.

use std::io::{self, Write};

use pki::{Certificate, Moment};
use serde_json::{Value, json};

use super::FoundCertificate;

/// The days until it expires, in words.
pub fn remaining(certificate: &Certificate, now: Moment) -> String {
    let days = certificate.not_after().days_since(now);
    if now < certificate.not_before() {
        "not valid yet".into()
    } else if now > certificate.not_after() {
        format!(
            "expired {} days ago",
            now.days_since(certificate.not_after())
        )
    } else {
        format!("{days} days left")
    }
}

/// The DNS names and addresses it is for.
fn hosts(certificate: &Certificate) -> Vec<String> {
    let names = certificate.dns_names().iter().cloned();
    let addresses = certificate.ip_addresses().iter().map(ToString::to_string);
    names.chain(addresses).collect()
}

fn issuer(certificate: &Certificate) -> String {
    if certificate.is_self_signed() {
        "itself".into()
    } else {
        certificate.issuer().to_string()
    }
}

/// Writes all there is to know, a line for each.
pub fn write_text(out: &mut impl Write, found: &FoundCertificate, now: Moment) -> io::Result<()> {
    let certificate = &found.certificate;
    let or_none = |text: String| if text.is_empty() { "none".into() } else { text };
    let mut line = |name: &str, text: &str| writeln!(out, "  {name:<12} {text}");
    line("Subject", &certificate.subject().to_string())?;
    line("Issuer", &issuer(certificate))?;
    if certificate.is_authority() {
        let below = certificate.path_length();
        let below = below.map_or(String::new(), |n| format!(", at most {n} below it"));
        line("Authority", &format!("yes{below}"))?;
    } else {
        let uri = certificate.application_uri().unwrap_or_default();
        line("Application", &or_none(uri.to_owned()))?;
        line("Hosts", &or_none(hosts(certificate).join(", ")))?;
    }
    line(
        "Valid",
        &format!(
            "{} to {} ({})",
            certificate.not_before(),
            certificate.not_after(),
            remaining(certificate, now)
        ),
    )?;
    let algorithm = certificate.signature_algorithm();
    let algorithm = algorithm.map_or("an unknown algorithm".into(), |known| known.to_string());
    let key = certificate.public_key();
    line("Key", &format!("{key}, signed as {algorithm}"))?;
    if let Some(curve) = key.curve().filter(|_| !certificate.is_authority()) {
        line("For", &format!("ECC_{}", curve.policy_name()))?;
    }
    let usage = certificate.usage().map(|usage| usage.to_string());
    let extended = certificate.extended_usage().map(|usage| usage.to_string());
    let usages: Vec<_> = usage.into_iter().chain(extended).collect();
    line("Usage", &or_none(usages.join("; ")))?;
    line("Thumbprint", &certificate.thumbprint_hex())?;
    if let Some(file) = &found.file {
        let place = found
            .place
            .map_or(String::new(), |place| format!(" ({place})"));
        line("File", &format!("{file}{place}"))?;
    }
    let problems = certificate.problems(now);
    if problems.is_empty() {
        line("Problems", "none")?;
    }
    for (index, problem) in problems.iter().enumerate() {
        line(if index == 0 { "Problems" } else { "" }, problem)?;
    }
    Ok(())
}

/// The same for machines.
pub fn to_json(found: &FoundCertificate, now: Moment) -> Value {
    let certificate = &found.certificate;
    let addresses = certificate.ip_addresses().iter();
    json!({
        "thumbprint": certificate.thumbprint_hex(),
        "place": found.place.map(|place| place.to_string()),
        "file": found.file,
        "subject": certificate.subject().to_string(),
        "issuer": certificate.issuer().to_string(),
        "self_signed": certificate.is_self_signed(),
        "authority": certificate.is_authority(),
        "path_length": certificate.path_length(),
        "application_uri": certificate.application_uri(),
        "dns_names": certificate.dns_names(),
        "ip_addresses": addresses.map(ToString::to_string).collect::<Vec<_>>(),
        "not_before": certificate.not_before().to_string(),
        "not_after": certificate.not_after().to_string(),
        "remaining_days": certificate.not_after().days_since(now),
        "key": certificate.public_key().to_string(),
        "signature_algorithm": certificate.signature_algorithm().map(|known| known.to_string()),
        "usage": certificate.usage().map(|usage| usage.to_string()),
        "extended_usage": certificate.extended_usage().map(|usage| usage.to_string()),
        "problems": certificate.problems(now),
    })
}
