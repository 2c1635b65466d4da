//! What a socket, a pipe or a timer says of a connection.

/// What happened on a connection that was not looked at yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ready {
    pub readable: bool,
    pub writable: bool,
    /// Its time is up, or may be.
    pub due: bool,
}
