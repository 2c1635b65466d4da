//! The fields of events: where they are declared.

use wire::types::{DataTypeId, ObjectTypeId, QualifiedName, VariableTypeId};

use super::EventKind;

/// What is known of a field.
#[derive(Debug)]
pub struct Row {
    /// The field.
    pub field: Field,
    /// The type of events that declares it.
    pub of: ObjectTypeId,
    /// Its browse path below the type, all of it in namespace 0.
    pub path: &'static [&'static str],
    /// The type of its value.
    pub data_type: DataTypeId,
    /// The type of its variable.
    pub variable: VariableTypeId,
}

macro_rules! fields {
    ($($field:ident: $of:ident, [$($path:literal),*], $data:ident, $variable:ident;)*) => {
        /// A field of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names of the specification")]
        pub enum Field {
            $($field,)*
            /// The id of the condition: the attribute NodeId with an empty path (Part 9, 5.5.2).
            ConditionId,
        }

        /// All fields that have a path.
        pub const FIELDS: &[Row] = &[
            $(Row {
                field: Field::$field,
                of: ObjectTypeId::$of,
                path: &[$($path),*],
                data_type: DataTypeId::$data,
                variable: VariableTypeId::$variable,
            },)*
        ];
    };
}

fields! {
    EventId: BaseEventType, ["EventId"], ByteString, PropertyType;
    EventType: BaseEventType, ["EventType"], NodeId, PropertyType;
    SourceNode: BaseEventType, ["SourceNode"], NodeId, PropertyType;
    SourceName: BaseEventType, ["SourceName"], String, PropertyType;
    Time: BaseEventType, ["Time"], UtcTime, PropertyType;
    ReceiveTime: BaseEventType, ["ReceiveTime"], UtcTime, PropertyType;
    Message: BaseEventType, ["Message"], LocalizedText, PropertyType;
    Severity: BaseEventType, ["Severity"], UInt16, PropertyType;
    ConditionClassId: ConditionType, ["ConditionClassId"], NodeId, PropertyType;
    ConditionClassName: ConditionType, ["ConditionClassName"], LocalizedText, PropertyType;
    ConditionName: ConditionType, ["ConditionName"], String, PropertyType;
    BranchId: ConditionType, ["BranchId"], NodeId, PropertyType;
    Retain: ConditionType, ["Retain"], Boolean, PropertyType;
    EnabledState: ConditionType, ["EnabledState"], LocalizedText, TwoStateVariableType;
    EnabledStateId: ConditionType, ["EnabledState", "Id"], Boolean, PropertyType;
    Quality: ConditionType, ["Quality"], StatusCode, ConditionVariableType;
    QualityTime: ConditionType, ["Quality", "SourceTimestamp"], UtcTime, PropertyType;
    LastSeverity: ConditionType, ["LastSeverity"], UInt16, ConditionVariableType;
    LastSeverityTime: ConditionType, ["LastSeverity", "SourceTimestamp"], UtcTime, PropertyType;
    Comment: ConditionType, ["Comment"], LocalizedText, ConditionVariableType;
    CommentTime: ConditionType, ["Comment", "SourceTimestamp"], UtcTime, PropertyType;
    ClientUserId: ConditionType, ["ClientUserId"], String, PropertyType;
    AckedState: AcknowledgeableConditionType, ["AckedState"], LocalizedText, TwoStateVariableType;
    AckedStateId: AcknowledgeableConditionType, ["AckedState", "Id"], Boolean, PropertyType;
    ConfirmedState: AcknowledgeableConditionType, ["ConfirmedState"], LocalizedText, TwoStateVariableType;
    ConfirmedStateId: AcknowledgeableConditionType, ["ConfirmedState", "Id"], Boolean, PropertyType;
    ActiveState: AlarmConditionType, ["ActiveState"], LocalizedText, TwoStateVariableType;
    ActiveStateId: AlarmConditionType, ["ActiveState", "Id"], Boolean, PropertyType;
    ActiveStateTime: AlarmConditionType, ["ActiveState", "TransitionTime"], UtcTime, PropertyType;
    InputNode: AlarmConditionType, ["InputNode"], NodeId, PropertyType;
    SuppressedOrShelved: AlarmConditionType, ["SuppressedOrShelved"], Boolean, PropertyType;
    HighHighLimit: LimitAlarmType, ["HighHighLimit"], Double, PropertyType;
    HighLimit: LimitAlarmType, ["HighLimit"], Double, PropertyType;
    LowLimit: LimitAlarmType, ["LowLimit"], Double, PropertyType;
    LowLowLimit: LimitAlarmType, ["LowLowLimit"], Double, PropertyType;
    LimitState: ExclusiveLimitAlarmType, ["LimitState", "CurrentState"], LocalizedText, FiniteStateVariableType;
    LimitStateId: ExclusiveLimitAlarmType, ["LimitState", "CurrentState", "Id"], NodeId, PropertyType;
    HighHighState: NonExclusiveLimitAlarmType, ["HighHighState"], LocalizedText, TwoStateVariableType;
    HighHighStateId: NonExclusiveLimitAlarmType, ["HighHighState", "Id"], Boolean, PropertyType;
    HighState: NonExclusiveLimitAlarmType, ["HighState"], LocalizedText, TwoStateVariableType;
    HighStateId: NonExclusiveLimitAlarmType, ["HighState", "Id"], Boolean, PropertyType;
    LowState: NonExclusiveLimitAlarmType, ["LowState"], LocalizedText, TwoStateVariableType;
    LowStateId: NonExclusiveLimitAlarmType, ["LowState", "Id"], Boolean, PropertyType;
    LowLowState: NonExclusiveLimitAlarmType, ["LowLowState"], LocalizedText, TwoStateVariableType;
    LowLowStateId: NonExclusiveLimitAlarmType, ["LowLowState", "Id"], Boolean, PropertyType;
    NormalState: OffNormalAlarmType, ["NormalState"], NodeId, PropertyType;
    ActionTimeStamp: AuditEventType, ["ActionTimeStamp"], UtcTime, PropertyType;
    Status: AuditEventType, ["Status"], Boolean, PropertyType;
    ServerId: AuditEventType, ["ServerId"], String, PropertyType;
    ClientAuditEntryId: AuditEventType, ["ClientAuditEntryId"], String, PropertyType;
    StatusCodeId: AuditSecurityEventType, ["StatusCodeId"], StatusCode, PropertyType;
    SecureChannelId: AuditChannelEventType, ["SecureChannelId"], String, PropertyType;
    ClientCertificateThumbprint: AuditOpenSecureChannelEventType, ["ClientCertificateThumbprint"], String, PropertyType;
    SecurityPolicyUri: AuditOpenSecureChannelEventType, ["SecurityPolicyUri"], String, PropertyType;
    SecurityMode: AuditOpenSecureChannelEventType, ["SecurityMode"], MessageSecurityMode, PropertyType;
    SessionId: AuditSessionEventType, ["SessionId"], NodeId, PropertyType;
    RevisedSessionTimeout: AuditCreateSessionEventType, ["RevisedSessionTimeout"], Duration, PropertyType;
    RequestHandle: AuditCancelEventType, ["RequestHandle"], UInt32, PropertyType;
    Certificate: AuditCertificateEventType, ["Certificate"], ByteString, PropertyType;
    AttributeId: AuditWriteUpdateEventType, ["AttributeId"], UInt32, PropertyType;
    NewValue: AuditWriteUpdateEventType, ["NewValue"], BaseDataType, PropertyType;
}

impl Row {
    /// The row of a browse path.
    pub fn at(path: &[QualifiedName]) -> Option<&'static Self> {
        FIELDS.iter().find(|row| {
            row.path.len() == path.len()
                && row
                    .path
                    .iter()
                    .zip(path)
                    .all(|(own, asked)| asked.namespace_index == 0 && asked.name.as_ref() == *own)
        })
    }
}

impl Field {
    /// The type that declares it.
    pub fn of(self) -> ObjectTypeId {
        let row = FIELDS.iter().find(|row| row.field == self);
        row.map_or(ObjectTypeId::ConditionType, |row| row.of)
    }

    /// Whether events of a type have it: some types that are no subtypes of each other declare the same field.
    pub fn is_in(self, kind: EventKind) -> bool {
        use ObjectTypeId as T;
        let also: &[T] = match self {
            Self::ClientUserId => &[T::AuditEventType],
            Self::SecureChannelId | Self::ClientCertificateThumbprint => &[
                T::AuditCreateSessionEventType,
                T::AuditActivateSessionEventType,
            ],
            _ => &[],
        };
        kind.is_a(self.of()) || also.iter().any(|of| kind.is_a(*of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Builder, standard};

    /// Every field is where the standard address space has it, with its type.
    #[test]
    fn fields_are_declared_where_the_specification_has_them() {
        let mut builder = Builder::new("urn:test", 0);
        standard::load(&mut builder);
        let space = builder.finish();
        for row in FIELDS {
            let mut at = space.find_id(&row.of.into()).unwrap();
            for name in row.path {
                let links = space.links(at);
                let below = links.iter().filter(|link| link.forward);
                let found = below.map(|link| link.target).find(|target| {
                    space
                        .node(*target)
                        .unwrap()
                        .is_called(&QualifiedName::new(0, *name))
                });
                // TransitionTime is optional and declared with the type of the variable.
                match found {
                    Some(found) => at = found,
                    None => {
                        assert!(["TransitionTime", "Id"].contains(name), "{row:?}");
                        break;
                    }
                }
            }
            if let Some(variable) = space.node(at).unwrap().variable()
                && space.node(at).unwrap().browse_name().name.as_ref() == *row.path.last().unwrap()
            {
                assert_eq!(variable.data_type, row.data_type, "{row:?}");
            }
        }
    }
}
