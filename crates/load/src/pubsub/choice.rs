//! Whose messages a listener takes, of all that come there.

use pubsub::Header;
use pubsub::json::scan::Text;

/// Publishers and writer groups, each as it is printed; none of a kind: all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// PublisherIds.
    pub publishers: Vec<String>,
    /// WriterGroupIds, or names of groups in JSON.
    pub groups: Vec<String>,
}

impl Choice {
    /// Whether nothing is left out.
    pub(super) fn is_all(&self) -> bool {
        self.publishers.is_empty() && self.groups.is_empty()
    }

    /// Of a message in UADP, as far as its header says, which is never encrypted.
    pub(super) fn takes(&self, header: &Header<'_>) -> bool {
        let publisher = header.publisher_id.as_ref().map(ToString::to_string);
        let group = header.writer_group_id().map(|it| it.to_string());
        is_among(&self.publishers, publisher.as_deref()) && is_among(&self.groups, group.as_deref())
    }

    /// Of a message in JSON.
    pub(super) fn takes_text(&self, publisher: Option<Text<'_>>, group: Option<Text<'_>>) -> bool {
        let [publisher, group] = [publisher, group].map(|it| it.map(Text::read));
        is_among(&self.publishers, publisher.as_deref()) && is_among(&self.groups, group.as_deref())
    }
}

/// What does not say who it is of is of nobody who was chosen.
fn is_among(chosen: &[String], name: Option<&str>) -> bool {
    chosen.is_empty() || name.is_some_and(|name| chosen.iter().any(|it| it == name))
}
