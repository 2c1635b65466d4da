//! What there is a histogram of.

/// What there is a histogram of, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Completed − planned: what a user of the system would have waited.
    Response,
    /// Completed − sent: what the server and the way to it took.
    Service,
    /// Sent − planned, of every operation that was sent: the sum of the next three.
    Lateness,
    /// The generator woke up late or was busy.
    Pacer,
    /// All slots were in flight.
    Slot,
    /// The socket was full.
    Socket,
    /// From the kernel's receive stamp of a buffer to the end of draining it.
    Lag,
    /// Of each notified value: received − its source timestamp. The next three add up to it.
    Delay,
    /// The part of the delay that sampling and publishing at intervals bring about.
    Phase,
    /// The part of the delay that the value waited longer in the server.
    Queueing,
    /// Received − timestamp of the response header.
    Transport,
    /// Of each notified value: received − its server timestamp.
    ServerDelay,
    /// Of each notification message: received − its publish time.
    PublishDelay,
    /// Of each value of a counter: received − the instant that its count tells.
    CounterDelay,
    /// Between the arrivals of two messages of a subscription.
    Arrival,
    /// Between the publish times of two messages of a subscription.
    Cycle,
    /// How far a cycle is from a multiple of the publishing interval.
    Jitter,
}

impl Measure {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 17] = [
        Self::Response,
        Self::Service,
        Self::Lateness,
        Self::Pacer,
        Self::Slot,
        Self::Socket,
        Self::Lag,
        Self::Delay,
        Self::Phase,
        Self::Queueing,
        Self::Transport,
        Self::ServerDelay,
        Self::PublishDelay,
        Self::CounterDelay,
        Self::Arrival,
        Self::Cycle,
        Self::Jitter,
    ];

    /// Its name in thresholds and result files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Lateness => "lateness",
            Self::Pacer => "pacer",
            Self::Slot => "slot",
            Self::Socket => "socket",
            Self::Lag => "lag",
            Self::Delay => "delay",
            Self::Phase => "phase",
            Self::Queueing => "queueing",
            Self::Transport => "transport",
            Self::ServerDelay => "server-delay",
            Self::PublishDelay => "publish-delay",
            Self::CounterDelay => "counter-delay",
            Self::Arrival => "arrival",
            Self::Cycle => "cycle",
            Self::Jitter => "jitter",
        }
    }
}
