//! A request of many operations, answered one operation after another, a part at a time: others have their turn
//! between the parts, and no more of an answer is there than its client takes.

use wire::budget::{Budget, Held, STEP};
use wire::service::encode_bare;
use wire::service::shape::Kind;
use wire::types::{BinaryEncodable, StatusCode};

use super::{ServiceContext, write_head, write_len, write_null_array};
use crate::pool::Pool;

/// Work of a part: some hundred microseconds. A unit is about a reference that is looked at.
pub const PART: usize = 4_000;

/// Work of each operation, whatever it does.
const OPERATION: usize = 8;

/// How much may still be done before others have their turn.
#[derive(Debug)]
pub struct Work {
    left: usize,
    failed: Option<StatusCode>,
}

impl Work {
    /// Work of one turn.
    pub fn turn() -> Self {
        Self {
            left: PART,
            failed: None,
        }
    }

    /// Takes a part of it.
    pub fn spend(&mut self, units: usize) {
        self.left = self.left.saturating_sub(units);
    }

    /// Whether others are to have their turn.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// How much of it was done.
    pub fn spent(&self) -> usize {
        PART - self.left
    }

    /// Appends a result.
    pub fn put<T: BinaryEncodable>(&mut self, kind: Kind, result: &T, out: &mut Vec<u8>) {
        if encode_bare(kind, result, out).is_err() {
            self.failed = Some(StatusCode::BadEncodingError);
        }
    }
}

type Next = dyn FnMut(&mut ServiceContext<'_>, &mut Work, &mut Vec<u8>) -> bool + Send;

/// What is left of a request of several operations.
pub struct Steps {
    response: Kind,
    /// How many results there will be.
    results: usize,
    /// Whether the response ends with diagnostics, as most do.
    diagnostics: bool,
    /// Does an operation or a part of one and appends what came of it. False: there was none.
    next: Box<Next>,
    /// Items of this subscription are changed.
    subscription: Option<u32>,
    /// What was made and not given yet: an operation may give more than is wanted at once.
    made: Vec<u8>,
    given: usize,
    ended: bool,
    /// Bytes of the operations, but for what they point to.
    operations: usize,
    /// Of the session's memory, for many of them.
    held: Making,
    /// Who forgets the operations of a long request.
    forgets: Option<Pool>,
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(pool) = self.forgets.take() {
            let next = std::mem::replace(&mut self.next, Box::new(|_, _, _| false));
            // Its memory is no longer counted then: there is no more of it than helpers take in hand next.
            pool.forget((next, std::mem::take(&mut self.made)));
        }
    }
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps")
            .field("response", &self.response)
            .field("results", &self.results)
            .field("ended", &self.ended)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl Steps {
    /// Does `one` for each operation, which appends its result. What it gives back is left of the operation: it goes on
    /// with that next.
    pub fn each<T: Send + 'static>(
        response: Kind,
        operations: Vec<T>,
        mut one: impl FnMut(&mut ServiceContext<'_>, T, &mut Work, &mut Vec<u8>) -> Option<T>
        + Send
        + 'static,
    ) -> Self {
        let results = operations.len();
        let bytes = results * size_of::<T>();
        let mut operations = operations.into_iter();
        let mut begun = None;
        let next = move |context: &mut ServiceContext<'_>, work: &mut Work, out: &mut Vec<u8>| {
            let Some(operation) = begun.take().or_else(|| operations.next()) else {
                return false;
            };
            work.spend(OPERATION);
            begun = one(context, operation, work, out);
            true
        };
        Self::new(response, results, bytes, next)
    }

    /// The same for operations that are never too much for one go.
    pub fn whole<T: Send + 'static, R: BinaryEncodable>(
        response: Kind,
        result: Kind,
        operations: Vec<T>,
        mut one: impl FnMut(&mut ServiceContext<'_>, &mut T) -> R + Send + 'static,
    ) -> Self {
        let count = operations.len();
        let bytes = count * size_of::<T>();
        // What is left of them stays until the end: see `forgotten_by`.
        let (mut operations, mut at) = (operations, 0);
        let next = move |context: &mut ServiceContext<'_>, work: &mut Work, out: &mut Vec<u8>| {
            let Some(operation) = operations.get_mut(at) else {
                return false;
            };
            work.spend(OPERATION);
            at += 1;
            let done = one(context, operation);
            work.put(result, &done, out);
            true
        };
        Self::new(response, count, bytes, next)
    }

    fn new(
        response: Kind,
        results: usize,
        operations: usize,
        next: impl FnMut(&mut ServiceContext<'_>, &mut Work, &mut Vec<u8>) -> bool + Send + 'static,
    ) -> Self {
        Self {
            response,
            results,
            diagnostics: true,
            next: Box::new(next),
            subscription: None,
            made: Vec::new(),
            given: 0,
            ended: false,
            operations,
            held: Making::default(),
            forgets: None,
        }
    }

    /// Each operation gives several results: there will be so many altogether.
    pub fn with_results(mut self, results: usize) -> Self {
        self.results = results;
        self
    }

    /// This response has no diagnostics.
    pub fn without_diagnostics(mut self) -> Self {
        self.diagnostics = false;
        self
    }

    /// It changes items of this subscription.
    pub fn of_items(mut self, subscription: u32) -> Self {
        self.subscription = Some(subscription);
        self
    }

    /// Has the operations forgotten by a helper: to give back the memory of a million texts takes 20 ms.
    pub fn forgotten_by(&mut self, pool: &Pool) {
        self.forgets = Some(pool.clone());
    }

    /// Takes memory for the operations, of a request of so many bytes; it is given back when the answer is over.
    pub fn draw_on(&mut self, budget: &Budget, request: usize) -> Result<(), StatusCode> {
        self.held.is(self.operations + request, budget)
    }

    /// Appends what comes before the results.
    pub fn begin(&self, handle: u32, context: &ServiceContext<'_>, out: &mut Vec<u8>) {
        write_head(out, self.response.encoding_id(), handle, context.now);
        write_len(out, self.results);
    }

    /// Does more, until about `most` bytes are appended or the work is over. True if there is more to come.
    pub fn do_more(
        &mut self,
        context: &mut ServiceContext<'_>,
        work: &mut Work,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, StatusCode> {
        let more = self.parts(context, work, most, out);
        if let Some(id) = self.subscription {
            let now = context.now;
            if let Ok(subscription) = context.subscription(id) {
                subscription.settle(now);
                context.schedule(id);
            }
        }
        more
    }

    fn parts(
        &mut self,
        context: &mut ServiceContext<'_>,
        work: &mut Work,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, StatusCode> {
        let enough = out.len().saturating_add(most);
        while self.give(enough, out) {
            if self.ended {
                return Ok(false);
            }
            if work.is_over() || out.len() >= enough {
                break;
            }
            let before = self.made.len();
            if !(self.next)(context, work, &mut self.made) {
                self.ended = true;
                if self.diagnostics {
                    write_null_array(&mut self.made);
                }
            }
            if let Some(status) = work.failed.take() {
                return Err(status);
            }
            // Bytes are work as well.
            work.spend((self.made.len() - before) / 64);
        }
        Ok(true)
    }

    /// Bytes that were made and not given yet.
    pub fn bytes(&self) -> usize {
        self.made.len() - self.given
    }

    /// Appends what was made, until there is enough. Whether that was all.
    fn give(&mut self, enough: usize, out: &mut Vec<u8>) -> bool {
        let made = self.made.get(self.given..).unwrap_or_default();
        let room = enough.saturating_sub(out.len()).min(made.len());
        out.extend_from_slice(made.get(..room).unwrap_or_default());
        self.given += room;
        let all = self.given == self.made.len();
        if all {
            self.made.clear();
            self.given = 0;
        }
        all
    }
}

/// Memory of what is at work or kept for a client: counted once it is more than a little.
#[derive(Debug, Default)]
pub struct Making(Option<Held>);

impl Making {
    /// It has so many bytes now.
    pub fn is(&mut self, bytes: usize, budget: &Budget) -> Result<(), StatusCode> {
        if bytes < STEP && self.0.is_none() {
            return Ok(());
        }
        let held = self.0.get_or_insert_with(|| budget.hold());
        held.set(bytes).map_err(|_| StatusCode::BadOutOfMemory)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// An operation that others see go.
    struct Counted(#[allow(dead_code, reason = "it is there to be counted")] Arc<()>);

    #[test]
    fn operations_of_a_long_request_are_forgotten_by_a_helper() {
        let there = Arc::new(());
        let steps = |there: &Arc<()>| {
            let operations = (0..3).map(|_| Counted(Arc::clone(there))).collect();
            let kind = Kind::StatusCode;
            Steps::whole(Kind::CallResponse, kind, operations, |_, _| {
                StatusCode::Good
            })
        };
        drop(steps(&there));
        assert_eq!(Arc::strong_count(&there), 1, "a short one at once");

        let pool = Pool::without_threads();
        pool.submit(|| panic!("what is left of a request goes first"));
        let mut long = steps(&there);
        long.forgotten_by(&pool);
        drop(long.of_items(1));
        assert_eq!(Arc::strong_count(&there), 4, "they are still there");
        assert!(pool.do_one());
        assert_eq!(Arc::strong_count(&there), 1);
    }
}
