//! The topic tree of Part 14, 7.3.4.7: `<prefix>/<json|uadp>/<type>/<PublisherId>[/<WriterGroup>[/<DataSetWriter>]]`.

/// The prefix that Part 14 has for systems without their own.
pub const PREFIX: &str = "opcua";

/// What of a topic would be read as several levels or as a wildcard is replaced.
fn level(name: &str) -> String {
    name.replace(['/', '+', '#', '\0'], "_")
}

/// Where the messages of one publisher go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    prefix: String,
    encoding: &'static str,
    publisher: String,
}

impl Tree {
    /// Of this publisher, below a prefix of one or more levels.
    pub fn new(prefix: &str, json: bool, publisher: &str) -> Self {
        Self {
            prefix: prefix.trim_matches('/').to_owned(),
            encoding: if json { "json" } else { "uadp" },
            publisher: level(publisher),
        }
    }

    fn topic(&self, kind: &str, rest: &[&str]) -> String {
        let mut topic = format!(
            "{}/{}/{kind}/{}",
            self.prefix, self.encoding, self.publisher
        );
        for it in rest {
            topic.push('/');
            topic.push_str(&level(it));
        }
        topic
    }

    /// DataSetMessages of a writer group.
    pub fn data(&self, group: &str) -> String {
        self.topic("data", &[group])
    }

    /// The filter for DataSetMessages of all writer groups.
    pub fn all_data(&self) -> String {
        self.topic("data", &[]) + "/#"
    }

    /// What describes the DataSets of a writer; retained.
    pub fn metadata(&self, group: &str, writer: &str) -> String {
        self.topic("metadata", &[group, writer])
    }

    /// How the publisher is; retained, and the broker's word when it has gone.
    pub fn status(&self) -> String {
        self.topic("status", &[])
    }
}

/// Whether a topic is one for DataSetMessages in JSON, so that fields may stand there without any header.
pub fn is_json_data(topic: &str) -> bool {
    topic.contains("/json/data/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_those_of_part_14() {
        let tree = Tree::new("opcua", true, "7");
        assert_eq!(tree.data("group"), "opcua/json/data/7/group");
        assert_eq!(tree.all_data(), "opcua/json/data/7/#");
        assert_eq!(tree.metadata("group", "w"), "opcua/json/metadata/7/group/w");
        assert_eq!(tree.status(), "opcua/json/status/7");
        let odd = Tree::new("/site/line/", false, "a/b+#");
        assert_eq!(odd.data("g/1"), "site/line/uadp/data/a_b__/g_1");
        assert!(is_json_data(&tree.data("x")) && !is_json_data(&odd.data("x")));
    }
}
