//! What is loaded: endpoints as typed, one or many.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use wire::url::{Url, UrlError};

use crate::listed::{self, ListError};
use crate::text;

/// One target argument: an endpoint, a range of ports, or a file that lists such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpec {
    /// `opc.tcp://host:port/path`.
    One(Url),
    /// `opc.tcp://host:4840-4889/path`: an endpoint at each port.
    Ports {
        /// The endpoint at the first port.
        first: Url,
        /// The last port.
        last: u16,
    },
    /// `@file`: one a line.
    File(String),
}

/// Why a text is no target.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum TargetError {
    /// Not an endpoint.
    #[error(
        "{0} (want opc.tcp://host:port/path, a range of ports as in opc.tcp://host:4840-4889, or @file)"
    )]
    Url(#[from] UrlError),
    /// The range runs backwards.
    #[error("{0:?}: the ports run backwards (want the smaller one first)")]
    Backwards(String),
    /// An `@` with nothing behind it.
    #[error("\"@\" names no file")]
    File,
}

/// A server as a person types it: a host alone is one over `opc.tcp`, at the registered port.
pub fn typed(text: &str) -> Result<Url, UrlError> {
    with_scheme(text).parse()
}

fn with_scheme(text: &str) -> Cow<'_, str> {
    match text.contains("://") || text.is_empty() {
        true => text.into(),
        false => format!("opc.tcp://{text}").into(),
    }
}

impl FromStr for TargetSpec {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        if let Some(file) = text.strip_prefix('@') {
            return match file {
                "" => Err(TargetError::File),
                file => Ok(Self::File(file.to_owned())),
            };
        }
        let text = &*with_scheme(text);
        let Some((before, last, after)) = ports(text) else {
            return Ok(Self::One(text.parse()?));
        };
        let first: Url = format!("{before}{after}").parse()?;
        let last = Url::from_str(&format!("opc.tcp://last:{last}"))?.port();
        if last < first.port() {
            return Err(TargetError::Backwards(text.to_owned()));
        }
        Ok(Self::Ports { first, last })
    }
}

/// Splits `opc.tcp://h:4840-4889/path` at the last port. A dash elsewhere belongs to a name.
fn ports(text: &str) -> Option<(&str, &str, &str)> {
    let authority = text.find("://")? + 3;
    let path = text
        .get(authority..)?
        .find('/')
        .map_or(text.len(), |at| authority + at);
    let colon = text.get(..path)?.rfind(':').filter(|&at| at >= authority)?;
    let dash = colon + text.get(colon..path)?.find('-')?;
    let digits = text.get(colon + 1..dash)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((
        text.get(..dash)?,
        text.get(dash + 1..path)?,
        text.get(path..)?,
    ))
}

impl fmt::Display for TargetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(url) => url.fmt(f),
            Self::Ports { first, last } => {
                let bare = first.to_string();
                let bare = bare.strip_suffix(first.path()).unwrap_or(&bare);
                write!(f, "{bare}-{last}{}", first.path())
            }
            Self::File(file) => write!(f, "@{file}"),
        }
    }
}

/// All endpoints that are loaded, in the order in which they were typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Targets {
    #[serde(with = "text::list")]
    urls: Vec<Url>,
}

impl Targets {
    /// Spells out ranges and files. `file` is given a name as typed and answers with its text.
    pub fn resolve(
        specs: &[TargetSpec],
        mut file: impl FnMut(&str) -> io::Result<String>,
    ) -> Result<Self, ListError> {
        let mut urls = Vec::new();
        for spec in specs {
            match spec {
                TargetSpec::File(name) => {
                    for listed in listed::entries::<TargetSpec>(name, file(name))? {
                        listed.spell_out(&mut urls);
                    }
                }
                spec => spec.spell_out(&mut urls),
            }
        }
        Ok(Self { urls })
    }

    /// The endpoints.
    pub fn urls(&self) -> &[Url] {
        &self.urls
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.urls.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }
}

impl From<Vec<Url>> for Targets {
    fn from(urls: Vec<Url>) -> Self {
        Self { urls }
    }
}

impl From<Url> for Targets {
    fn from(url: Url) -> Self {
        Self { urls: vec![url] }
    }
}

impl TargetSpec {
    fn spell_out(&self, urls: &mut Vec<Url>) {
        match self {
            Self::One(url) => urls.push(url.clone()),
            Self::Ports { first, last } => {
                urls.extend((first.port()..=*last).map(|port| first.at(first.host(), port)));
            }
            // A file within a file was refused when its line was read.
            Self::File(_) => {}
        }
    }
}

impl FromIterator<Url> for Targets {
    fn from_iter<I: IntoIterator<Item = Url>>(urls: I) -> Self {
        Self {
            urls: urls.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(specs: &[&str]) -> Result<Vec<String>, ListError> {
        let specs: Vec<TargetSpec> = specs.iter().map(|text| text.parse().unwrap()).collect();
        let targets = Targets::resolve(&specs, |name| match name {
            "plant.txt" => Ok("# line 4\nopc.tcp://a\n\n  opc.tcp://b:1-2/x  \n".into()),
            "wrong.txt" => Ok("opc.tcp://a\nhttp://b\n".into()),
            "nested.txt" => Ok("@plant.txt".into()),
            "empty.txt" => Ok("# nothing yet\n".into()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        })?;
        Ok(targets.urls().iter().map(Url::to_string).collect())
    }

    #[test]
    fn a_range_of_ports_is_a_target_each() {
        assert_eq!(
            resolve(&["opc.tcp://h:4840-4842/path-1"]).unwrap(),
            [
                "opc.tcp://h:4840/path-1",
                "opc.tcp://h:4841/path-1",
                "opc.tcp://h:4842/path-1"
            ]
        );
        assert_eq!(
            resolve(&["opc.tcp://[::1]:7-7"]).unwrap(),
            ["opc.tcp://[::1]:7"]
        );
    }

    #[test]
    fn a_dash_in_a_name_is_no_range() {
        for text in [
            "opc.tcp://plc-7",
            "opc.tcp://plc-7:4840",
            "opc.tcp://h:1/a-b",
        ] {
            assert!(matches!(text.parse(), Ok(TargetSpec::One(_))), "{text}");
        }
    }

    #[test]
    fn several_targets_and_files_keep_their_order() {
        assert_eq!(
            resolve(&["opc.tcp://z", "@plant.txt"]).unwrap(),
            [
                "opc.tcp://z:4840",
                "opc.tcp://a:4840",
                "opc.tcp://b:1/x",
                "opc.tcp://b:2/x"
            ]
        );
    }

    #[test]
    fn a_wrong_file_is_told_with_its_line() {
        let error = |name: &str| resolve(&[name]).unwrap_err().to_string();
        assert!(error("@wrong.txt").starts_with("wrong.txt line 2: \"http://b\" does not"));
        assert!(error("@nested.txt").contains("a file within a file"));
        assert_eq!(
            error("@empty.txt"),
            "empty.txt lists nothing (want one a line)"
        );
        assert!(error("@gone.txt").starts_with("cannot read gone.txt: "));
    }

    #[test]
    fn a_wrong_target_is_told_what_is_allowed() {
        for wrong in [
            "opc.tcp://h:5-4",
            "opc.tcp://h:1-70000",
            "opc.tcp://h:0-5",
            "opc.tcp://h:1-",
            "http://h:4840",
            "h:5-4",
            "@",
        ] {
            let error = wrong.parse::<TargetSpec>().unwrap_err().to_string();
            assert!(
                error.contains("want") || error.contains("names no file"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_host_alone_is_a_server_at_the_registered_port() {
        assert_eq!(
            resolve(&["plc1", "plc2:4841/x", "plc3:1-2", "[::1]"]).unwrap(),
            [
                "opc.tcp://plc1:4840",
                "opc.tcp://plc2:4841/x",
                "opc.tcp://plc3:1",
                "opc.tcp://plc3:2",
                "opc.tcp://[::1]:4840"
            ]
        );
        assert_eq!(typed("plc1"), "opc.tcp://plc1:4840".parse());
        assert!(typed("").is_err() && typed("http://plc1").is_err());
    }

    #[test]
    fn a_target_is_shown_as_typed() {
        for text in [
            "opc.tcp://h:1/a",
            "opc.tcp://h:1-5/a",
            "opc.tcp://h:1-5",
            "@f",
        ] {
            assert_eq!(text.parse::<TargetSpec>().unwrap().to_string(), text);
        }
    }
}
