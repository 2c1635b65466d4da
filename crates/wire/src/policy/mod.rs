//! Security policies: the algorithms a SecureChannel is protected with.
