//! What a server spends time on: the terms of a cost model.

use serde::{Deserialize, Serialize};

use crate::workload::{Security, Workload};

/// Something that a server does, and that costs time each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// Being there.
    Base,
    /// A Publish response with values.
    Message,
    /// A value in one.
    Value,
    /// A Read request.
    Read,
    /// A value in one.
    ReadValue,
    /// A Write request.
    Write,
    /// A value in one.
    WriteValue,
    /// A message that is signed.
    SignedMessage,
    /// A message that is signed and encrypted.
    EncryptedMessage,
    /// A thousand bytes of values that are signed or encrypted.
    SecuredBytes,
    /// A sample between two publishings.
    Sample,
    /// A sample for a publishing.
    SampleAtPublishing,
    /// An update of a variable.
    Update,
    /// A session that is open.
    Session,
    /// A subscription that is open.
    Subscription,
    /// A monitored item that is open.
    Item,
    /// A timer or request that wakes the server up.
    WakeUp,
    /// A sample, once more for each doubling of the items.
    SpreadSample,
    /// An update, once more for each doubling of the variables.
    SpreadUpdate,
    /// A variable: of memory.
    Variable,
    /// A byte of a value itself: of bytes that are sent.
    PayloadByte,
    /// A DataSetMessage in a NetworkMessage.
    DataSet,
}

impl Term {
    /// All that takes time. Where two cannot be told apart, the earlier one stands for both.
    pub const ALL: [Self; 20] = [
        Self::Base,
        Self::Message,
        Self::Value,
        Self::Read,
        Self::ReadValue,
        Self::Write,
        Self::WriteValue,
        Self::SignedMessage,
        Self::EncryptedMessage,
        Self::SecuredBytes,
        Self::Sample,
        Self::SampleAtPublishing,
        Self::Update,
        Self::Session,
        Self::Subscription,
        Self::Item,
        Self::WakeUp,
        Self::SpreadSample,
        Self::SpreadUpdate,
        Self::DataSet,
    ];

    /// What takes memory.
    pub const OF_MEMORY: [Self; 5] = [
        Self::Base,
        Self::Session,
        Self::Subscription,
        Self::Item,
        Self::Variable,
    ];

    /// What takes bytes of messages to clients.
    pub const OF_BYTES: [Self; 11] = [
        Self::Base,
        Self::Message,
        Self::Value,
        Self::Read,
        Self::ReadValue,
        Self::Write,
        Self::WriteValue,
        Self::SignedMessage,
        Self::EncryptedMessage,
        Self::PayloadByte,
        Self::DataSet,
    ];

    /// As people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Message => "message",
            Self::Value => "value",
            Self::Read => "read",
            Self::ReadValue => "read value",
            Self::Write => "write",
            Self::WriteValue => "written value",
            Self::SignedMessage => "signed message",
            Self::EncryptedMessage => "encrypted message",
            Self::SecuredBytes => "secured kB",
            Self::Sample => "sample",
            Self::SampleAtPublishing => "sample at publishing",
            Self::Update => "update",
            Self::Session => "session",
            Self::Subscription => "subscription",
            Self::Item => "item",
            Self::WakeUp => "wake-up",
            Self::SpreadSample => "spread sample",
            Self::SpreadUpdate => "spread update",
            Self::Variable => "variable",
            Self::PayloadByte => "payload byte",
            Self::DataSet => "DataSetMessage",
        }
    }

    /// In what its cost is given.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Base => "us/s",
            Self::Session | Self::Subscription | Self::Item => "us/s each",
            _ => "us each",
        }
    }

    /// Whether publishers of PubSub do it, or servers.
    pub const fn is_of(self, publisher: bool) -> bool {
        match self {
            Self::Base
            | Self::Message
            | Self::Value
            | Self::SignedMessage
            | Self::EncryptedMessage
            | Self::SecuredBytes
            | Self::WakeUp
            | Self::PayloadByte => true,
            Self::DataSet => publisher,
            _ => !publisher,
        }
    }

    /// Whether it bends the model: such terms need more configurations than the others.
    pub const fn is_curved(self) -> bool {
        matches!(self, Self::WakeUp | Self::SpreadSample | Self::SpreadUpdate)
    }

    /// How much of it there is in a second.
    pub fn rate(self, of: &Workload, wake: Wake) -> f64 {
        let secured = |mode| match of.security == mode {
            true => of.sent_per_s(),
            false => 0.0,
        };
        let samples = || of.samples_between_per_s() + of.samples_at_publishing_per_s();
        if !self.is_of(of.pubsub.is_some()) {
            return 0.0;
        }
        match self {
            Self::Base => 1.0,
            Self::Message => of.messages_per_s(),
            Self::Value => of.values_per_s(),
            Self::Read => of.reads_per_s,
            Self::ReadValue => of.reads_per_s * of.batch,
            Self::Write => of.writes_per_s,
            Self::WriteValue => of.writes_per_s * of.batch,
            Self::SignedMessage => secured(Security::Sign),
            Self::EncryptedMessage => secured(Security::SignAndEncrypt),
            Self::SecuredBytes => match of.security {
                Security::None => 0.0,
                _ => of.value_bytes_per_s() / 1000.0,
            },
            Self::Sample => of.samples_between_per_s(),
            Self::SampleAtPublishing => of.samples_at_publishing_per_s(),
            Self::Update => of.updates_per_s(),
            Self::Session => of.sessions,
            Self::Subscription => of.all_subscriptions(),
            Self::Item => of.all_items(),
            Self::WakeUp => wake.effective(of.wake_ups_per_s()),
            Self::SpreadSample => samples() * libm::log2(1.0 + of.all_items() / 64.0),
            Self::Variable => of.variables,
            Self::PayloadByte => (of.values_per_s() + of.reads_per_s * of.batch) * of.payload_bytes,
            Self::DataSet => of.data_sets_per_s(),
            Self::SpreadUpdate => of.updates_per_s() * libm::log2(1.0 + of.variables / 64.0),
        }
    }
}

/// How the cost of waking up grows: a server that is awake already is woken for less.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wake {
    /// In proportion.
    Linear,
    /// T / (1 + T/L): at most L full wake-ups in a second.
    Saturating(f64),
    /// T to this power.
    Power(f64),
}

impl Wake {
    /// What of so many wake-ups per second is paid in full.
    fn effective(self, per_s: f64) -> f64 {
        match self {
            Self::Linear => per_s,
            Self::Saturating(most) => per_s / (1.0 + per_s / most),
            Self::Power(exponent) => libm::pow(per_s, exponent),
        }
    }
}
