//! How long a judgement waited, and for whom.

use std::time::Duration;

use pki::Ask;

/// How long a judgement waited for those who were asked, by kind. Of several that were asked at once the wait is that
/// of the last one to answer, or of one that did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waited {
    /// For OCSP responders.
    pub statuses: Duration,
    /// For hosts of revocation lists.
    pub lists: Duration,
    /// For the certificate manager.
    pub manager: Duration,
}

impl Waited {
    /// For all of them.
    pub fn total(&self) -> Duration {
        self.statuses + self.lists + self.manager
    }

    pub(crate) fn add(&mut self, ask: &Ask, took: Duration) {
        let of = match ask {
            Ask::Status(_) => &mut self.statuses,
            Ask::List => &mut self.lists,
            Ask::Certificate(_) => &mut self.manager,
        };
        *of += took;
    }
}
