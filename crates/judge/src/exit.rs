//! What the program ends with: a contract.

use std::process::ExitCode;

use record::run::{Kind, Mark, Run};

/// An exit code: the only ones of the program, beside that of a command that `uaperf link` carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Measured, believed, and every threshold met.
    Good = 0,
    /// Nothing could be measured, or not all that was asked.
    Nothing = 1,
    /// Wrong usage.
    Usage = 2,
    /// A threshold or a comparison failed.
    Threshold = 3,
    /// GENERATOR-LIMITED or UNSTEADY: a threshold would be held against the wrong figures.
    Verdict = 4,
    /// Interrupted: what was measured until then is kept.
    Interrupted = 130,
}

impl Exit {
    /// What a run ends with.
    pub fn of(run: &Run) -> Self {
        if run.marks.contains(&Mark::Interrupted) {
            return Self::Interrupted;
        }
        let met = run
            .phases
            .iter()
            .all(|phase| phase.expectations.iter().all(|it| it.met));
        match run.verdict.kind {
            Kind::Failed | Kind::Incomplete => Self::Nothing,
            Kind::GeneratorLimited | Kind::Unsteady => Self::Verdict,
            Kind::Valid | Kind::ServerSaturated if met => Self::Good,
            Kind::Valid | Kind::ServerSaturated => Self::Threshold,
        }
    }

    /// As the operating system gets it.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
