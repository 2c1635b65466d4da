//! Call (Part 4, 5.12).

use std::mem::take;

use wire::service::shape::Kind;
use wire::template::walk::BuiltInType;
use wire::types::{
    CallMethodRequest, CallMethodResult, CallRequest, ReferenceTypeId, StatusCode, Variant,
};

use super::steps::Steps;
use super::{ServiceContext, operations};
use crate::space::Rights;
use crate::space::{Body, Method, NodeIndex, Space, attribute};

/// What a method gives: its output arguments, or a status and one for each input argument.
pub type Outcome = Result<Vec<Variant>, (StatusCode, Vec<StatusCode>)>;

impl ServiceContext<'_> {
    pub fn call(&mut self, request: &mut CallRequest) -> Result<Steps, StatusCode> {
        self.call_knowing(request, Vec::new())
    }

    /// The same with what was found out before, by the operations.
    pub fn call_knowing(
        &mut self,
        request: &mut CallRequest,
        outcomes: Vec<Option<Outcome>>,
    ) -> Result<Steps, StatusCode> {
        let limit = self.shared.config.limits.methods_per_call;
        let methods = operations(&mut request.methods_to_call, limit)?;
        self.shared.counters.calls.add(methods.len() as u64);
        let (response, result) = (Kind::CallResponse, Kind::CallMethodResult);
        let mut outcomes = outcomes.into_iter();
        let calls = methods.into_iter();
        let calls = calls
            .map(|what| (what, outcomes.next().flatten()))
            .collect();
        Ok(Steps::whole(
            response,
            result,
            calls,
            |context, (what, outcome)| match outcome.take() {
                Some(outcome) => given(outcome),
                None => context.call_one(what),
            },
        ))
    }

    fn call_one(&mut self, what: &mut CallMethodRequest) -> CallMethodResult {
        let outcome = find(&self.shared.space, what, self.session.rights)
            .map_err(|status| (status, Vec::new()))
            .and_then(|method| {
                let arguments = what.input_arguments.as_deref_mut().unwrap_or_default();
                match method {
                    Method::Condition(action) => self.act(action, &what.object_id, arguments),
                    method => self.run(method, arguments),
                }
            });
        given(outcome)
    }

    fn run(&mut self, method: Method, arguments: &mut [Variant]) -> Outcome {
        match method {
            Method::GroundTruth
            | Method::DescribeSignals
            | Method::AddFault
            | Method::ClearFault
            | Method::ClearFaults
            | Method::ListFaults => self.run_plant(method, arguments),
            Method::GetSecurityKeys | Method::GetSecurityGroup | Method::SetSecurityKeys => {
                self.run_security_keys(method, arguments)
            }
            Method::Echo(signature) => {
                fit(&signature, arguments)?;
                Ok(arguments.iter_mut().map(take).collect())
            }
            Method::Nothing(signature) => fit(&signature, arguments).map(|()| Vec::new()),
            Method::Sum(count) => {
                let signature = vec![(BuiltInType::Double, false); count];
                fit(&signature, arguments)?;
                let sum = arguments.iter().map(|argument| match argument {
                    Variant::Double(value) => *value,
                    _ => 0.0,
                });
                Ok(vec![sum.sum::<f64>().into()])
            }
            Method::ConditionRefresh => self.refresh(false, arguments),
            Method::ConditionRefresh2 => self.refresh(true, arguments),
            // It is about an object, which only the call knows, or was done before.
            Method::Condition(_) | Method::CheckRevocationStatus => {
                Err((StatusCode::BadMethodInvalid, Vec::new()))
            }
            Method::GetMonitoredItems | Method::ResendData => {
                let Variant::UInt32(id) = one(arguments)? else {
                    return Err(mismatch());
                };
                let id = *id;
                let outcome = match method {
                    Method::GetMonitoredItems => self.get_items(id),
                    _ => self.subscription(id).map(|subscription| {
                        subscription.resend();
                        Vec::new()
                    }),
                };
                // Part 5, 9.1 and 9.2: that of another session is there, but not for this one.
                let denied = StatusCode::BadUserAccessDenied;
                let there = self.shared.register.home_of(id).is_some();
                outcome.map_err(|status| (if there { denied } else { status }, Vec::new()))
            }
        }
    }
}

fn given(outcome: Outcome) -> CallMethodResult {
    match outcome {
        Ok(outputs) => CallMethodResult {
            output_arguments: Some(outputs),
            ..Default::default()
        },
        Err((status_code, inputs)) => CallMethodResult {
            status_code,
            input_argument_results: (!inputs.is_empty()).then_some(inputs),
            ..Default::default()
        },
    }
}

/// There is no argument.
pub(super) fn none(arguments: &[Variant]) -> Result<(), (StatusCode, Vec<StatusCode>)> {
    match arguments {
        [] => Ok(()),
        _ => Err((StatusCode::BadTooManyArguments, Vec::new())),
    }
}

/// The only argument.
pub(super) fn one(
    arguments: &mut [Variant],
) -> Result<&mut Variant, (StatusCode, Vec<StatusCode>)> {
    match arguments {
        [argument] => Ok(argument),
        [] => Err((StatusCode::BadArgumentsMissing, Vec::new())),
        _ => Err((StatusCode::BadTooManyArguments, Vec::new())),
    }
}

/// Whether arguments are as many as there should be, and of the right types (Part 4, 5.12.2.2).
pub(super) fn fit(
    signature: &[(BuiltInType, bool)],
    arguments: &[Variant],
) -> Result<(), (StatusCode, Vec<StatusCode>)> {
    if arguments.len() < signature.len() {
        return Err((StatusCode::BadArgumentsMissing, Vec::new()));
    }
    if arguments.len() > signature.len() {
        return Err((StatusCode::BadTooManyArguments, Vec::new()));
    }
    let fits = signature
        .iter()
        .zip(arguments)
        .map(|((kind, list), given)| {
            let type_id = given.scalar_type_id().map_or(0, |it| it as u32);
            let list = matches!(given, Variant::Array(_)) == *list;
            // An argument of any type takes all.
            let fits = list && (*kind == BuiltInType::Variant || type_id == *kind as u32);
            if fits {
                StatusCode::Good
            } else {
                StatusCode::BadTypeMismatch
            }
        });
    let fits: Vec<_> = fits.collect();
    match fits.iter().all(|status| *status == StatusCode::Good) {
        true => Ok(()),
        false => Err((StatusCode::BadInvalidArgument, fits)),
    }
}

/// Part 4, 5.12.2.2: the argument of another type is named.
pub(super) fn mismatch() -> (StatusCode, Vec<StatusCode>) {
    let inputs = vec![StatusCode::BadTypeMismatch];
    (StatusCode::BadInvalidArgument, inputs)
}

/// The method, if it belongs to the object or to its type.
pub(super) fn find(
    space: &Space,
    what: &CallMethodRequest,
    rights: Rights,
) -> Result<Method, StatusCode> {
    let object = space.find_id(&what.object_id);
    let object = object.ok_or(StatusCode::BadNodeIdUnknown)?;
    let method = space.find_id(&what.method_id);
    let method = method.ok_or(StatusCode::BadMethodInvalid)?;
    let node = space.node(method).ok_or(StatusCode::BadMethodInvalid)?;
    let Body::Method { method: does, .. } = &node.body else {
        return Err(StatusCode::BadMethodInvalid);
    };
    if !has(space, object, method) {
        return Err(StatusCode::BadMethodInvalid);
    }
    if !attribute::may_call(&node, rights) {
        return Err(StatusCode::BadUserAccessDenied);
    }
    does.clone().ok_or(StatusCode::BadNotImplemented)
}

fn has(space: &Space, object: NodeIndex, method: NodeIndex) -> bool {
    let Some(component) = space.reference_type(ReferenceTypeId::HasComponent) else {
        return false;
    };
    let in_node = |at: NodeIndex| {
        space.links(at).iter().any(|link| {
            link.forward && link.target == method && space.is_subtype(link.kind, component)
        })
    };
    let of = space.type_definition(object);
    let of = of.and_then(|node| space.find_id(&node.id));
    in_node(object) || of.is_some_and(in_node)
}
