//! A key service of OPC UA: GetSecurityKeys and SetSecurityKeys of the PublishSubscribe object (Part 14, 8.3.2 and
//! 9.1.3.3).

use std::time::Duration;

use pubsub::security::{PubSubPolicy, UnknownPolicy};
use thiserror::Error;
use wire::policy::Mode;
use wire::types::{
    Array, ByteString, CallMethodRequest, CallRequest, MethodId, ObjectId, RequestHeader,
    StatusCode, Variant, VariantScalarTypeId,
};

use super::key_supply::KeyService;
use super::key_times::{RawKey, SecurityKeys};
use crate::access::{Access, AccessError, Opening, Session};
use crate::transport::{CallError, Steps};

/// Why there are no keys.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyServiceError {
    /// There is no session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Keys do not travel in the clear.
    #[error("the endpoint {0} is not encrypted; keys are asked for over encrypted channels only")]
    NotEncrypted(String),
    /// The call did not come back.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It was refused.
    #[error("{method} was refused: {status}")]
    Refused {
        /// The method.
        method: &'static str,
        /// Why.
        status: StatusCode,
    },
    /// It answered with other outputs than Part 14 has, or with values that no key has.
    #[error("GetSecurityKeys answered with other outputs than Part 14 has")]
    Outputs,
    /// Keys of a policy that is not known.
    #[error(transparent)]
    Policy(#[from] UnknownPolicy),
}

/// No key holds longer. It is far from what a clock can be moved by, however many keys there are.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A call has this long at least: a session may have to be opened for it.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// The key service of one group, over a session that is kept.
#[derive(Debug)]
pub struct KeyServer {
    access: Access,
    group: String,
    opening: Option<Opening>,
    session: Option<Session>,
    /// How long an answer is waited for at most, where keys hold long enough.
    patience: Duration,
}

impl KeyServer {
    /// Nothing is asked yet.
    pub fn new(access: Access, group: impl Into<String>) -> Self {
        Self {
            patience: access.timeout.max(LEAST_PATIENCE),
            access,
            group: group.into(),
            opening: None,
            session: None,
        }
    }

    /// How it is reached.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// So many keys from a token on; of the current one if it is 0.
    ///
    /// # Errors
    /// See [`KeyServiceError`].
    pub fn get(&mut self, from: u32, count: u32) -> Result<SecurityKeys, KeyServiceError> {
        let inputs = vec![self.group.as_str().into(), from.into(), count.into()];
        let method = MethodId::PublishSubscribe_GetSecurityKeys;
        let told = told(&self.call("GetSecurityKeys", method, inputs)?)?;
        // Who waits longer for an answer has no key left when it does not come.
        let patience = (told.lifetime / 2).clamp(LEAST_PATIENCE, self.patience);
        self.access.timeout = patience;
        if let Some(session) = &mut self.session {
            session.set_timeout(patience);
        }
        Ok(told)
    }

    /// Sets the keys of the group: the first is the current one.
    ///
    /// # Errors
    /// See [`KeyServiceError`].
    pub fn set(&mut self, told: &SecurityKeys) -> Result<(), KeyServiceError> {
        let (current, future) = match told.keys.split_first() {
            Some((current, future)) => (current.to_vec(), future),
            None => return Err(KeyServiceError::Outputs),
        };
        let bytes = |key: &RawKey| Variant::from(ByteString::from(key.to_vec()));
        let millis = |it: Duration| Variant::from(it.as_secs_f64() * 1000.0);
        let inputs = vec![
            self.group.as_str().into(),
            told.policy.uri().into(),
            told.first.into(),
            ByteString::from(current).into(),
            Variant::from(Array {
                value_type: VariantScalarTypeId::ByteString,
                values: future.iter().map(bytes).collect(),
                dimensions: None,
            }),
            millis(told.to_next),
            millis(told.lifetime),
        ];
        let method = MethodId::PublishSubscribe_SetSecurityKeys;
        self.call("SetSecurityKeys", method, inputs).map(drop)
    }

    fn call(
        &mut self,
        name: &'static str,
        method: MethodId,
        inputs: Vec<Variant>,
    ) -> Result<Vec<Variant>, KeyServiceError> {
        let request = || CallRequest {
            request_header: RequestHeader::default(),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: ObjectId::PublishSubscribe.into(),
                method_id: method.into(),
                input_arguments: Some(inputs.clone()),
            }]),
        };
        let was_kept = self.session.is_some();
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.open()?,
        };
        let mut called = session.call(request());
        // One that nobody used for long may have ended. Who only was too late is not asked twice.
        let ended =
            |error: &CallError| error.ends_session() && !matches!(error, CallError::TimedOut(_));
        if was_kept && called.as_ref().is_err_and(ended) {
            session = self.open()?;
            called = session.call(request());
        }
        if !called.as_ref().is_err_and(CallError::ends_session) {
            self.session = Some(session);
        }
        let response = called?;
        let result = response.results.and_then(|mut all| all.pop());
        let result = result.ok_or(KeyServiceError::Outputs)?;
        match result.status_code.is_good() {
            true => Ok(result.output_arguments.unwrap_or_default()),
            false => Err(KeyServiceError::Refused {
                method: name,
                status: result.status_code,
            }),
        }
    }

    fn open(&mut self) -> Result<Session, KeyServiceError> {
        let opening = match self.opening.take() {
            Some(it) => it,
            None => self.access.discover()?,
        };
        let mode = opening.endpoint().protection.map(|it| it.mode);
        if mode != Some(Mode::SignAndEncrypt) {
            let name = opening.endpoint().name();
            return Err(KeyServiceError::NotEncrypted(name));
        }
        let session = self.access.open(&opening, &mut Steps::new())?;
        self.opening = Some(opening);
        Ok(session)
    }
}

impl KeyService for KeyServer {
    fn ask(&mut self, from: u32, count: u32) -> Result<SecurityKeys, String> {
        self.get(from, count).map_err(|error| error.to_string())
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            session.leave();
        }
    }
}

fn told(outputs: &[Variant]) -> Result<SecurityKeys, KeyServiceError> {
    let [
        Variant::String(policy),
        Variant::UInt32(first),
        Variant::Array(keys),
        Variant::Double(to_next),
        Variant::Double(lifetime),
    ] = outputs
    else {
        return Err(KeyServiceError::Outputs);
    };
    let policy: PubSubPolicy = policy.as_ref().parse()?;
    let keys = keys.values.iter().map(|it| match it {
        Variant::ByteString(bytes) => bytes.value.clone().map(RawKey::new),
        _ => None,
    });
    let span = |millis: f64| {
        let span = Duration::try_from_secs_f64(millis / 1000.0).ok();
        span.filter(|it| *it <= LONGEST)
    };
    let is_fit =
        |all: &Vec<RawKey>| !all.is_empty() && all.iter().all(|key| key.len() == policy.key_len());
    let known = keys.collect::<Option<Vec<_>>>().filter(is_fit);
    let known = known.zip(span(*to_next)).zip(span(*lifetime));
    // A SecurityTokenId of 0 asks for the current key and is that of none (Part 14, 8.3.2).
    let known = known.filter(|_| *first != 0);
    let ((keys, to_next), lifetime) = known.ok_or(KeyServiceError::Outputs)?;
    Ok(SecurityKeys {
        policy,
        first: *first,
        keys,
        to_next,
        lifetime,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(first: u32, keys: &[usize], to_next: f64, lifetime: f64) -> Vec<Variant> {
        let keys = keys
            .iter()
            .map(|len| ByteString::from(vec![7; *len]).into());
        vec![
            PubSubPolicy::Aes256Ctr.uri().into(),
            first.into(),
            Variant::from(Array {
                value_type: VariantScalarTypeId::ByteString,
                values: keys.collect(),
                dimensions: None,
            }),
            to_next.into(),
            lifetime.into(),
        ]
    }

    #[test]
    fn keys_and_times_of_a_service_are_taken_within_bounds_only() {
        let good = told(&outputs(5, &[68, 68], 300.0, 1000.0)).unwrap();
        assert_eq!((good.first, good.keys.len()), (5, 2));
        let wrong = [
            outputs(5, &[68], 1e22, 1000.0),
            outputs(5, &[68], 300.0, 1e22),
            outputs(5, &[68], f64::NAN, 1000.0),
            outputs(5, &[68], -1.0, 1000.0),
            outputs(0, &[68], 300.0, 1000.0),
            outputs(5, &[68, 67], 300.0, 1000.0),
            outputs(5, &[], 300.0, 1000.0),
        ];
        for it in wrong {
            assert!(matches!(told(&it), Err(KeyServiceError::Outputs)), "{it:?}");
        }
    }
}
