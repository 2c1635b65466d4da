//! Which processes are meant.

use observe::{NotAvailable, Target, Tree, descendants, name_of};

use super::watched::Watched;
use crate::failure::Failure;

/// The id of the process that was typed.
pub fn process(typed: &str) -> anyhow::Result<u32> {
    if let Some(id) = peer(typed)? {
        return Ok(id);
    }
    let target: Target = typed
        .parse()
        .map_err(|error| Failure::usage(format!("{error}")))?;
    Ok(target.resolve().map_err(|why| refused(typed, &why))?)
}

fn refused(typed: &str, why: &NotAvailable) -> Failure {
    Failure::new(format!("{typed} cannot be watched: {}", why.reason()))
        .hint("uaperf watch PID, or :PORT of a server on this machine")
}

/// The process that was typed, and those that it started if they are wanted.
pub fn find(typed: &str, children: bool, counters: bool) -> anyhow::Result<Vec<Watched>> {
    let id = process(typed)?;
    let mut all = vec![Watched::of(named(id), id, counters).map_err(|why| refused(typed, &why))?];
    if children {
        let ids = descendants(&Tree::here(), id).map_err(|why| refused(typed, &why))?;
        // One that has ended meanwhile is none.
        all.extend(
            ids.into_iter()
                .filter_map(|id| Watched::of(named(id), id, counters).ok()),
        );
    }
    Ok(all)
}

fn named(id: u32) -> String {
    name_of(&Tree::here(), id).unwrap_or_else(|_| id.to_string())
}

/// The server of another stack that `uaperf peers start` left running.
fn peer(typed: &str) -> anyhow::Result<Option<u32>> {
    let running = peers::background::list();
    let ours: Vec<_> = running.iter().filter(|it| it.stack == typed).collect();
    match ours.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.pid)),
        several => {
            let urls: Vec<String> = several
                .iter()
                .map(|it| format!("{} at {}", it.pid, it.url))
                .collect();
            Err(Failure::usage(format!(
                "several servers of {typed} run: {}",
                urls.join(", ")
            ))
            .hint(format!(
                "uaperf watch {}",
                several.first().map_or(0, |it| it.pid)
            ))
            .into())
        }
    }
}
