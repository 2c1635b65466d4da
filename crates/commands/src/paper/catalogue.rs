//! What the studies printed, and the scenarios that repeat it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A table, a figure or a result in words.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The study and the place: `burger2019.fig_06`.
    pub id: String,
    /// Where it stands.
    pub printed: String,
    /// What it shows.
    pub what: String,
    /// The scenario that repeats it, in `scenarios/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Another command that shows the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A command that computes it instead, beside what was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// What it takes and is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Experiment {
    /// The study, and the place in it.
    pub fn split(&self) -> (&str, &str) {
        self.id.split_once('.').unwrap_or((&self.id, ""))
    }

    /// Its scenario, or why there is none.
    pub fn ready(&self) -> Result<&'static Ready, Failure> {
        let name = self.scenario.as_deref();
        if let Some(ready) = READY.iter().find(|it| Some(it.name) == name) {
            return Ok(ready);
        }
        Err(match (&self.command, &self.missing) {
            (Some(command), _) => {
                Failure::usage(format!("{} is no scenario", self.id)).hint(command.clone())
            }
            (None, missing) => {
                let what = missing.as_deref().unwrap_or_default();
                Failure::usage(format!("{} cannot be run here: it takes {what}", self.id))
            }
        })
    }
}

/// Everything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// In the order of the studies.
    pub experiment: Vec<Experiment>,
    /// Parameters of a short run, by scenario.
    pub quick: BTreeMap<String, Vec<String>>,
    /// Sessions of the runs that a model is fitted to, to be held against the others, by scenario.
    #[serde(default)]
    pub fitted: BTreeMap<String, u32>,
}

impl Catalogue {
    /// The one that comes with the program.
    pub fn read() -> anyhow::Result<Self> {
        Ok(toml::from_str(include_str!(
            "../../../../scenarios/papers.toml"
        ))?)
    }

    /// One by its id.
    pub fn find(&self, id: &str) -> Result<&Experiment, Failure> {
        let found = self.experiment.iter().find(|it| it.id == id);
        found.ok_or_else(|| unknown(id))
    }

    /// All of `all`, of a study, or one by its id.
    pub fn select(&self, word: &str) -> Result<Vec<&Experiment>, Failure> {
        let of_study = |it: &&Experiment| word == "all" || it.split().0 == word;
        let all: Vec<&Experiment> = self.experiment.iter().filter(of_study).collect();
        match all.is_empty() {
            true => Ok(vec![self.find(word)?]),
            false => Ok(all),
        }
    }
}

fn unknown(id: &str) -> Failure {
    Failure::usage(format!("no study printed {id}")).hint("uaperf paper list")
}

/// A scenario that comes with the program.
#[derive(Debug)]
pub struct Ready {
    /// Its file in `scenarios/`.
    pub name: &'static str,
    /// What is in it.
    pub text: &'static str,
}

impl Ready {
    /// What its folder of results is called: `burger2019.fig_06`.
    pub fn stem(&self) -> String {
        let stem = self.name.rsplit_once('.').map_or(self.name, |it| it.0);
        stem.replace('/', ".")
    }
}

macro_rules! ready {
    ($($name:literal)*) => {
        &[$(Ready {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name)),
        }),*]
    };
}

const READY: &[Ready] = ready! {
    "burger2019/fig_06.toml"
    "burger2019/fig_10.toml"
    "burger2019/fig_11.toml"
    "burger2019/fig_13.toml"
    "cavalieri2010/fig_05.toml"
    "cavalieri2010/table_01.toml"
    "gonzalez2015/concurrent.txt"
    "gonzalez2015/data_volume.txt"
    "gonzalez2015/grouped.txt"
    "gonzalez2015/security.txt"
    "morato2021/table_04.toml"
    "morato2021/table_04_stacks.toml"
    "morato2021/table_07.toml"
    "morato2021/table_09.toml"
    "tahvanainen2016/sample_read_run.toml"
    "tahvanainen2016/sample_subscription_run.toml"
    "tahvanainen2016/table_10.toml"
    "tahvanainen2016/table_11.toml"
    "tahvanainen2016/table_12.toml"
    "tahvanainen2016/table_13.toml"
    "tahvanainen2016/table_14.toml"
    "tahvanainen2016/table_15.toml"
    "tahvanainen2016/table_17.toml"
    "tahvanainen2016/table_19.toml"
    "tahvanainen2016/table_20.toml"
    "tahvanainen2016/table_21.toml"
    "tahvanainen2016/table_22.toml"
    "tahvanainen2016/table_24.toml"
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    #[test]
    fn everything_that_was_printed_is_in_it_once_and_says_what_becomes_of_it() {
        let catalogue = Catalogue::read().unwrap();
        let mut printed = Vec::new();
        for folder in fs::read_dir(root().join("reference")).unwrap() {
            let file = folder.unwrap().path().join("experiments.yaml");
            let Ok(text) = fs::read_to_string(file) else {
                continue;
            };
            let ids = text.lines().filter_map(|it| it.strip_prefix("- id: "));
            printed.extend(ids.map(str::to_owned));
        }
        printed.sort();
        let mut here: Vec<String> = catalogue
            .experiment
            .iter()
            .map(|it| it.id.clone())
            .collect();
        here.sort();
        assert_eq!(here, printed);
        for it in &catalogue.experiment {
            let ways = [&it.scenario, &it.command, &it.missing];
            let said = ways.into_iter().flatten().filter(|it| !it.is_empty());
            assert_eq!(said.count(), 1, "{}", it.id);
            assert_eq!(it.scenario.is_some(), it.ready().is_ok(), "{}", it.id);
        }
    }

    #[test]
    fn every_scenario_of_a_study_repeats_something_and_has_a_short_run() {
        let catalogue = Catalogue::read().unwrap();
        let mut files = BTreeSet::new();
        for folder in fs::read_dir(root().join("scenarios")).unwrap() {
            let folder = folder.unwrap().path();
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            let study = folder.file_name().unwrap().to_str().unwrap().to_owned();
            for entry in entries {
                let name = entry.unwrap().file_name().into_string().unwrap();
                files.insert(format!("{study}/{name}"));
            }
        }
        // The example of the form of a document.
        files.remove("gonzalez2015/sample.txt");
        let ready: BTreeSet<String> = READY.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(ready, files);
        let used = catalogue
            .experiment
            .iter()
            .filter_map(|it| it.scenario.clone());
        assert_eq!(used.collect::<BTreeSet<String>>(), files);
        let quick: BTreeSet<&String> = catalogue.quick.keys().collect();
        let scenarios = files.iter().filter(|it| it.ends_with(".toml"));
        assert_eq!(quick, scenarios.collect::<BTreeSet<&String>>());
    }
}
