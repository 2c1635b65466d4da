//! The types of events that a plant raises.

use serde::Deserialize;
use wire::types::{NodeId, ObjectTypeId};

/// A type of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[allow(clippy::enum_variant_names, reason = "the names of the specification")]
#[allow(missing_docs, reason = "the names of the specification")]
pub enum EventKind {
    BaseEventType,
    SystemEventType,
    DeviceFailureEventType,
    AlarmConditionType,
    LimitAlarmType,
    ExclusiveLimitAlarmType,
    ExclusiveLevelAlarmType,
    NonExclusiveLimitAlarmType,
    NonExclusiveLevelAlarmType,
    DiscreteAlarmType,
    OffNormalAlarmType,
    SystemOffNormalAlarmType,
    TripAlarmType,
    /// Raised by a queue that is full.
    #[serde(skip)]
    EventQueueOverflowEventType,
    /// Before what ConditionRefresh reports.
    #[serde(skip)]
    RefreshStartEventType,
    /// Behind it.
    #[serde(skip)]
    RefreshEndEventType,
    #[serde(skip)]
    AuditOpenSecureChannelEventType,
    #[serde(skip)]
    AuditCreateSessionEventType,
    #[serde(skip)]
    AuditActivateSessionEventType,
    #[serde(skip)]
    AuditCancelEventType,
    #[serde(skip)]
    AuditCertificateExpiredEventType,
    #[serde(skip)]
    AuditCertificateInvalidEventType,
    #[serde(skip)]
    AuditCertificateUntrustedEventType,
    #[serde(skip)]
    AuditCertificateRevokedEventType,
    #[serde(skip)]
    AuditCertificateMismatchEventType,
    #[serde(skip)]
    AuditCertificateDataMismatchEventType,
    #[serde(skip)]
    AuditWriteUpdateEventType,
}

impl EventKind {
    /// The type's node.
    pub fn id(self) -> ObjectTypeId {
        use ObjectTypeId as T;
        match self {
            Self::BaseEventType => T::BaseEventType,
            Self::SystemEventType => T::SystemEventType,
            Self::DeviceFailureEventType => T::DeviceFailureEventType,
            Self::AlarmConditionType => T::AlarmConditionType,
            Self::LimitAlarmType => T::LimitAlarmType,
            Self::ExclusiveLimitAlarmType => T::ExclusiveLimitAlarmType,
            Self::ExclusiveLevelAlarmType => T::ExclusiveLevelAlarmType,
            Self::NonExclusiveLimitAlarmType => T::NonExclusiveLimitAlarmType,
            Self::NonExclusiveLevelAlarmType => T::NonExclusiveLevelAlarmType,
            Self::DiscreteAlarmType => T::DiscreteAlarmType,
            Self::OffNormalAlarmType => T::OffNormalAlarmType,
            Self::SystemOffNormalAlarmType => T::SystemOffNormalAlarmType,
            Self::TripAlarmType => T::TripAlarmType,
            Self::EventQueueOverflowEventType => T::EventQueueOverflowEventType,
            Self::RefreshStartEventType => T::RefreshStartEventType,
            Self::RefreshEndEventType => T::RefreshEndEventType,
            Self::AuditOpenSecureChannelEventType => T::AuditOpenSecureChannelEventType,
            Self::AuditCreateSessionEventType => T::AuditCreateSessionEventType,
            Self::AuditActivateSessionEventType => T::AuditActivateSessionEventType,
            Self::AuditCancelEventType => T::AuditCancelEventType,
            Self::AuditCertificateExpiredEventType => T::AuditCertificateExpiredEventType,
            Self::AuditCertificateInvalidEventType => T::AuditCertificateInvalidEventType,
            Self::AuditCertificateUntrustedEventType => T::AuditCertificateUntrustedEventType,
            Self::AuditCertificateRevokedEventType => T::AuditCertificateRevokedEventType,
            Self::AuditCertificateMismatchEventType => T::AuditCertificateMismatchEventType,
            Self::AuditCertificateDataMismatchEventType => T::AuditCertificateDataMismatchEventType,
            Self::AuditWriteUpdateEventType => T::AuditWriteUpdateEventType,
        }
    }

    /// Whether its events tell the state of a condition.
    pub fn is_condition(self) -> bool {
        self.is_a(ObjectTypeId::ConditionType)
    }

    /// Whether its conditions have limits.
    pub fn has_limits(self) -> bool {
        self.is_a(ObjectTypeId::LimitAlarmType)
    }

    /// Whether it is a type or a subtype of it.
    pub fn is_a(self, of: ObjectTypeId) -> bool {
        let mut at = Some(self.id());
        while let Some(here) = at {
            if here == of {
                return true;
            }
            at = above(here);
        }
        false
    }

    /// The same for any node.
    pub fn is_of(self, of: &NodeId) -> bool {
        match of.as_object_id_type() {
            Some(of) => self.is_a(of),
            None => false,
        }
    }
}

/// The type that a type of events is a subtype of (Part 5, 6.4; Part 9, 5).
fn above(of: ObjectTypeId) -> Option<ObjectTypeId> {
    use ObjectTypeId as T;
    Some(match of {
        T::SystemEventType | T::ConditionType | T::EventQueueOverflowEventType => T::BaseEventType,
        T::DeviceFailureEventType | T::RefreshStartEventType | T::RefreshEndEventType => {
            T::SystemEventType
        }
        T::AuditEventType => T::BaseEventType,
        T::AuditSecurityEventType | T::AuditUpdateEventType => T::AuditEventType,
        T::AuditChannelEventType | T::AuditSessionEventType | T::AuditCertificateEventType => {
            T::AuditSecurityEventType
        }
        T::AuditOpenSecureChannelEventType => T::AuditChannelEventType,
        T::AuditCreateSessionEventType
        | T::AuditActivateSessionEventType
        | T::AuditCancelEventType => T::AuditSessionEventType,
        T::AuditCertificateExpiredEventType
        | T::AuditCertificateInvalidEventType
        | T::AuditCertificateUntrustedEventType
        | T::AuditCertificateRevokedEventType
        | T::AuditCertificateMismatchEventType
        | T::AuditCertificateDataMismatchEventType => T::AuditCertificateEventType,
        T::AuditWriteUpdateEventType => T::AuditUpdateEventType,
        T::AcknowledgeableConditionType => T::ConditionType,
        T::AlarmConditionType => T::AcknowledgeableConditionType,
        T::LimitAlarmType | T::DiscreteAlarmType => T::AlarmConditionType,
        T::ExclusiveLimitAlarmType | T::NonExclusiveLimitAlarmType => T::LimitAlarmType,
        T::ExclusiveLevelAlarmType => T::ExclusiveLimitAlarmType,
        T::NonExclusiveLevelAlarmType => T::NonExclusiveLimitAlarmType,
        T::OffNormalAlarmType => T::DiscreteAlarmType,
        T::SystemOffNormalAlarmType | T::TripAlarmType => T::OffNormalAlarmType,
        _ => return None,
    })
}

/// A NodeId that may be one of the standard object types.
trait AsObjectType {
    fn as_object_id_type(&self) -> Option<ObjectTypeId>;
}

impl AsObjectType for NodeId {
    fn as_object_id_type(&self) -> Option<ObjectTypeId> {
        let number = self.as_u32().filter(|_| self.namespace == 0)?;
        ObjectTypeId::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Builder, standard};

    /// The hierarchy above is that of the standard address space.
    #[test]
    fn types_are_subtypes_of_what_the_specification_says() {
        let mut builder = Builder::new("urn:test", 0);
        standard::load(&mut builder);
        let space = builder.finish();
        let at = |id: ObjectTypeId| space.find_id(&id.into()).unwrap();
        use EventKind as K;
        let all = [
            K::SystemEventType,
            K::DeviceFailureEventType,
            K::AlarmConditionType,
            K::LimitAlarmType,
            K::ExclusiveLimitAlarmType,
            K::ExclusiveLevelAlarmType,
            K::NonExclusiveLimitAlarmType,
            K::NonExclusiveLevelAlarmType,
            K::DiscreteAlarmType,
            K::OffNormalAlarmType,
            K::SystemOffNormalAlarmType,
            K::TripAlarmType,
            K::EventQueueOverflowEventType,
            K::RefreshStartEventType,
            K::RefreshEndEventType,
            K::AuditOpenSecureChannelEventType,
            K::AuditCreateSessionEventType,
            K::AuditActivateSessionEventType,
            K::AuditCancelEventType,
            K::AuditCertificateExpiredEventType,
            K::AuditCertificateInvalidEventType,
            K::AuditCertificateUntrustedEventType,
            K::AuditCertificateRevokedEventType,
            K::AuditCertificateMismatchEventType,
            K::AuditCertificateDataMismatchEventType,
            K::AuditWriteUpdateEventType,
        ];
        for kind in all {
            for of in all {
                let is = space.is_subtype(at(kind.id()), at(of.id()));
                assert_eq!(kind.is_a(of.id()), is, "{kind:?} {of:?}");
            }
            assert!(kind.is_of(&ObjectTypeId::BaseEventType.into()));
            assert!(!kind.is_of(&ObjectTypeId::FolderType.into()));
        }
    }
}
