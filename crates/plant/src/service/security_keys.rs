//! The key service of PubSub: GetSecurityKeys, GetSecurityGroup and SetSecurityKeys (Part 14, 8.3.2, 8.3.3 and 9.1.3.3).

use std::time::Duration;

use tracing::{debug, info};
use wire::policy::Mode;
use wire::policy::pubsub::{PubSubPolicy, RawKey, SecurityKeys};
use wire::template::walk::BuiltInType;
use wire::types::{Array, ByteString, StatusCode, Variant, VariantScalarTypeId};

use super::ServiceContext;
use super::call::{Outcome, fit};
use crate::security_group::{Group, SecurityGroup};
use crate::server_nodes::security_groups;
use crate::space::Method;

/// Longer than anybody waits for a key.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl ServiceContext<'_> {
    pub(super) fn run_security_keys(
        &mut self,
        method: Method,
        arguments: &mut [Variant],
    ) -> Outcome {
        let outcome = match method {
            Method::GetSecurityKeys => self.get_security_keys(arguments),
            Method::SetSecurityKeys => self.set_security_keys(arguments),
            _ => return self.get_security_group(arguments),
        };
        if let Err((status, _)) = &outcome {
            let session = self.session.record.number;
            // Everybody may ask as often as they like.
            debug!(session, %status, "security keys refused");
        }
        outcome
    }

    /// The node of a group.
    fn get_security_group(&self, arguments: &mut [Variant]) -> Outcome {
        fit(&[(BuiltInType::String, false)], arguments)?;
        // Part 14, 8.3.3: there it has another code than in 8.3.2.
        let group = self.group(arguments.first());
        let group = group.map_err(|_| alone(StatusCode::BadNoMatch))?;
        let namespaces = self.shared.space.namespaces();
        let node = security_groups::node(namespaces, &group.about.id);
        Ok(vec![
            node.ok_or_else(|| alone(StatusCode::BadNotFound))?.into(),
        ])
    }

    /// The current keys of a group, or others that are asked for.
    fn get_security_keys(&self, arguments: &mut [Variant]) -> Outcome {
        self.is_secret()?;
        let number = (BuiltInType::UInt32, false);
        fit(&[(BuiltInType::String, false), number, number], arguments)?;
        let group = self.group(arguments.first())?;
        let session = &self.session;
        if !group.may_get(session.rights, session.owner.listed.as_deref()) {
            group.refuse();
            return Err(alone(StatusCode::BadUserAccessDenied));
        }
        let (Some(Variant::UInt32(from)), Some(Variant::UInt32(count))) =
            (arguments.get(1), arguments.get(2))
        else {
            return Err(alone(StatusCode::BadInvalidArgument));
        };
        let told = group.keys(*from, *count, self.now.mono);
        info!(
            session = session.record.number,
            group = group.about.id,
            first = told.first,
            keys = told.keys.len(),
            "security keys given"
        );
        Ok(outputs(told))
    }

    /// Takes the keys that a key service elsewhere has made.
    fn set_security_keys(&self, arguments: &mut [Variant]) -> Outcome {
        self.is_secret()?;
        let text = (BuiltInType::String, false);
        let time = (BuiltInType::Double, false);
        let bytes = |list| (BuiltInType::ByteString, list);
        let number = (BuiltInType::UInt32, false);
        fit(
            &[text, text, number, bytes(false), bytes(true), time, time],
            arguments,
        )?;
        let group = self.group(arguments.first())?;
        let session = &self.session;
        if !group.may_set(session.rights, session.owner.listed.as_deref()) {
            group.refuse();
            return Err(alone(StatusCode::BadUserAccessDenied));
        }
        let pushed = pushed(&group.about, arguments)?;
        info!(
            session = session.record.number,
            group = group.about.id,
            current = pushed.first,
            keys = pushed.keys.len(),
            "security keys set"
        );
        group.set(pushed, self.now.mono);
        Ok(Vec::new())
    }

    /// Keys go over channels that are encrypted, and no others.
    fn is_secret(&self) -> Result<(), (StatusCode, Vec<StatusCode>)> {
        let protection = self.session.record.activated().protection;
        match protection.mode {
            Mode::SignAndEncrypt => Ok(()),
            _ => Err(alone(StatusCode::BadSecurityModeInsufficient)),
        }
    }

    fn group(&self, id: Option<&Variant>) -> Result<&Group, (StatusCode, Vec<StatusCode>)> {
        let Some(Variant::String(id)) = id else {
            return Err(alone(StatusCode::BadNotFound));
        };
        let group = self.shared.security_groups.find(id.as_ref());
        group.ok_or_else(|| alone(StatusCode::BadNotFound))
    }
}

fn alone(status: StatusCode) -> (StatusCode, Vec<StatusCode>) {
    (status, Vec::new())
}

fn outputs(told: SecurityKeys) -> Vec<Variant> {
    let keys = told.keys.iter();
    let keys = keys.map(|key| Variant::from(ByteString::from(key.to_vec())));
    vec![
        told.policy.uri().into(),
        told.first.into(),
        Variant::from(Array {
            value_type: VariantScalarTypeId::ByteString,
            values: keys.collect(),
            dimensions: None,
        }),
        millis(told.to_next).into(),
        millis(told.lifetime).into(),
    ]
}

fn millis(it: Duration) -> f64 {
    it.as_secs_f64() * 1000.0
}

/// What is set, if it makes sense; else which of the seven arguments does not.
fn pushed(
    group: &SecurityGroup,
    arguments: &[Variant],
) -> Result<SecurityKeys, (StatusCode, Vec<StatusCode>)> {
    let wrong = |at: usize, status: StatusCode| {
        let one = |n| if n == at { status } else { StatusCode::Good };
        (StatusCode::BadInvalidArgument, (0..7).map(one).collect())
    };
    let [
        _,
        Variant::String(policy),
        Variant::UInt32(current),
        Variant::ByteString(key),
        Variant::Array(future),
        Variant::Double(to_next),
        Variant::Double(lifetime),
    ] = arguments
    else {
        return Err(alone(StatusCode::BadInvalidArgument));
    };
    if policy.as_ref().parse::<PubSubPolicy>() != Ok(group.policy) {
        return Err(wrong(1, StatusCode::BadSecurityPolicyRejected));
    }
    if *current == 0 {
        return Err(wrong(2, StatusCode::BadOutOfRange));
    }
    let key_of = |bytes: &ByteString| {
        let bytes = bytes.value.as_deref().unwrap_or_default();
        (bytes.len() == group.policy.key_len()).then(|| RawKey::new(bytes.to_vec()))
    };
    let first = key_of(key).ok_or_else(|| wrong(3, StatusCode::BadOutOfRange))?;
    let most = usize::from(SecurityGroup::MOST_KEYS);
    let future = future.values.iter().take(most + 1).map(|it| match it {
        Variant::ByteString(bytes) => key_of(bytes),
        _ => None,
    });
    let future: Option<Vec<RawKey>> = future.collect();
    let future = future.filter(|all| all.len() <= most);
    let future = future.ok_or_else(|| wrong(4, StatusCode::BadOutOfRange))?;
    let span = |at, millis: f64, least: Duration| {
        let span = Duration::try_from_secs_f64(millis / 1000.0).ok();
        span.filter(|it| (least..=LONGEST).contains(it))
            .ok_or_else(|| wrong(at, StatusCode::BadOutOfRange))
    };
    let mut keys = vec![first];
    keys.extend(future);
    Ok(SecurityKeys {
        policy: group.policy,
        first: *current,
        keys,
        to_next: span(5, *to_next, Duration::ZERO)?,
        lifetime: span(6, *lifetime, SecurityGroup::LEAST_LIFETIME)?,
    })
}
