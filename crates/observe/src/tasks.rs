//! The threads of a process one by one, and the processes that it started.

use std::collections::BTreeMap;

use platform::System;
use serde::{Deserialize, Serialize};

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::reread::KeptFiles;
use crate::stat::{Stat, divided};
use crate::tree::Tree;

/// What a thread had spent up to a moment, in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// CPU, in user space and in the kernel, in nanoseconds. That of a thread that runs is behind by a tick of
    /// the scheduler at most.
    pub cpu_ns: Figure<u64>,
    /// The part of it in user space, in ticks of 10 ms.
    pub user_ns: Figure<u64>,
    /// The part of it in the kernel, likewise.
    pub system_ns: Figure<u64>,
    /// Time that it was ready to run and no core was free.
    pub waited_ns: Figure<u64>,
    /// Context switches because it waited for something.
    pub voluntary_switches: Figure<u64>,
    /// Context switches because another was to run.
    pub involuntary_switches: Figure<u64>,
    /// How often it went on on another core.
    pub migrations: Figure<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Figure<u64>,
    /// Page faults that did.
    pub major_faults: Figure<u64>,
    /// The core that it ran on last.
    pub core: Figure<u64>,
}

impl Task {
    /// What it spent since an earlier moment. The core is that of now.
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |of: fn(&Self) -> &Figure<u64>| -> Figure<u64> {
            Ok(of(self).clone()?.saturating_sub(of(earlier).clone()?))
        };
        Self {
            id: self.id,
            name: self.name.clone(),
            cpu_ns: less(|it| &it.cpu_ns),
            user_ns: less(|it| &it.user_ns),
            system_ns: less(|it| &it.system_ns),
            waited_ns: less(|it| &it.waited_ns),
            voluntary_switches: less(|it| &it.voluntary_switches),
            involuntary_switches: less(|it| &it.involuntary_switches),
            migrations: less(|it| &it.migrations),
            minor_faults: less(|it| &it.minor_faults),
            major_faults: less(|it| &it.major_faults),
            core: self.core.clone(),
        }
    }
}

impl Task {
    /// Time in user space and in the kernel as shares of its exact time, and not told of a few ticks.
    pub fn divided(&self) -> [Figure<u64>; 2] {
        divided(&self.cpu_ns, &self.user_ns, &self.system_ns)
    }
}

/// What threads spent between two moments, the busiest first. One that is new has spent all since it began; what
/// one spent that has ended is not known.
pub fn tasks_since(now: &[Task], then: &[Task]) -> Vec<Task> {
    let before: BTreeMap<u32, &Task> = then.iter().map(|it| (it.id, it)).collect();
    let mut all: Vec<Task> = now
        .iter()
        .map(|task| {
            // One that counts less than before was given the id later.
            let was = before
                .get(&task.id)
                .filter(|it| it.cpu_ns.as_ref().ok() <= task.cpu_ns.as_ref().ok());
            was.map_or_else(|| task.clone(), |was| task.since(was))
        })
        .collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.cpu_ns.clone().ok()));
    all
}

/// The threads of a process that live, by their ids.
pub fn tasks(tree: &Tree, id: u32) -> Figure<Vec<Task>> {
    TaskFiles::of(tree.path(&format!("/proc/{id}/task"))).look()
}

/// Of a process with more threads, the files of these are kept open.
const KEPT: usize = 64;

/// The files of threads that are looked at again and again.
#[derive(Debug)]
pub(crate) struct TaskFiles {
    folder: String,
    each: BTreeMap<u32, KeptFiles>,
}

impl TaskFiles {
    /// Of the threads that a folder of `/proc` names.
    pub fn of(folder: String) -> Self {
        Self {
            folder,
            each: BTreeMap::new(),
        }
    }

    /// The threads that live, by their ids.
    pub fn look(&mut self) -> Figure<Vec<Task>> {
        let names = files::names(&self.folder).map_err(|reason| match System::IS_LINUX {
            true => NotAvailable::because("the process has ended, or may not be looked into"),
            false => reason,
        })?;
        let mut ids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable();
        self.each.retain(|id, _| ids.binary_search(id).is_ok());
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let files = self.each.remove(&id);
            let mut files = files.unwrap_or_else(|| KeptFiles::of(format!("{}/{id}", self.folder)));
            // One without a name has ended meanwhile.
            if let Some(task) = task(&mut files, id) {
                found.push(task);
                if self.each.len() < KEPT {
                    self.each.insert(id, files);
                }
            }
        }
        Ok(found)
    }
}

fn task(files: &mut KeptFiles, id: u32) -> Option<Task> {
    let path = files.path("stat");
    let text = files.text("stat");
    let stat = text.as_deref().map_err(Clone::clone);
    let stat = stat.and_then(|text| Stat::of(text, &path));
    let name = match &stat {
        Ok(stat) => stat.name().to_owned(),
        Err(_) => files.text("comm").ok()?.trim().to_owned(),
    };
    let ticks = |number| stat.as_ref().map_err(Clone::clone)?.ticks(number);
    let field = |number| stat.as_ref().map_err(Clone::clone)?.field(number);
    let times = files.text("schedstat").and_then(|text| {
        let path = files.path("schedstat");
        let mut words = text.split_whitespace();
        Ok((
            files::number(&mut words, &path)?,
            files::number(&mut words, &path)?,
        ))
    });
    let [voluntary_switches, involuntary_switches, migrations] = moves(files);
    Some(Task {
        id,
        name,
        cpu_ns: times.as_ref().map(|it| it.0).map_err(Clone::clone),
        waited_ns: times.map(|it| it.1),
        user_ns: ticks(14),
        system_ns: ticks(15),
        voluntary_switches,
        involuntary_switches,
        migrations,
        minor_faults: field(10),
        major_faults: field(12),
        core: field(39),
    })
}

/// How often a thread was switched away from, because it waited and because another was to run, and how often it went on
/// on another core. Where `sched` has all of it, nothing else is read.
fn moves(files: &mut KeptFiles) -> [Figure<u64>; 3] {
    let [voluntary, involuntary, migrations] = match files.text("sched") {
        Ok(text) => scheduled(&text, &files.path("sched")),
        Err(_) => {
            let why = "the kernel was built without CONFIG_SCHED_DEBUG";
            std::array::from_fn(|_| Err(NotAvailable::because(why)))
        }
    };
    if voluntary.is_ok() && involuntary.is_ok() {
        return [voluntary, involuntary, migrations];
    }
    let text = files.text("status");
    let path = files.path("status");
    let switches = |key: &str| files::keyed(text.as_ref().map_err(Clone::clone)?, key, &path);
    [
        switches("voluntary_ctxt_switches"),
        switches("nonvoluntary_ctxt_switches"),
        migrations,
    ]
}

/// From lines of `se.nr_migrations    :   12`.
fn scheduled(text: &str, path: &str) -> [Figure<u64>; 3] {
    let mut found = [
        "nr_voluntary_switches",
        "nr_involuntary_switches",
        "se.nr_migrations",
    ]
    .map(|key| (key, None));
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let name = name.trim_end();
        if let Some((_, found)) = found.iter_mut().find(|(key, _)| *key == name) {
            *found = Some(files::number(&mut value.split_whitespace(), path));
        }
    }
    found.map(|(key, found)| {
        found.unwrap_or_else(|| Err(NotAvailable::because(format!("{path} has no {key}"))))
    })
}

/// The processes that a process started, and those that these started.
pub fn descendants(tree: &Tree, id: u32) -> Figure<Vec<u32>> {
    let mut parents: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let names = tree.names("/proc")?;
    for child in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let path = format!("/proc/{child}/stat");
        // Any of them may end meanwhile.
        let parent = tree
            .text(&path)
            .and_then(|text| Stat::of(&text, &path)?.field(4));
        if let Ok(Ok(parent)) = parent.map(u32::try_from) {
            parents.entry(parent).or_default().push(child);
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![id]);
    while let Some(parent) = next.pop() {
        // What a list holds twice would be followed twice: each child has one parent only.
        let children = parents.remove(&parent).unwrap_or_default();
        found.extend(&children);
        next.extend(children);
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_and_migrations_are_those_of_the_scheduling_entity() {
        let text = "worker (7, #threads: 3)\n----\nse.nr_migrations    :    41\nnr_switches : 12\n\
                    nr_voluntary_switches : 9\nnr_involuntary_switches : 3\nnuma_pages_migrated : 9\n";
        assert_eq!(scheduled(text, "sched"), [Ok(9), Ok(3), Ok(41)]);
        let [voluntary, _, migrations] = scheduled("nr_switches : 3\n", "sched");
        assert!(voluntary.is_err() && migrations.is_err());
    }
}
