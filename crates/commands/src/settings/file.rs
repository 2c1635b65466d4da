//! A file of settings: options for all commands, for one of them, and targets by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Command;
use toml::{Table, Value};

use super::TYPED;
use crate::failure::Failure;

/// What it is called.
pub const NAME: &str = "uaperf.toml";
/// The table with servers by their names.
const TARGETS: &str = "targets";
/// Where a target is.
const URL: &str = "url";

/// What is given for an option.
#[derive(Debug, Clone)]
pub struct Given {
    /// Each as it would be typed.
    pub values: Vec<String>,
    /// The file with the line, or the variable.
    pub from: String,
    /// What paths are relative to.
    pub folder: Option<PathBuf>,
}

/// A server with a name.
#[derive(Debug)]
pub struct Target {
    pub url: String,
    /// Options for commands that have them.
    pub options: Vec<(String, Given)>,
}

/// The file.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    text: String,
    table: Table,
    pub targets: BTreeMap<String, Target>,
}

impl File {
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| wrong(error.to_string().trim().to_owned()))?;
        let mut file = Self {
            path: path.to_owned(),
            text,
            table,
            targets: BTreeMap::new(),
        };
        file.targets = file.read_targets()?;
        Ok(file)
    }

    fn read_targets(&self) -> Result<BTreeMap<String, Target>, Failure> {
        let targets = match self.table.get(TARGETS) {
            None => return Ok(BTreeMap::new()),
            Some(Value::Table(targets)) => targets,
            Some(_) => return Err(self.wrong(&[], TARGETS, "want a table for each target")),
        };
        let mut all = BTreeMap::new();
        for (name, target) in targets {
            let path = [TARGETS, name];
            let Value::Table(target) = target else {
                return Err(self.wrong(&[TARGETS], name, "want a table with its url"));
            };
            let Some(Value::String(url)) = target.get(URL) else {
                let what = "it has no url (want url = \"opc.tcp://HOST:4840\")";
                return Err(self.wrong(&[TARGETS], name, what));
            };
            let options = target.iter().filter(|(key, _)| *key != URL);
            let options: Result<Vec<_>, Failure> = options
                .map(|(key, value)| Ok((key.clone(), self.given(&path, key, value)?)))
                .collect();
            all.insert(
                name.clone(),
                Target {
                    url: url.clone(),
                    options: options?,
                },
            );
        }
        Ok(all)
    }

    /// What it has for an option of a command: in the command's table, else for all.
    pub fn of(&self, path: &[&str], long: &str) -> Option<Given> {
        let mut tables = vec![(Vec::new(), &self.table)];
        for name in path {
            let Some((at, last)) = tables.last() else {
                break;
            };
            let Some(Value::Table(next)) = last.get(*name) else {
                break;
            };
            tables.push(([at.as_slice(), &[*name]].concat(), next));
        }
        tables.iter().rev().find_map(|(at, table)| {
            let value = table.get(long)?;
            self.given(at, long, value).ok()
        })
    }

    /// Whether all that it has is an option, and of a command that has it.
    pub fn check(&self, command: &Command) -> Result<(), Failure> {
        let mut all = Vec::new();
        options(command, &mut all);
        self.check_table(&[], &self.table, command, &all)?;
        for (name, target) in &self.targets {
            for (key, _) in &target.options {
                self.check_option(&[TARGETS, name], key, &all)?;
            }
        }
        Ok(())
    }

    fn check_table(
        &self,
        path: &[&str],
        table: &Table,
        command: &Command,
        all: &[String],
    ) -> Result<(), Failure> {
        for (key, value) in table {
            if path.is_empty() && key == TARGETS {
                continue;
            }
            if let Value::Table(below) = value {
                let Some(next) = command.find_subcommand(key) else {
                    let what = "there is no such command (want the name of one, or targets)";
                    return Err(self.wrong(path, key, what));
                };
                self.check_table(&[path, &[key]].concat(), below, next, all)?;
                continue;
            }
            self.given(path, key, value)?;
            let own: Vec<String> = match path.is_empty() {
                true => all.to_vec(),
                false => {
                    let mut own = Vec::new();
                    options(command, &mut own);
                    own
                }
            };
            self.check_option(path, key, &own)?;
        }
        Ok(())
    }

    fn check_option(&self, path: &[&str], key: &str, known: &[String]) -> Result<(), Failure> {
        if TYPED.contains(&key) {
            let what = format!("--{key} is typed each time: it allows what a file should not");
            return Err(self.wrong(path, key, &what));
        }
        if known.iter().any(|it| it == key) {
            return Ok(());
        }
        let whose = match path {
            [] | [TARGETS, ..] => "of any command".to_owned(),
            path => format!("of uaperf {}", path.join(" ")),
        };
        let near = plan::scenario::nearest(key, known.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
        Err(self.wrong(
            path,
            key,
            &format!("there is no option --{key} {whose}{near}"),
        ))
    }

    fn given(&self, path: &[&str], key: &str, value: &Value) -> Result<Given, Failure> {
        let one = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Boolean(is) => Some(is.to_string()),
            Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
        };
        let values: Option<Vec<String>> = match value {
            Value::Array(values) => values.iter().map(one).collect(),
            value => one(value).map(|it| vec![it]),
        };
        let wrong = "want a text, a number, true or false, or an array of them";
        Ok(Given {
            values: values.ok_or_else(|| self.wrong(path, key, wrong))?,
            from: self.place(path, key),
            folder: self.path.parent().map(Path::to_owned),
        })
    }

    fn wrong(&self, path: &[&str], key: &str, what: &str) -> Failure {
        Failure::usage(format!("{}: {key}: {what}", self.place(path, key)))
    }

    /// The file and the line of a key.
    fn place(&self, path: &[&str], key: &str) -> String {
        let mut at: Vec<String> = Vec::new();
        let path: Vec<String> = path.iter().map(|it| (*it).to_owned()).collect();
        let with = [path.as_slice(), &[key.to_owned()]].concat();
        for (index, line) in self.text.lines().enumerate() {
            let line = line.trim();
            if let Some(head) = line.strip_prefix('[') {
                let head = head.split(']').next().unwrap_or_default();
                at = head.split('.').map(plain).collect();
                if at == with {
                    return format!("{}:{}", self.path.display(), index + 1);
                }
                continue;
            }
            let name = line.split('=').next().map(plain).unwrap_or_default();
            if at == path && name == key {
                return format!("{}:{}", self.path.display(), index + 1);
            }
        }
        self.path.display().to_string()
    }
}

/// A key without blanks and quotes.
fn plain(key: &str) -> String {
    key.trim().trim_matches(['"', '\'']).to_owned()
}

/// The long options of a command and all below it.
fn options(command: &Command, all: &mut Vec<String>) {
    let longs = command.get_arguments().filter_map(|arg| arg.get_long());
    all.extend(longs.map(str::to_owned));
    for below in command.get_subcommands() {
        options(below, all);
    }
}
