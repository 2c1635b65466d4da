//! `--tag` and `--note`: what a person says of a result, so that it is found again.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use record::Run;

use crate::failure::Failure;

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
static GIVEN: OnceLock<(BTreeMap<String, String>, Vec<String>)> = OnceLock::new();

impl Args {
    /// From now on results have it.
    pub fn begin(&self) -> anyhow::Result<()> {
        let tags = self.all()?;
        if !tags.is_empty() || !self.notes.is_empty() {
            // A second command in the same process would go on with the first one's.
            let _ = GIVEN.set((tags, self.notes.clone()));
        }
        Ok(())
    }

    /// All tags. One that is given two values would lose the first of them.
    fn all(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let name = self.target_name.iter();
        let name = name.map(|it| ("server".to_owned(), it.clone()));
        let mut all = BTreeMap::new();
        for (name, value) in name.chain(self.tags.iter().cloned()) {
            match all.get(&name) {
                Some(other) if *other != value => {
                    let what = format!("the tag {name} has two values: {other} and {value}");
                    return Err(Failure::usage(what)
                        .hint("give one of them; --target-name is the tag server")
                        .into());
                }
                _ => all.insert(name, value),
            };
        }
        Ok(all)
    }
}

/// Gives a result what was typed.
pub fn put(run: &mut Run) {
    if let Some((tags, notes)) = GIVEN.get() {
        run.tags.clone_from(tags);
        run.notes.extend(notes.iter().cloned());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(target_name: Option<&str>, tags: &[&str]) -> anyhow::Result<BTreeMap<String, String>> {
        let args = Args {
            tags: tags.iter().map(|text| tag(text).unwrap()).collect(),
            target_name: target_name.map(str::to_owned),
            notes: Vec::new(),
        };
        args.all()
    }

    #[test]
    fn a_tag_has_one_value() {
        let both = typed(Some("plc1"), &["server=plc2"]).unwrap_err();
        assert_eq!(
            both.to_string(),
            "the tag server has two values: plc1 and plc2"
        );
        assert!(typed(None, &["build=1", "night=7", "build=2"]).is_err());
        let same = typed(Some("plc1"), &["server=plc1", "build=1", "build=1"]).unwrap();
        assert_eq!(same.len(), 2);
    }
}
