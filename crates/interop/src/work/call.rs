//! Call: a number goes out and comes back.

use peers::bench::{ECHO_METHOD, ECHO_OBJECT};
use wire::types::{CallMethodRequest, CallRequest, Variant};

use super::{Target, WorkError, during, good, only};

pub(super) fn echo(target: &mut Target) -> Result<(), WorkError> {
    let value = Variant::Double(12.5);
    let request = CallRequest {
        request_header: Default::default(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: target.node(ECHO_OBJECT)?,
            method_id: target.node(ECHO_METHOD)?,
            input_arguments: Some(vec![value.clone()]),
        }]),
    };
    let response = target.session.call(request).map_err(during("Call"))?;
    let result = only("Call", response.results)?;
    good("the call of echo", result.status_code)?;
    let got = result.output_arguments.unwrap_or_default();
    match got == [value] {
        true => Ok(()),
        false => Err(WorkError::value("echo(12.5)", format!("{got:?}"), "12.5")),
    }
}
