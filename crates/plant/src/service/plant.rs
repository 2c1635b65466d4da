//! The methods of the Plant object: what the server did, and what is to go wrong.

use wire::types::{StatusCode, Variant};

use super::Desk;
use super::call::{Outcome, mismatch, none, one};
use crate::fault::Fault;
use crate::ledger::GroundTruth;
use crate::space::Method;

impl Desk<'_> {
    pub(super) fn run_plant(&mut self, method: Method, arguments: Vec<Variant>) -> Outcome {
        let faults = &self.shared.faults;
        match method {
            Method::AddFault => {
                let Variant::String(text) = one(arguments)? else {
                    return Err(mismatch());
                };
                let fault =
                    parse(text.as_ref()).ok_or_else(|| wrong(StatusCode::BadSyntaxError))?;
                let added = faults.add(fault, &self.shared.space, self.now.mono);
                let id = added.map_err(|_| wrong(StatusCode::BadNodeIdUnknown))?;
                Ok(vec![id.into()])
            }
            Method::ClearFault => {
                let Variant::UInt32(id) = one(arguments)? else {
                    return Err(mismatch());
                };
                match faults.clear(Some(id)) {
                    0 => Err(wrong(StatusCode::BadNotFound)),
                    _ => Ok(Vec::new()),
                }
            }
            Method::ClearFaults => {
                none(&arguments)?;
                let cleared = faults.clear(None);
                Ok(vec![u32::try_from(cleared).unwrap_or(u32::MAX).into()])
            }
            Method::ListFaults => {
                none(&arguments)?;
                let counts = serde_json::to_string_pretty(&faults.counts());
                Ok(vec![counts.unwrap_or_default().into()])
            }
            _ => {
                none(&arguments)?;
                Ok(vec![GroundTruth::read(self.shared).to_json().into()])
            }
        }
    }
}

/// A fault as text: as on the command line, or a table as JSON.
fn parse(text: &str) -> Option<Fault> {
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).ok(),
        false => text.parse().ok(),
    }
}

fn wrong(argument: StatusCode) -> (StatusCode, Vec<StatusCode>) {
    (StatusCode::BadInvalidArgument, vec![argument])
}
