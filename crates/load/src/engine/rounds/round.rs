//! A round while it goes on.

use wire::types::StatusCode;

use super::course::RoundsShared;
use super::recorder::{Note, Results};

/// A round while it goes on.
pub struct Round<'a> {
    course: &'a RoundsShared<'a>,
    /// Its steps so far.
    pub notes: Vec<Note>,
    /// The first of the operations in it that did not go well.
    pub bad: Option<StatusCode>,
}

impl<'a> Round<'a> {
    pub fn new(course: &'a RoundsShared<'a>) -> Self {
        Self {
            course,
            notes: Vec::new(),
            bad: None,
        }
    }

    pub fn t(&self) -> u64 {
        self.course.t()
    }

    /// Does a step that is a request with several operations. Those that did not go well make the step fail;
    /// the round goes on with the others, and fails in the end.
    pub async fn request<T>(
        &mut self,
        step: &'static str,
        does: impl Future<Output = Result<(T, Results), StatusCode>>,
    ) -> Result<T, StatusCode> {
        let (done, results) = self.step(step, does).await?;
        self.bad = self.bad.or(results.bad);
        if let Some(note) = self.notes.last_mut() {
            note.values = results.good;
            note.status = results.bad.unwrap_or(StatusCode::Good);
        }
        Ok(done)
    }

    /// Does a step.
    pub async fn step<T>(
        &mut self,
        step: &'static str,
        does: impl Future<Output = Result<T, StatusCode>>,
    ) -> Result<T, StatusCode> {
        let began = self.t();
        let done = does.await;
        self.notes.push(Note {
            step,
            began,
            ended: self.t(),
            status: done.as_ref().err().copied().unwrap_or(StatusCode::Good),
            values: u32::from(done.is_ok()),
        });
        done
    }
}
