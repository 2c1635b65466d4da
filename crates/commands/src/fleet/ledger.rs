//! What a controller writes down of a load before it begins, so that its result can be made of results that come late.

use std::io;

use anyhow::Context;
use plan::Phase;
use record::Timestamp;
use record::run::{Host, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::VERSION;
use super::result_folder::ResultFolder;
use super::task::{AgentResults, Own};
use crate::failure::Failure;

/// A load that was shared out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ledger {
    /// Of the program: results are read by the same one only.
    pub version: String,
    /// Its name.
    pub load: String,
    /// The command.
    pub command: String,
    /// What was asked for.
    pub request: Map<String, Value>,
    /// The phase, with its conditions.
    pub phase: Phase,
    /// The servers, as they presented themselves.
    pub targets: Vec<Target>,
    /// How agents reach them and go about it: options.
    pub words: Vec<String>,
    /// When it was shared out.
    pub started: Timestamp,
    /// When it began, once that is known.
    pub began: Option<Timestamp>,
    /// The agents, by their places.
    pub agents: Vec<Agent>,
}

/// An agent of a load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Agent {
    /// How it was started.
    pub spec: String,
    /// Its name, its sessions, its clock.
    pub host: Host,
}

/// Under which name it lies beside the results.
const FILE: &str = "ledger.json";

impl Ledger {
    /// Writes it down.
    pub fn keep(&self) -> anyhow::Result<ResultFolder> {
        let folder = ResultFolder::of(&self.load)?;
        folder.put(FILE, &serde_json::to_vec(self)?)?;
        Ok(folder)
    }

    /// That of a load; none where this user of this machine did not control it.
    pub fn of(folder: &ResultFolder) -> anyhow::Result<Option<Self>> {
        let text = match folder.get(FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let file = folder.file(FILE);
        let ledger: Self =
            serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
        if ledger.version != VERSION {
            return Err(Failure::new(format!(
                "{} was written by uaperf {} (want {VERSION}, as here): results are read by the same program",
                file.display(),
                ledger.version
            ))
            .into());
        }
        Ok(Some(ledger))
    }

    /// Which results are an agent's.
    pub fn own(&self, agent: usize) -> Own {
        Own {
            load: self.load.clone(),
            agent: u32::try_from(agent).unwrap_or(u32::MAX),
        }
    }

    /// The results of an agent, if they came.
    pub fn taken(&self, folder: &ResultFolder, agent: usize) -> Option<AgentResults> {
        let bytes = folder.get(&self.own(agent).taken()).ok()?;
        AgentResults::of_bytes(&bytes).ok()
    }
}
