//! Users and groups of a plant file: who may come in, and what they may do where.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::common::path;
use super::error::{Complaint, Read};
use crate::describe::{Right, User};
use crate::space::Rights;
use crate::space::rights::ZONES;
use crate::users::TokenHash;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTable {
    pub name: Spanned<String>,
    pub password_hash: Option<Spanned<String>>,
    pub token_file: Option<Spanned<PathBuf>>,
    pub certificate: Option<Spanned<bool>>,
    pub may: Option<Spanned<Vec<Right>>>,
    pub group: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupTable {
    pub name: Spanned<String>,
    pub may: Option<Vec<Right>>,
    #[serde(default)]
    pub on: Vec<OnTable>,
}

/// What a group may do below a folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnTable {
    pub path: Spanned<String>,
    pub may: Vec<Right>,
}

/// Groups by name, and the folders whose nodes have rights of their own.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<(String, Rights)>,
    /// Paths; the place of each, from 1 on, is its zone.
    pub zones: Vec<String>,
}

pub fn rights(may: &[Right]) -> Rights {
    Rights {
        read: may.contains(&Right::Read),
        write: may.contains(&Right::Write),
        call: may.contains(&Right::Call),
        ..Rights::NONE
    }
}

impl Groups {
    pub fn new(tables: Vec<GroupTable>) -> Read<Self> {
        let mut this = Self::default();
        for table in tables {
            let name = table.name.get_ref();
            if name.is_empty() || this.find(name).is_some() {
                let what = format!("{name:?} is empty or there twice (want each group once)");
                return Err(Complaint::about(&table.name, what));
            }
            let mut own = table.may.map_or(Rights::ALL, |may| rights(&may));
            for on in table.on {
                let span = on.path.span();
                let path = path(Some(on.path))?;
                let known = this.zones.iter().position(|zone| *zone == path);
                let at = known.unwrap_or_else(|| {
                    this.zones.push(path);
                    this.zones.len() - 1
                });
                if at >= ZONES {
                    let what =
                        format!("is one folder too many (want {ZONES} at most in all groups)");
                    return Err(Complaint { span, what });
                }
                own = own.with_zone(at as u8 + 1, rights(&on.may));
            }
            this.groups.push((table.name.into_inner(), own));
        }
        Ok(this)
    }

    fn find(&self, name: &str) -> Option<Rights> {
        let found = self.groups.iter().find(|(known, _)| known == name);
        found.map(|(_, rights)| *rights)
    }

    /// The rights of a group that is named somewhere.
    pub fn rights(&self, name: &Spanned<String>) -> Read<Rights> {
        self.find(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
            let what = match known.is_empty() {
                true => format!(
                    "there is no group {:?} (want a [[group]] of this name)",
                    name.get_ref()
                ),
                false => format!(
                    "there is no group {:?} (want {})",
                    name.get_ref(),
                    known.join(", ")
                ),
            };
            Complaint::about(name, what)
        })
    }

    /// The users of a file in a folder.
    pub fn users(&self, tables: Vec<UserTable>, folder: &Path) -> Read<Vec<User>> {
        let mut users: Vec<User> = Vec::new();
        for table in tables {
            let name = table.name.get_ref();
            if name.is_empty() || users.iter().any(|user| user.name == *name) {
                let what = format!("{name:?} is empty or there twice (want each user once)");
                return Err(Complaint::about(&table.name, what));
            }
            let hash = table.password_hash.as_ref().map(|hash| {
                hash.get_ref().parse().map_err(|error| {
                    let what = format!("{error}; `uaperf plant password` makes one");
                    Complaint::about(hash, what)
                })
            });
            let certificate = table.certificate.as_ref().is_some_and(|own| *own.get_ref());
            let token = table.token_file.as_ref().map(|file| token(file, folder));
            if hash.is_none() && token.is_none() && !certificate {
                let what = "has no way to come in (want a password_hash, a token_file, or certificate = true)";
                return Err(Complaint::about(&table.name, what));
            }
            let rights = match (&table.may, &table.group) {
                (Some(may), Some(_)) => {
                    let what = "stands beside a group (want one of them)";
                    return Err(Complaint::about(may, what));
                }
                (Some(may), None) => rights(may.get_ref()),
                (None, Some(group)) => self.rights(group)?,
                (None, None) => Rights::ALL,
            };
            users.push(User {
                name: table.name.into_inner(),
                hash: hash.transpose()?,
                token: token.transpose()?,
                certificate,
                rights,
            });
        }
        Ok(users)
    }
}

/// The token in a file, without the ends of lines behind it.
fn token(file: &Spanned<PathBuf>, folder: &Path) -> Read<TokenHash> {
    let path = folder.join(file.get_ref());
    let read = std::fs::read(&path).map_err(|error| {
        let what = format!("cannot read {}: {error}", path.display());
        Complaint::about(file, what)
    })?;
    match read.trim_ascii_end() {
        [] => Err(Complaint::about(
            file,
            format!("{} is empty", path.display()),
        )),
        token => Ok(TokenHash::new(token)),
    }
}
