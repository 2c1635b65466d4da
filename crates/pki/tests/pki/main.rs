//! What this crate makes, keeps and refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asking;
mod hostile;
mod openssl;
mod plant;
mod refusals;
mod review;
mod store;
