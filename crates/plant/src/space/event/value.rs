//! What the fields of an event hold.

use wire::types::{
    ByteString, DateTime, LocalizedText, NodeId, ObjectId, ObjectTypeId, StatusCode, Variant,
};

use super::condition::ConditionState;
use super::source::LIMITS;
use super::{Audit, Event, EventKind, Field};
use crate::space::encode;

impl Field {
    /// What it holds in an event; null where the event has no such field.
    pub fn value(self, event: &Event<'_>) -> Variant {
        if let Some(audit) = &event.audit {
            return self.of_audit(event, audit).unwrap_or_default();
        }
        self.of_all(event)
            .or_else(|| self.of_condition(event, event.state.as_ref()?))
            .or_else(|| self.of_alarm(event, event.state.as_ref()?))
            .unwrap_or_default()
    }

    fn of_all(self, event: &Event<'_>) -> Option<Variant> {
        Some(match self {
            Self::EventId => ByteString::from(event.id.to_bytes().to_vec()).into(),
            Self::EventType => NodeId::from(event.kind.id()).into(),
            Self::SourceNode => match event.from {
                Some((_, source)) => source.id.clone().into(),
                None => NodeId::from(ObjectId::Server).into(),
            },
            Self::SourceName => match event.from {
                Some((_, source)) => source.name.as_str().into(),
                None => "Server".into(),
            },
            Self::Time | Self::ReceiveTime => DateTime::from(event.time).into(),
            Self::Message => LocalizedText::new("en", &event.message).into(),
            Self::Severity => event.severity.into(),
            _ => return None,
        })
    }

    /// Part 5, 6.4.3 ff.
    fn of_audit(self, event: &Event<'_>, audit: &Audit) -> Option<Variant> {
        let detail = || audit.details.iter().find(|(field, _)| *field == self);
        Some(match self {
            Self::SourceNode => match &audit.node {
                Some(node) => node.clone().into(),
                None => NodeId::from(ObjectId::Server).into(),
            },
            Self::SourceName => audit.service().into(),
            Self::ActionTimeStamp => DateTime::from(audit.at).into(),
            Self::Status => (!audit.status.is_bad()).into(),
            Self::StatusCodeId => audit.status.into(),
            // There is one.
            Self::ServerId => "".into(),
            Self::ClientAuditEntryId => audit.entry.as_str().into(),
            Self::ClientUserId => audit.user.as_str().into(),
            Self::NewValue => encode::decoded(audit.written.as_deref()?)?,
            _ => match detail() {
                Some((_, value)) => value.clone(),
                None => return self.of_all(event),
            },
        })
    }

    fn of_condition(self, event: &Event<'_>, state: &ConditionState) -> Option<Variant> {
        let (_, source) = event.from?;
        let class = match event.kind {
            EventKind::SystemOffNormalAlarmType => ObjectTypeId::SystemConditionClassType,
            _ => ObjectTypeId::ProcessConditionClassType,
        };
        let comment = &state.comment;
        Some(match self {
            Self::ConditionId => source.condition.as_ref()?.id.clone().into(),
            Self::ConditionClassId => NodeId::from(class).into(),
            Self::ConditionClassName => text(match class {
                ObjectTypeId::SystemConditionClassType => "System",
                _ => "Process",
            }),
            Self::ConditionName => format!("{} alarm", source.name).into(),
            // There are no branches.
            Self::BranchId => NodeId::null().into(),
            Self::Retain => state.retain().into(),
            Self::EnabledState => two(state.enabled, "Enabled", "Disabled"),
            Self::EnabledStateId => state.enabled.into(),
            Self::Quality => StatusCode::Good.into(),
            Self::QualityTime | Self::LastSeverityTime => DateTime::from(state.changed).into(),
            Self::LastSeverity => event.severity.into(),
            Self::Comment => comment.text.clone().into(),
            Self::CommentTime => match comment.at {
                0 => DateTime::null().into(),
                at => DateTime::from(at).into(),
            },
            Self::ClientUserId => comment.user.as_str().into(),
            Self::AckedState => two(state.acked, "Acknowledged", "Unacknowledged"),
            Self::AckedStateId => state.acked.into(),
            Self::ConfirmedState => two(state.confirmed, "Confirmed", "Unconfirmed"),
            Self::ConfirmedStateId => state.confirmed.into(),
            _ => return None,
        })
    }

    fn of_alarm(self, event: &Event<'_>, state: &ConditionState) -> Option<Variant> {
        let (group, _) = event.from?;
        if !event.kind.is_a(self.of()) {
            return None;
        }
        let limit = |at: usize| group.limits.get(at).copied().flatten().map(Variant::from);
        let beyond =
            |at: usize| state.active && state.level.is_some_and(|level| is_beyond(level, at));
        let level = state.level.filter(|_| state.active);
        Some(match self {
            Self::ActiveState => two(state.active, "Active", "Inactive"),
            Self::ActiveStateId => state.active.into(),
            Self::ActiveStateTime => DateTime::from(state.changed).into(),
            Self::InputNode | Self::NormalState => NodeId::null().into(),
            Self::SuppressedOrShelved => false.into(),
            Self::HighHighLimit => limit(0)?,
            Self::HighLimit => limit(1)?,
            Self::LowLimit => limit(2)?,
            Self::LowLowLimit => limit(3)?,
            // Part 9, 5.8.19: null while the alarm is not active.
            Self::LimitState => text(LIMITS.get(level?)?),
            Self::LimitStateId => NodeId::from(*LIMIT_STATES.get(level?)?).into(),
            Self::HighHighState => self.limit(limit(0)?, beyond(0)),
            Self::HighHighStateId => limit(0).map(|_| beyond(0).into())?,
            Self::HighState => self.limit(limit(1)?, beyond(1)),
            Self::HighStateId => limit(1).map(|_| beyond(1).into())?,
            Self::LowState => self.limit(limit(2)?, beyond(2)),
            Self::LowStateId => limit(2).map(|_| beyond(2).into())?,
            Self::LowLowState => self.limit(limit(3)?, beyond(3)),
            Self::LowLowStateId => limit(3).map(|_| beyond(3).into())?,
            _ => return None,
        })
    }

    /// The state of one limit of several; there is none without the limit.
    fn limit(self, _there: Variant, beyond: bool) -> Variant {
        let name = match self {
            Self::HighHighState => "HighHigh",
            Self::HighState => "High",
            Self::LowState => "Low",
            _ => "LowLow",
        };
        match beyond {
            true => text(&format!("{name} active")),
            false => text(&format!("{name} inactive")),
        }
    }
}

/// Whether one who is beyond a limit is beyond another, too: HighHigh is above High.
fn is_beyond(level: usize, limit: usize) -> bool {
    match level {
        0 => limit <= 1,
        3 => limit >= 2,
        level => level == limit,
    }
}

/// The states of an exclusive limit alarm (Part 9, 5.8.18.3).
const LIMIT_STATES: [ObjectId; 4] = [
    ObjectId::ExclusiveLimitStateMachineType_HighHigh,
    ObjectId::ExclusiveLimitStateMachineType_High,
    ObjectId::ExclusiveLimitStateMachineType_Low,
    ObjectId::ExclusiveLimitStateMachineType_LowLow,
];

fn text(text: &str) -> Variant {
    LocalizedText::new("en", text).into()
}

fn two(is: bool, yes: &str, no: &str) -> Variant {
    text(if is { yes } else { no })
}
