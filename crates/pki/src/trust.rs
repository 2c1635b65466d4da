//! What an administrator trusts, and the judgement over what a peer sent
//! (Part 4, 6.1.3).

use crate::certificate::Certificate;
use crate::chain::{self, Path};
use crate::checks::Checks;
use crate::crl::RevocationList;
use crate::moment::Moment;
use crate::policy::KeyRule;
use crate::refusal::{Reason, Refusal};
use crate::revocation::{Fail, Findings, Known, Lookup, Question, Revocation};
use crate::usage::Usage;

/// The two lists of Part 4, 6.1.3, the revocation lists of both, and whom the administrator distrusts.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Applications and authorities that are trusted.
    pub trusted: Vec<Certificate>,
    /// Authorities that complete chains and are not trusted for it.
    pub issuers: Vec<Certificate>,
    /// Refused wherever they stand in a chain, whatever the other lists say.
    pub distrusted: Vec<Certificate>,
    /// What the authorities of both took back.
    pub revocations: Vec<RevocationList>,
}

/// In which part the owner of the certificate appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// A server, judged by a client.
    #[default]
    Server,
    /// A client, judged by a server.
    Client,
    /// A user with an X.509 identity token: no host, no application URI.
    User,
}

/// What is expected of the peer.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Its part.
    pub role: Role,
    /// The time.
    pub now: Moment,
    /// The host that was connected to, for servers.
    pub host: Option<&'a str>,
    /// The application URI of its ApplicationDescription.
    pub application_uri: Option<&'a str>,
    /// What the security policy asks for.
    pub keys: Option<KeyRule>,
    /// The checks that are to be made.
    pub checks: Checks,
    /// Where it is looked up whether it was revoked.
    pub revocation: Revocation,
}

impl Expected<'_> {
    /// Nothing but the part and the time; every check that these allow.
    pub fn of(role: Role, now: Moment) -> Self {
        Self {
            role,
            now,
            host: None,
            application_uri: None,
            keys: None,
            checks: Checks::ALL,
            revocation: Revocation::default(),
        }
    }
}

/// Why there is no verdict for a certificate to pass.
#[derive(Debug)]
pub(crate) enum Stop {
    Refused(Refusal),
    Ask(Vec<Question>),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A certificate that passed.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The certificate, the authority above it, and so on up to the root.
    pub chain: Vec<Certificate>,
    /// What would have been refused if the check were not switched off. Part 4,
    /// 6.1.3 wants suppressed errors reported.
    pub overlooked: Vec<Refusal>,
    /// When it has to be looked up again whether it or an authority above it was revoked, if that is known of all of them.
    pub until: Option<Moment>,
}

impl Trust {
    /// Judges a certificate as it was sent: DER, with or without the authorities
    /// above it. Nobody is asked; [`Judging`](crate::Judging) lets the caller do that.
    pub fn judge(&self, sent: &[u8], expected: &Expected<'_>) -> Result<Accepted, Refusal> {
        let (leaf, above) = parse(sent)?;
        self.judge_parsed(&leaf, &above, expected)
    }

    /// The same for certificates that are parsed already.
    pub fn judge_parsed(
        &self,
        leaf: &Certificate,
        above: &[Certificate],
        expected: &Expected<'_>,
    ) -> Result<Accepted, Refusal> {
        let mut findings = Findings::new();
        loop {
            match self.judge_knowing(leaf, above, expected, &findings) {
                Ok(accepted) => return Ok(accepted),
                Err(Stop::Refused(refusal)) => return Err(refusal),
                Err(Stop::Ask(questions)) => {
                    let nobody = |it| (it, Err("nobody was asked".to_owned()));
                    findings.extend(questions.into_iter().map(nobody));
                }
            }
        }
    }

    /// The same with what was answered so far.
    pub(crate) fn judge_knowing(
        &self,
        leaf: &Certificate,
        above: &[Certificate],
        expected: &Expected<'_>,
        findings: &Findings,
    ) -> Result<Accepted, Stop> {
        understood(leaf)?;
        // Also where no chain leads to a root any more, because the authority was distrusted with it.
        self.not_distrusted(leaf, true)?;
        // Ours before those that were sent along: their signatures are verified once.
        let known = self.trusted.iter().chain(&self.issuers);
        let paths = chain::paths(leaf, known.chain(above))?;
        // Several ways up: one that passes is enough, then one that passes if the answers are good; else the one that
        // came furthest has the most to say.
        let mut furthest: Option<Refusal> = None;
        let mut ask = None;
        for path in &paths {
            match self.walk(path, expected, findings) {
                Ok((overlooked, until)) => {
                    return Ok(Accepted {
                        chain: path.iter().copied().cloned().collect(),
                        overlooked,
                        until,
                    });
                }
                Err(Stop::Ask(questions)) => {
                    ask.get_or_insert(questions);
                }
                Err(Stop::Refused(refusal)) => {
                    let further = furthest
                        .as_ref()
                        .is_none_or(|other| other.reason < refusal.reason);
                    if further {
                        furthest = Some(refusal);
                    }
                }
            }
        }
        if let Some(questions) = ask {
            return Err(Stop::Ask(questions));
        }
        let refusal = furthest.unwrap_or_else(|| {
            Refusal::new(Reason::ChainIncomplete, leaf.subject(), "it has no chain")
        });
        Err(refusal.into())
    }

    fn walk(
        &self,
        path: &Path<'_>,
        expected: &Expected<'_>,
        findings: &Findings,
    ) -> Result<(Vec<Refusal>, Option<Moment>), Stop> {
        let mut overlooked = Vec::new();
        let mut step = |check: Checks, result: Result<(), Refusal>| match result {
            Err(refusal) if !expected.checks.contains(check) => {
                overlooked.push(refusal);
                Ok(())
            }
            other => other,
        };
        for authority in path.iter().skip(1) {
            understood(authority)?;
        }
        step(Checks::POLICY, policy(path, expected))?;
        for authority in path.iter().skip(1) {
            self.not_distrusted(authority, false)?;
        }
        self.trusts(path)?;
        for (index, certificate) in path.iter().enumerate() {
            step(Checks::TIME, in_time(certificate, index == 0, expected.now))?;
        }
        if let Some(leaf) = path.first() {
            step(Checks::HOST, host(leaf, expected))?;
            step(Checks::URI, uri(leaf, expected))?;
            step(Checks::USAGE, leaf_usage(leaf, expected.role))?;
        }
        for (below, issuer) in path.iter().skip(1).enumerate() {
            may_issue(issuer, path, below)?;
            step(Checks::USAGE, issuer_usage(issuer))?;
        }
        let known = self
            .revocation(path, expected, findings)
            .map_err(Stop::Ask)?;
        let soft = expected.revocation.fail == Fail::Soft;
        let lax = soft || !expected.checks.contains(Checks::REVOCATION);
        for (place, known) in known.iter().enumerate() {
            match unknown(known, place, path) {
                Err(refusal) if lax => overlooked.push(refusal),
                other => other?,
            }
        }
        for (place, known) in known.iter().enumerate() {
            revoked(known, place, path)?;
        }
        let dues = known.iter().map(|known| match known {
            Known::Good(until) => *until,
            _ => None,
        });
        // None comes before all moments: one of which it is not known is enough.
        let until = dues.min().flatten();
        Ok((overlooked, until))
    }

    // Not to be switched off: a person said so of this certificate.
    fn not_distrusted(&self, certificate: &Certificate, leaf: bool) -> Result<(), Refusal> {
        let named = |other: &Certificate| certificate.is_a_copy_of(other);
        if !self.distrusted.iter().any(named) {
            return Ok(());
        }
        let detail = if leaf {
            "it was distrusted by hand"
        } else {
            "this authority was distrusted by hand, and with it all that it issued"
        };
        Err(Refusal::new(
            Reason::Distrusted,
            certificate.subject(),
            detail,
        ))
    }

    fn trusts(&self, path: &Path<'_>) -> Result<(), Refusal> {
        if path
            .iter()
            .any(|certificate| self.trusted.contains(certificate))
        {
            return Ok(());
        }
        let subject = path.first().map(|leaf| leaf.subject().to_string());
        let detail = if path.len() > 1 {
            "neither it nor an authority above it is trusted"
        } else {
            "it is not trusted"
        };
        let subject = subject.unwrap_or_default();
        Err(Refusal::new(Reason::Untrusted, subject, detail))
    }

    /// All but the last of a path: that one is trusted or not, nobody stands above it to revoke it.
    fn revocation(
        &self,
        path: &Path<'_>,
        expected: &Expected<'_>,
        findings: &Findings,
    ) -> Result<Vec<Known>, Vec<Question>> {
        let asks = expected.checks.contains(Checks::REVOCATION);
        let mut all = Vec::new();
        for pair in path.windows(2).enumerate() {
            let (index, &[certificate, issuer]) = pair else {
                continue;
            };
            // Addresses are followed only where they were signed by somebody who is trusted, or stand in a certificate
            // that is. Above that a peer may put what it wants: the same key in a certificate of another issuer.
            let vouched = path.iter().skip(index);
            let may_ask = asks && vouched.into_iter().any(|it| self.trusted.contains(it));
            let lists = self.revocations.iter().filter(|list| list.is_of(issuer));
            let lookup = Lookup {
                certificate,
                issuer,
                now: expected.now,
                source: expected.revocation.source,
                may_ask,
                findings,
            };
            all.push(lookup.known(lists));
        }
        let mut open: Vec<Question> = Vec::new();
        for known in &all {
            if let Known::Ask(question) = known
                && !open.contains(question)
            {
                open.push(question.clone());
            }
        }
        // That one was revoked is the end, whatever the others are.
        let ends = |known: &Known| matches!(known, Known::Revoked | Known::Refused(_));
        if open.is_empty() || all.iter().any(ends) {
            Ok(all)
        } else {
            Err(open)
        }
    }
}

/// The peer's own, and those above it.
pub(crate) fn parse(sent: &[u8]) -> Result<(Certificate, Vec<Certificate>), Refusal> {
    let mut sent = Certificate::chain_from_der(sent)
        .map_err(|error| Refusal::new(Reason::Structure, "", error.to_string()))?;
    if sent.is_empty() {
        return Err(Refusal::new(Reason::Structure, "", "no certificate"));
    }
    let leaf = sent.remove(0);
    Ok((leaf, sent))
}

fn unknown(known: &Known, place: usize, path: &Path<'_>) -> Result<(), Refusal> {
    let Known::Unknown(why) = known else {
        return Ok(());
    };
    let reason = match place {
        0 => Reason::RevocationUnknown,
        _ => Reason::IssuerRevocationUnknown,
    };
    Err(of(path, place, reason, why.clone()))
}

fn revoked(known: &Known, place: usize, path: &Path<'_>) -> Result<(), Refusal> {
    let reason = match (known, place) {
        (Known::Refused(reason), _) => {
            // It was asked about an issuer as about any certificate.
            let reason = match (reason, place) {
                (Reason::Time, 1..) => Reason::IssuerTime,
                (Reason::Use, 1..) => Reason::IssuerUse,
                (reason, _) => *reason,
            };
            let detail = "the certificate manager does not accept it".to_owned();
            return Err(of(path, place, reason, detail));
        }
        (Known::Revoked, 0) => Reason::Revoked,
        (Known::Revoked, _) => Reason::IssuerRevoked,
        _ => return Ok(()),
    };
    let issuer = path.get(place).map(|it| it.issuer().to_string());
    let detail = format!("{} took it back", issuer.unwrap_or_default());
    Err(of(path, place, reason, detail))
}

fn of(path: &Path<'_>, place: usize, reason: Reason, detail: String) -> Refusal {
    let subject = path.get(place).map(|it| it.subject().to_string());
    Refusal::new(reason, subject.unwrap_or_default(), detail)
}

fn understood(certificate: &Certificate) -> Result<(), Refusal> {
    certificate.unknown_critical().map_or(Ok(()), |extension| {
        let detail = format!("its critical extension {extension} is unknown");
        Err(Refusal::new(
            Reason::Structure,
            certificate.subject(),
            detail,
        ))
    })
}

fn policy(path: &Path<'_>, expected: &Expected<'_>) -> Result<(), Refusal> {
    let Some(rule) = expected.keys else {
        return Ok(());
    };
    for (index, certificate) in path.iter().enumerate() {
        if let Some(detail) = rule.objection(certificate, index == 0) {
            return Err(Refusal::new(Reason::Policy, certificate.subject(), detail));
        }
    }
    Ok(())
}

fn in_time(certificate: &Certificate, leaf: bool, now: Moment) -> Result<(), Refusal> {
    let detail = if now < certificate.not_before() {
        format!(
            "it is valid from {}, now is {now}",
            certificate.not_before()
        )
    } else if now > certificate.not_after() {
        format!("it expired on {}, now is {now}", certificate.not_after())
    } else {
        return Ok(());
    };
    let reason = if leaf {
        Reason::Time
    } else {
        Reason::IssuerTime
    };
    Err(Refusal::new(reason, certificate.subject(), detail))
}

fn host(leaf: &Certificate, expected: &Expected<'_>) -> Result<(), Refusal> {
    let (Role::Server, Some(host)) = (expected.role, expected.host) else {
        return Ok(());
    };
    if leaf.names_host(host) {
        return Ok(());
    }
    let dns = leaf.dns_names().iter().cloned();
    let ips = leaf.ip_addresses().iter().map(ToString::to_string);
    let names: Vec<_> = dns.chain(ips).collect();
    let detail = if names.is_empty() {
        format!("it names no host, connected was {host}")
    } else {
        format!("it is for {}, connected was {host}", names.join(", "))
    };
    Err(Refusal::new(Reason::Host, leaf.subject(), detail))
}

fn uri(leaf: &Certificate, expected: &Expected<'_>) -> Result<(), Refusal> {
    let Some(wanted) = expected.application_uri else {
        return Ok(());
    };
    if expected.role == Role::User {
        return Ok(());
    }
    let detail = match leaf.application_uri() {
        Some(uri) if uri == wanted => return Ok(()),
        Some(uri) => format!("it is of the application {uri}, the peer says it is {wanted}"),
        None => format!("it names no application, the peer says it is {wanted}"),
    };
    Err(Refusal::new(Reason::Uri, leaf.subject(), detail))
}

// Part 6, 6.2.2 asks for four usages. What is really done with the key of an RSA
// policy are signatures and encrypted OpenSecureChannel requests; stacks disagree
// whether the latter is data or key encipherment, so either will do.
fn leaf_usage(leaf: &Certificate, role: Role) -> Result<(), Refusal> {
    let refuse = |detail: String| Err(Refusal::new(Reason::Use, leaf.subject(), detail));
    if let Some(usage) = leaf.usage() {
        let signs = usage.allows(Usage::DIGITAL_SIGNATURE);
        let encrypts = usage.allows_any(Usage::DATA_ENCIPHERMENT | Usage::KEY_ENCIPHERMENT)
            || leaf.public_key().curve_name().is_some();
        if !signs || (!encrypts && role != Role::User) {
            return refuse(format!("its key may only be used for: {usage}"));
        }
    }
    let Some(extended) = leaf.extended_usage() else {
        return Ok(());
    };
    let (allowed, purpose) = match role {
        Role::Server => (extended.server, "a server"),
        Role::Client => (extended.client, "a client"),
        Role::User => (true, "a user"),
    };
    if allowed || extended.any {
        Ok(())
    } else {
        refuse(format!("it is for {extended}, not for {purpose}"))
    }
}

// RFC 5280, 6.1.4 (k) to (m). Not to be switched off: without it every trusted
// application could make certificates for others.
fn may_issue(issuer: &Certificate, path: &Path<'_>, below: usize) -> Result<(), Refusal> {
    let refuse = |detail: String| Err(Refusal::new(Reason::IssuerUse, issuer.subject(), detail));
    if !issuer.is_authority() {
        return refuse("it is not an authority but issued a certificate".into());
    }
    // Those between the leaf and this one; self-issued ones do not count.
    let between = path.iter().take(below + 1).skip(1);
    let count = between
        .filter(|authority| !authority.is_self_issued())
        .count();
    match issuer.path_length() {
        Some(allowed) if count > allowed as usize => refuse(format!(
            "it allows {allowed} authorities below it, there are {count}"
        )),
        _ => Ok(()),
    }
}

fn issuer_usage(issuer: &Certificate) -> Result<(), Refusal> {
    match issuer.usage() {
        Some(usage) if !usage.allows(Usage::CERT_SIGN) => {
            let detail = format!("its key may only be used for: {usage}");
            Err(Refusal::new(Reason::IssuerUse, issuer.subject(), detail))
        }
        _ => Ok(()),
    }
}
