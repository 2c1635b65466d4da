//! What a strict peer could hold against a certificate, for whoever has to mend it.

use crate::certificate::Certificate;
use crate::moment::Moment;
use crate::policy::KeyRule;
use crate::public_key::PublicKey;
use crate::usage::Usage;

/// Time enough to get a new one.
const SOON_DAYS: i64 = 30;

impl Certificate {
    /// What is wrong with it on its own, whoever trusts it: against Part 6, 6.2.2
    /// for applications, against RFC 5280 for authorities.
    pub fn problems(&self, now: Moment) -> Vec<String> {
        let mut problems = Vec::new();
        self.review_time(now, &mut problems);
        problems.extend(KeyRule::of_key(self.public_key()).objection(self, !self.is_authority()));
        if self.signature_algorithm().is_none() {
            problems.push("the algorithm of its signature is unknown".into());
        } else if self.is_self_issued() && !self.is_self_signed() {
            problems.push("it names itself as its issuer but did not sign itself".into());
        }
        if let Some(extension) = self.unknown_critical() {
            problems.push(format!("its critical extension {extension} is unknown"));
        }
        if self.subject().common_name().is_none() {
            problems.push("it has no common name".into());
        }
        if self.is_authority() {
            self.review_authority(&mut problems);
        } else {
            self.review_application(&mut problems);
        }
        problems
    }

    fn review_time(&self, now: Moment, problems: &mut Vec<String>) {
        let left = self.not_after().days_since(now);
        if now < self.not_before() {
            problems.push(format!("it is not valid before {}", self.not_before()));
        } else if now > self.not_after() {
            problems.push(format!("it expired on {}", self.not_after()));
        } else if left < SOON_DAYS {
            problems.push(format!("it expires in {left} days"));
        }
    }

    fn review_authority(&self, problems: &mut Vec<String>) {
        if let Some(usage) = self.usage() {
            let missing = usage.missing(Usage::CERT_SIGN | Usage::CRL_SIGN);
            if !missing.is_empty() {
                problems.push(format!("its key usage lacks {missing}"));
            }
        }
    }

    fn review_application(&self, problems: &mut Vec<String>) {
        if self.application_uri().is_none() {
            problems.push("it names no application URI".into());
        }
        if self.dns_names().is_empty() && self.ip_addresses().is_empty() {
            problems.push("it names no host; clients may refuse it as a server's".into());
        }
        // The four usages are for RSA; an elliptic curve needs the first alone.
        let wanted = match self.public_key() {
            PublicKey::Rsa { .. } => Usage::APPLICATION,
            _ => Usage::DIGITAL_SIGNATURE,
        };
        match self.usage() {
            None => problems.push("it does not say what its key is for (key usage)".into()),
            Some(usage) if !usage.allows(wanted) => {
                let missing = usage.missing(wanted);
                problems.push(format!("its key usage lacks {missing}"));
            }
            Some(_) => {}
        }
        match self.extended_usage() {
            None => problems.push("it does not say whether it is a server or a client".into()),
            Some(extended) if !(extended.any || extended.server || extended.client) => {
                problems.push("it is neither for servers nor for clients".into());
            }
            Some(_) => {}
        }
    }
}
