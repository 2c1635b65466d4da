//! Results of the operations of a request: one for each, in their order.

use thiserror::Error;
use wire::types::StatusCode;

/// A response has more or fewer results than its request had operations, which breaks a rule of every service (Part 4, 7.1).
/// Which of them belongs to what is not known then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the server answered {asked} operations with {got} results (want one for each)")]
pub struct WrongCount {
    /// Operations of the request.
    pub asked: usize,
    /// Results of the response.
    pub got: usize,
}

impl WrongCount {
    /// No code says just this.
    pub const STATUS: StatusCode = StatusCode::BadUnexpectedError;
}

impl From<WrongCount> for StatusCode {
    fn from(_: WrongCount) -> Self {
        WrongCount::STATUS
    }
}

/// The results of so many operations (Part 4, 7.1). A null array has none.
///
/// # Errors
/// There are more or fewer.
pub fn one_each<T>(results: Option<Vec<T>>, asked: usize) -> Result<Vec<T>, WrongCount> {
    let results = results.unwrap_or_default();
    match results.len() == asked {
        true => Ok(results),
        false => Err(WrongCount {
            asked,
            got: results.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::CallError;

    #[test]
    fn results_that_belong_to_nothing_known_are_refused() {
        assert_eq!(one_each(Some(vec![1, 2]), 2), Ok(vec![1, 2]));
        assert_eq!(one_each::<u8>(None, 0), Ok(Vec::new()));
        assert!(one_each::<u8>(None, 1).is_err());
        assert!(one_each(Some(vec![1, 2]), 1).is_err());
        let wrong = CallError::from(one_each(Some(vec![1]), 3).unwrap_err());
        assert!(!wrong.ends_session());
        assert_eq!(wrong.status(), WrongCount::STATUS);
        assert_eq!(
            wrong.to_string(),
            "the server answered 3 operations with 1 results (want one for each)"
        );
    }
}
