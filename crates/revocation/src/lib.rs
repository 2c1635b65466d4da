//! Asking authorities whether a certificate was revoked, and answering as one, over HTTP.
//!
//! `pki` judges without sockets: it tells what has to be asked. [`Asker`] asks it, within bounds of time, size and
//! number, and keeps what was answered. [`Responder`] is the other side: an OCSP responder and a host of revocation
//! lists that can be slow, wrong or out of order on purpose. OPC UA is not spoken here: who may ask another server has a
//! [`CertificateManager`]. Whoever else has a page to read over HTTP takes the same
//! [`exchange`], and whoever has something to send takes [`post`].

mod address;
mod asker;
mod fetch;
mod post;
mod responder;
mod waited;

pub use address::{Address, BadAddress};
pub use asker::{Asker, Asking, CertificateManager, TIMEOUT};
pub use fetch::{LATE, exchange};
pub use post::{HttpReply, post};
pub use responder::{Account, Answers, Outage, Reply, Responder, Trouble};
pub use waited::Waited;
