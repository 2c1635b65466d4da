//! Steps that cost milliseconds (RSA), handed to the caller instead of being done inside
//! `receive`.

/// A computation that owns all it needs and may run on any thread.
///
/// A connection or session emits it; the caller runs it (in a pool, or at once) and hands the
/// result back to where it came from.
#[must_use = "nothing goes on until the job has run and its result was handed back"]
pub struct Job<T>(Box<dyn FnOnce() -> T + Send>);

impl<T> Job<T> {
    /// Wraps the computation.
    pub fn new(work: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(Box::new(work))
    }

    /// Does the work, on the calling thread.
    pub fn run(self) -> T {
        (self.0)()
    }

    /// The same work with its result passed through `then`.
    pub fn map<U>(self, then: impl FnOnce(T) -> U + Send + 'static) -> Job<U>
    where
        T: 'static,
    {
        Job::new(move || then(self.run()))
    }
}

impl<T> std::fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Job")
    }
}
