//! Paths of browse names.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// `/Objects/2:Folder/*`: from the root folder along hierarchical references.
///
/// The text follows the relative paths of Part 4, A.2: `/` stands before each name, a namespace index
/// and a colon may stand in front of it, and `&` takes the special meaning of the next character.
/// Ours are the star, which is any name, and two of them, which are whatever is below.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BrowsePath {
    /// Never empty.
    steps: Vec<PathStep>,
}

/// One name of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// `Folder` or `2:Folder`.
    Name {
        /// The namespace index; none: as typed without one.
        namespace: Option<u16>,
        /// The name.
        name: String,
    },
    /// `*`: whatever is there.
    Any,
    /// `**`: whatever is below, however deep.
    Below,
}

/// Why a text is no path.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error(
    "{text:?} is no path: {reason} (want /Objects/2:Folder/*, with & before / : * & in a name)"
)]
pub struct PathError {
    text: String,
    reason: &'static str,
}

const ALONE: &str = "* and ** stand alone between slashes";

/// What Part 4, A.2 reserves, and our star.
const RESERVED: &[char] = &['/', '.', '<', '>', ':', '#', '!', '&', '*'];

impl BrowsePath {
    /// The names, from the root folder on.
    pub fn steps(&self) -> &[PathStep] {
        &self.steps
    }

    /// Whether a star stands in it, so that it may lead to many nodes.
    pub fn has_wildcard(&self) -> bool {
        let wild = |step: &PathStep| matches!(step, PathStep::Any | PathStep::Below);
        self.steps.iter().any(wild)
    }
}

impl FromStr for BrowsePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let wrong = |reason| PathError {
            text: text.to_owned(),
            reason,
        };
        let mut letters = text.chars();
        if letters.next() != Some('/') {
            return Err(wrong("it does not begin with /"));
        }
        let mut steps = Vec::new();
        loop {
            let mut namespace = None;
            let mut name = String::new();
            let mut stars = 0;
            let mut escaped = false;
            let last = loop {
                match letters.next() {
                    None => break true,
                    Some('/') => break false,
                    Some('&') => {
                        name.push(
                            letters
                                .next()
                                .ok_or_else(|| wrong("nothing follows the &"))?,
                        );
                        escaped = true;
                    }
                    Some('*') if stars == 2 => return Err(wrong(ALONE)),
                    Some('*') => stars += 1,
                    Some(':') if namespace.is_none() && !escaped => {
                        let index = name.parse();
                        namespace =
                            Some(index.map_err(|_| wrong("a namespace index is 0 to 65535"))?);
                        name.clear();
                    }
                    Some(':') => return Err(wrong("a colon in a name is typed &:")),
                    Some(letter) => name.push(letter),
                }
            };
            let nameless = name.is_empty();
            steps.push(match stars {
                0 if nameless => return Err(wrong("a name is missing")),
                0 => PathStep::Name { namespace, name },
                1 if nameless && namespace.is_none() => PathStep::Any,
                2 if nameless && namespace.is_none() => PathStep::Below,
                _ => return Err(wrong(ALONE)),
            });
            if last {
                break;
            }
        }
        Ok(Self { steps })
    }
}

impl fmt::Display for BrowsePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            f.write_str("/")?;
            match step {
                PathStep::Any => f.write_str("*")?,
                PathStep::Below => f.write_str("**")?,
                PathStep::Name { namespace, name } => {
                    if let Some(index) = namespace {
                        write!(f, "{index}:")?;
                    }
                    for letter in name.chars() {
                        if RESERVED.contains(&letter) {
                            f.write_str("&")?;
                        }
                        write!(f, "{letter}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_has_names_with_their_namespace_and_stars() {
        let path: BrowsePath = "/Objects/2:Folder/*".parse().unwrap();
        assert_eq!(
            path.steps(),
            [
                PathStep::Name {
                    namespace: None,
                    name: "Objects".into()
                },
                PathStep::Name {
                    namespace: Some(2),
                    name: "Folder".into()
                },
                PathStep::Any,
            ]
        );
        assert!(path.has_wildcard());
        let all: BrowsePath = "/Objects/**".parse().unwrap();
        assert_eq!(all.steps().last(), Some(&PathStep::Below));
        assert!(all.has_wildcard());
    }

    #[test]
    fn a_wrong_path_is_told_why() {
        for (text, reason) in [
            ("", "does not begin"),
            ("Objects", "does not begin"),
            ("/", "a name is missing"),
            ("//a", "a name is missing"),
            ("/a/", "a name is missing"),
            ("/x:a", "namespace index"),
            ("/1:2:a", "typed &:"),
            ("/a*", "stand alone"),
            ("/*a", "stand alone"),
            ("/**a", "stand alone"),
            ("/***", "stand alone"),
            ("/a&", "nothing follows"),
        ] {
            let error = text.parse::<BrowsePath>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_name_can_be_typed(names in prop::collection::vec(("[ -~äµ]{1,8}", any::<Option<u16>>()), 1..4)) {
            let steps = names.into_iter().map(|(name, namespace)| PathStep::Name { namespace, name });
            let path = BrowsePath { steps: steps.collect() };
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in "[/a1:*&.]{0,12}") {
            if let Ok(path) = text.parse::<BrowsePath>() {
                prop_assert_eq!(path.to_string().parse(), Ok(path));
            }
        }
    }
}
