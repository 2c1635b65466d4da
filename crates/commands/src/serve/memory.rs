//! How much memory servers may take for their clients.

use observe::{Host, Limit, Tree, cgroup};
use plan::unit::Bytes;
use wire::budget::Budget;

/// What is taken where nobody can tell what is free.
const UNKNOWN: u64 = 1 << 30;

/// A size as it is typed, held to what a plant file is held to.
pub fn size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    match size.0 < plant::LEAST_MEMORY as u64 {
        true => Err(format!(
            "is {} bytes (want {} or more)",
            size.0,
            plant::LEAST_MEMORY
        )),
        false => Ok(size),
    }
}

/// The longest request in JSON, the same.
pub fn json_request(text: &str) -> Result<usize, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    plant::json_request(usize::try_from(size.0).unwrap_or(usize::MAX))
}

/// What was asked for, or half of what is free.
pub fn budget(asked: Option<Bytes>) -> Budget {
    let bytes = asked.map_or_else(|| free().map_or(UNKNOWN, |free| free / 2), |asked| asked.0);
    Budget::of(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// What the machine has free, or its control group if that is less.
fn free() -> Option<u64> {
    let machine = Host::sample().memory.ok().map(|it| it.available_bytes);
    let group = cgroup(&Tree::here(), std::process::id()).ok();
    let group = group.and_then(|it| left(it.memory_limit_bytes.ok()?, it.memory_bytes.ok()));
    let free = [machine, group].into_iter().flatten().min();
    free.filter(|&bytes| bytes > 0)
}

/// What a control group with this limit has left. Where nobody can tell what it uses, half of its limit may be.
fn left(limit: Limit<u64>, used: Option<u64>) -> Option<u64> {
    match limit {
        Limit::At(most) => Some(most.saturating_sub(used.unwrap_or(most / 2))),
        Limit::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_is_free_unless_it_is_told() {
        assert_eq!(budget(Some(Bytes(12_345))).limit(), 12_345);
        let limit = budget(None).limit();
        assert!(limit > 0 && limit < usize::MAX / 2, "{limit}");
    }

    #[test]
    fn a_group_whose_use_is_not_known_does_not_have_its_whole_limit_left() {
        assert_eq!(left(Limit::At(1000), Some(900)), Some(100));
        assert_eq!(left(Limit::At(1000), Some(1200)), Some(0));
        assert_eq!(left(Limit::At(1000), None), Some(500));
        assert_eq!(left(Limit::None, None), None);
    }
}
