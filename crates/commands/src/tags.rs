//! `--tag` and `--note`: what a person says of a result, so that it is found again.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use record::Run;

/// What is said of a result.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "said")]
pub struct Args {
    /// Say something of the result by which it is found again, such as build=1.4.2; may be given several times
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
    /// What the server is called in results: the tag server=NAME
    #[arg(long, value_name = "NAME")]
    target_name: Option<String>,
    /// A sentence that is kept with the result; may be given several times
    #[arg(long = "note", value_name = "TEXT")]
    notes: Vec<String>,
}

/// What was typed, for all results of this process.
static GIVEN: OnceLock<Args> = OnceLock::new();

impl Args {
    /// From now on results have it.
    pub fn begin(&self) {
        if !self.tags.is_empty() || self.target_name.is_some() || !self.notes.is_empty() {
            // A second command in the same process would go on with the first one's.
            let _ = GIVEN.set(self.clone());
        }
    }
}

/// Gives a result what was typed.
pub fn put(run: &mut Run) {
    if let Some(given) = GIVEN.get() {
        let name = given.target_name.iter();
        let name = name.map(|it| ("server".to_owned(), it.clone()));
        run.tags = name
            .chain(given.tags.iter().cloned())
            .collect::<BTreeMap<_, _>>();
        run.notes.extend(given.notes.iter().cloned());
    }
}

/// A name and its value.
pub fn tag(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("{text:?} is no tag (want NAME=VALUE, such as build=1.4.2)");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    match name.trim().is_empty() || name.contains(char::is_whitespace) {
        true => Err(wrong()),
        false => Ok((name.to_owned(), value.to_owned())),
    }
}
