//! Sessions: created, activated, moved to another channel, closed or timed out.
