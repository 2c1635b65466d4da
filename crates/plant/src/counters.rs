//! What the server counts, for its diagnostics and for people. Summed when asked.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use wire::types::StatusCode;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What all threads of a server counted together.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Count,)*
        }

        /// The same at one moment.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Counted {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl std::ops::AddAssign for Counted {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Counters {
            /// Reads them all.
            pub fn read(&self) -> Counted {
                Counted {
                    $($name: self.$name.get(),)*
                }
            }
        }
    };
}

counters! {
    /// Connections that are open.
    connections,
    /// Connections ever accepted.
    cumulated_connections,
    /// Connections turned away because there were too many.
    refused_connections,
    /// Secure channels ever opened, renewals not counted.
    channels,
    /// Secure channels refused for their certificate or their signatures.
    security_rejected_channels,
    /// Sessions that exist.
    sessions,
    /// Sessions ever created.
    cumulated_sessions,
    /// Sessions that could not be created or activated.
    rejected_sessions,
    /// Those of them refused for reasons of security.
    security_rejected_sessions,
    /// Sessions that died by their timeout.
    session_timeouts,
    /// Sessions that ended by a mistake of their client.
    aborted_sessions,
    /// Requests answered, faults too.
    requests,
    /// Requests answered with a ServiceFault.
    rejected_requests,
    /// Those of them refused for reasons of security.
    security_rejected_requests,
    /// Nodes read.
    reads,
    /// Nodes written.
    writes,
    /// Stored values that were replaced: nodes written with success, and all turns of update
    /// loops.
    updates,
    /// Methods called.
    calls,
    /// Subscriptions that exist.
    subscriptions,
    /// Subscriptions ever created.
    cumulated_subscriptions,
    /// Monitored items that exist.
    items,
    /// Notification messages sent.
    messages,
    /// Values in them.
    notifications,
    /// Notification messages sent again.
    republished,
    /// Values that were dropped because a queue was full.
    overflows,
    /// Notification messages that were acknowledged.
    acknowledged,
    /// Bytes of messages that connections brought, without what TLS, TCP and IP add to them.
    received_bytes,
    /// Bytes of messages that connections took, likewise.
    sent_bytes,
}

impl Counters {
    /// A request was answered with a ServiceFault.
    pub fn refused(&self, status: StatusCode) {
        self.rejected_requests.add(1);
        if matches!(
            status,
            StatusCode::BadSessionIdInvalid
                | StatusCode::BadSecureChannelIdInvalid
                | StatusCode::BadSessionNotActivated
        ) {
            self.security_rejected_requests.add(1);
        }
    }
}

/// One count.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// So many more.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// So many less.
    pub fn sub(&self, n: u64) {
        let before = self.0.fetch_sub(n, Ordering::Relaxed);
        debug_assert!(before >= n, "{n} fewer than {before}");
    }

    /// How many.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more unless there are `limit` already.
    pub fn admit(&self, limit: usize) -> bool {
        let limit = limit as u64;
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < limit).then_some(n + 1)
            })
            .is_ok()
    }
}
