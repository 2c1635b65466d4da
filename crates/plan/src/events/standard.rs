//! Types of events and their fields as the specification has them (Part 5, 6.4; Part 9).

use wire::types::ObjectTypeId;

use ObjectTypeId as T;

/// What a field holds, as far as a comparison has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A Boolean.
    Flag,
    /// A UInt16.
    Small,
    /// A Double.
    Real,
    /// A String or LocalizedText.
    Text,
    /// A UtcTime.
    Time,
    /// A NodeId.
    Node,
    /// A StatusCode.
    Status,
    /// A ByteString.
    Bytes,
}

/// A field of a type of events, all of its path in namespace 0.
#[derive(Debug)]
pub struct Known {
    /// Its path, with slashes.
    pub path: &'static str,
    /// The type that declares it.
    pub of: ObjectTypeId,
    /// What it holds.
    pub holds: Holds,
}

macro_rules! fields {
    ($($of:ident { $($path:literal $holds:ident)* })*) => {
        /// Those that a filter may name without their type.
        pub const FIELDS: &[Known] = &[
            $($(Known { path: $path, of: T::$of, holds: Holds::$holds },)*)*
        ];
    };
}

fields! {
    BaseEventType {
        "EventId" Bytes "EventType" Node "SourceNode" Node "SourceName" Text "Time" Time
        "ReceiveTime" Time "Message" Text "Severity" Small
        "ConditionClassId" Node "ConditionClassName" Text
    }
    ConditionType {
        "ConditionName" Text "BranchId" Node "Retain" Flag
        "EnabledState" Text "EnabledState/Id" Flag "EnabledState/TransitionTime" Time
        "Quality" Status "Quality/SourceTimestamp" Time
        "LastSeverity" Small "LastSeverity/SourceTimestamp" Time
        "Comment" Text "Comment/SourceTimestamp" Time "ClientUserId" Text
    }
    AcknowledgeableConditionType {
        "AckedState" Text "AckedState/Id" Flag "AckedState/TransitionTime" Time
        "ConfirmedState" Text "ConfirmedState/Id" Flag "ConfirmedState/TransitionTime" Time
    }
    AlarmConditionType {
        "ActiveState" Text "ActiveState/Id" Flag "ActiveState/TransitionTime" Time
        "ActiveState/EffectiveDisplayName" Text
        "InputNode" Node "SuppressedOrShelved" Flag
        "SuppressedState" Text "SuppressedState/Id" Flag
        "OutOfServiceState" Text "OutOfServiceState/Id" Flag
        "SilenceState" Text "SilenceState/Id" Flag
        "ShelvingState/CurrentState" Text "ShelvingState/CurrentState/Id" Node
    }
    LimitAlarmType {
        "HighHighLimit" Real "HighLimit" Real "LowLimit" Real "LowLowLimit" Real
    }
    ExclusiveLimitAlarmType {
        "LimitState/CurrentState" Text "LimitState/CurrentState/Id" Node
    }
    NonExclusiveLimitAlarmType {
        "HighHighState" Text "HighHighState/Id" Flag "HighState" Text "HighState/Id" Flag
        "LowState" Text "LowState/Id" Flag "LowLowState" Text "LowLowState/Id" Flag
    }
    OffNormalAlarmType { "NormalState" Node }
    DialogConditionType {
        "DialogState" Text "DialogState/Id" Flag "Prompt" Text
    }
    AuditEventType {
        "ActionTimeStamp" Time "Status" Flag "ServerId" Text "ClientAuditEntryId" Text
    }
}

/// A type by its name.
pub fn kind(name: &str) -> Option<ObjectTypeId> {
    // The list of the crate has numbers only; few of them are types.
    (0..=u32::from(u16::MAX))
        .filter_map(|n| T::try_from(n).ok())
        .find(|id| format!("{id:?}") == name)
}

/// What is known of a path.
pub fn field(path: &str) -> Option<&'static Known> {
    FIELDS.iter().find(|known| known.path == path)
}
