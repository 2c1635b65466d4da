//! Judging as a conversation: what has to be asked of authorities is told to the caller, who has sockets and clocks.

use std::sync::Arc;

use crate::certificate::Certificate;
use crate::refusal::Refusal;
use crate::revocation::{Answer, Findings, Question};
use crate::trust::{self, Accepted, Expected, Stop, Trust};

/// A certificate that is being judged.
///
/// ```
/// # use std::sync::Arc;
/// # use pki::{Answer, Expected, Judging, Moment, Next, Question, Refusal, Role, Trust};
/// # fn ask(question: &Question) -> Result<Answer, String> { Err("nobody".into()) }
/// # fn judge(trust: Arc<Trust>, sent: &[u8], now: Moment) -> Result<(), Refusal> {
/// let mut judging = Judging::new(trust, sent, Expected::of(Role::Client, now))?;
/// loop {
///     match judging.advance() {
///         Next::Accepted(_) => return Ok(()),
///         Next::Refused(refusal) => return Err(refusal),
///         Next::Ask(questions) => {
///             for question in questions {
///                 let answer = ask(&question);
///                 judging.answer(question, answer);
///             }
///         }
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Judging<'a> {
    trust: Arc<Trust>,
    expected: Expected<'a>,
    leaf: Certificate,
    above: Vec<Certificate>,
    findings: Findings,
}

/// How it goes on.
#[derive(Debug)]
pub enum Next {
    /// It passed.
    Accepted(Accepted),
    /// It did not.
    Refused(Refusal),
    /// That depends on the answers to these. Each is asked once.
    Ask(Vec<Question>),
}

/// More is not asked for one certificate that a peer sent, however long its chains.
const MOST_ASKED: usize = 32;

impl<'a> Judging<'a> {
    /// Begins with a certificate as it was sent: DER, with or without the authorities above it.
    pub fn new(trust: Arc<Trust>, sent: &[u8], expected: Expected<'a>) -> Result<Self, Refusal> {
        let (leaf, above) = trust::parse(sent)?;
        Ok(Self {
            trust,
            expected,
            leaf,
            above,
            findings: Findings::new(),
        })
    }

    /// What follows from what is known so far.
    pub fn advance(&mut self) -> Next {
        loop {
            let judged =
                self.trust
                    .judge_knowing(&self.leaf, &self.above, &self.expected, &self.findings);
            match judged {
                Ok(accepted) => return Next::Accepted(accepted),
                Err(Stop::Refused(refusal)) => return Next::Refused(refusal),
                Err(Stop::Ask(questions)) if self.findings.len() < MOST_ASKED => {
                    return Next::Ask(questions);
                }
                Err(Stop::Ask(questions)) => {
                    for question in questions {
                        self.answer(question, Err("too much to ask".to_owned()));
                    }
                }
            }
        }
    }

    /// Takes what was found, or why nothing was.
    pub fn answer(&mut self, question: Question, answer: Result<Answer, String>) {
        self.findings.insert(question, answer);
    }

    /// Does the asking, too.
    pub fn finish(
        mut self,
        mut ask: impl FnMut(Vec<Question>) -> Vec<(Question, Result<Answer, String>)>,
    ) -> Result<Accepted, Refusal> {
        loop {
            match self.advance() {
                Next::Accepted(accepted) => return Ok(accepted),
                Next::Refused(refusal) => return Err(refusal),
                Next::Ask(questions) => {
                    let mut answers = ask(questions.clone());
                    for question in questions {
                        let found = answers.iter().position(|it| it.0 == question);
                        let answer = found.map(|place| answers.swap_remove(place).1);
                        let answer = answer.unwrap_or_else(|| Err("nobody was asked".to_owned()));
                        self.answer(question, answer);
                    }
                }
            }
        }
    }
}
