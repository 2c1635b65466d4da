//! CheckRevocationStatus (Part 12, 7.9.11): certificates that are checked for others.

use pki::Moment;
use wire::types::{CallMethodRequest, CallRequest, DateTime, StatusCode, Variant};

use super::call::{Outcome, find, mismatch, one};
use crate::space::Rights;
use crate::space::{Method, Space};
use crate::trust::Checked;

/// More certificates of one request are not checked: each may take as long as an authority does.
const MOST: usize = 16;

/// What comes of a call of the method.
#[derive(Debug)]
pub enum Check {
    /// This certificate has to be judged first.
    Asked(Vec<u8>),
    /// That is known.
    Done(Outcome),
}

/// The checks that a request wants, by its operations; none at all if it wants none.
pub fn wanted(
    space: &Space,
    call: &mut CallRequest,
    rights: Rights,
    signed: bool,
) -> Option<Vec<Option<Check>>> {
    let mut left = MOST;
    let check = |what: &mut CallMethodRequest| match find(space, what, rights) {
        Ok(Method::CheckRevocationStatus) => {
            let arguments = what.input_arguments.as_deref_mut().unwrap_or_default();
            let asked = certificate(arguments, signed).and_then(|certificate| {
                left = left
                    .checked_sub(1)
                    .ok_or((StatusCode::BadTooManyOperations, Vec::new()))?;
                Ok(certificate)
            });
            Some(match asked {
                Ok(certificate) => Check::Asked(certificate),
                Err(status) => Check::Done(Err(status)),
            })
        }
        _ => None,
    };
    let methods = call.methods_to_call.as_deref_mut().unwrap_or_default();
    let checks: Vec<_> = methods.iter_mut().map(check).collect();
    checks.iter().any(Option::is_some).then_some(checks)
}

fn certificate(arguments: &mut [Variant], signed: bool) -> Result<Vec<u8>, Failed> {
    // Part 12, 7.9.11: from an authenticated SecureChannel only.
    if !signed {
        return Err((StatusCode::BadSecurityModeInsufficient, Vec::new()));
    }
    match one(arguments)? {
        Variant::ByteString(certificate) => Ok(certificate.value.take().unwrap_or_default()),
        _ => Err(mismatch()),
    }
}

fn time(moment: Moment) -> DateTime {
    const TICKS: i64 = 10_000_000;
    /// From 1601 to 1970.
    const SECONDS: i64 = 11_644_473_600;
    DateTime::from(moment.unix().saturating_add(SECONDS).saturating_mul(TICKS))
}

type Failed = (StatusCode, Vec<StatusCode>);

impl Check {
    /// What comes of it once it is judged, which may take as long as an authority does.
    pub fn outcome(self, judge: impl Fn(&[u8]) -> Checked) -> Outcome {
        match self {
            Self::Asked(certificate) => {
                let Checked { status, until } = judge(&certificate);
                let until = until.map_or_else(DateTime::null, time);
                Ok(vec![status.into(), until.into()])
            }
            Self::Done(outcome) => outcome,
        }
    }
}
