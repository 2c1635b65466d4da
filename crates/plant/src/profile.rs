//! Plants that come with the program: files of `profiles/`, which a user's own can begin from.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::describe::Plant;
use crate::file::Wrong;

/// What is in the address space beside the standard nodes.
#[derive(Debug, Clone)]
pub enum Profile {
    /// The address space that all servers of the bench have.
    Bench {
        /// How often its scalars change; they stay as they are without.
        update: Option<Duration>,
    },
    /// Ten moving values.
    Demo,
    /// A plant of a file, or any profile by its name.
    Plant(Arc<Plant>),
}

macro_rules! profiles {
    ($($name:literal: $about:literal,)*) => {
        /// The profiles: name, what it is for, the file.
        const PROFILES: &[(&str, &str, &str)] = &[
            $(($name, $about, include_str!(concat!("../profiles/", $name, ".toml"))),)*
        ];
    };
}

profiles! {
    "bench": "1000 scalars, arrays, counters and a method, the same on every peer",
    "demo": "Ten moving values",
    "tahvanainen2016": "MyLevel, Counter1 and byte arrays of the thesis of 2016",
    "gonzalez2015": "MAIN.REAL, PAGE, SDD, IMAGE and valueDesc of the test platform of 2015",
    "burger2019": "Floats renewed by a loop, with the server's CPU, memory and run span",
    "morato2021": "An integer that grows each second, and one each 30 ms",
    "cavalieri2010": "Integers, floats, structures and arrays for sets of any size",
    "compat": "100 Int32 at ns=1;i=1001..1100, as tools of other projects expect them",
    "large": "A million variables in a thousand folders",
    "alarms": "5,000 events a second, bursts of a thousand, and alarms that can be acknowledged",
    "devices": "A small field device, to be served many times with --count",
}

impl Profile {
    /// The names of all profiles and what they are for.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        PROFILES.iter().map(|(name, about, _)| (*name, *about))
    }

    /// The file of a profile.
    pub fn text(name: &str) -> Option<&'static str> {
        let found = PROFILES.iter().find(|(known, _, _)| *known == name);
        found.map(|(_, _, text)| *text)
    }

    /// The plant of a profile. None if there is no such profile.
    pub fn named(name: &str) -> Option<Result<Plant, Wrong>> {
        let text = Self::text(name)?;
        Some(Plant::parse(
            text,
            &format!("profile {name}"),
            Path::new(""),
        ))
    }

    /// The plant that it stands for.
    pub(crate) fn plant(&self) -> Result<Arc<Plant>, Wrong> {
        // Both that are read here are among them, as a test of all profiles sees.
        let read = |name: &str| {
            let text = Self::text(name).unwrap_or_default();
            Plant::parse(text, &format!("profile {name}"), Path::new(""))
        };
        match self {
            Self::Bench { update } => {
                let mut plant = read("bench")?;
                if let Some(update) = update {
                    plant.update_each(*update);
                }
                Ok(Arc::new(plant))
            }
            Self::Demo => Ok(Arc::new(read("demo")?)),
            Self::Plant(plant) => Ok(Arc::clone(plant)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_a_plant() {
        for (name, _) in Profile::all() {
            let plant = Profile::named(name).unwrap().unwrap();
            assert!(plant.variables() > 0, "{name}");
        }
        assert!(Profile::named("nothing").is_none());
    }
}
