//! Security groups of a plant file, and publishers that use their keys.

use serde::Deserialize;
use toml::Spanned;
use wire::policy::Mode;

use super::error::{Complaint, Read};
use crate::describe::{Secured, User};
use crate::security_group::SecurityGroup;
use crate::terms::Span;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityGroupTable {
    pub id: Spanned<String>,
    pub policy: Option<Spanned<String>>,
    pub lifetime: Option<Spanned<Span>>,
    pub future: Option<Spanned<u16>>,
    pub past: Option<Spanned<u16>>,
    pub may_get: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub may_set: Vec<Spanned<String>>,
}

/// The groups of a file with these users.
pub fn groups(tables: Vec<SecurityGroupTable>, users: &[User]) -> Read<Vec<SecurityGroup>> {
    let mut groups: Vec<SecurityGroup> = Vec::new();
    for table in tables {
        let id = table.id.get_ref();
        if id.is_empty() || groups.iter().any(|it| it.id == *id) {
            let what = format!("{id:?} is empty or there twice (want each group once)");
            return Err(Complaint::about(&table.id, what));
        }
        let mut group = SecurityGroup::new(id.clone());
        if let Some(policy) = &table.policy {
            let read = policy.get_ref().parse();
            group.policy = read.map_err(|error| Complaint::about(policy, format!("{error}")))?;
        }
        if let Some(lifetime) = &table.lifetime {
            group.lifetime = lifetime.get_ref().0;
            if group.lifetime < SecurityGroup::LEAST_LIFETIME {
                let what = format!(
                    "is {:?} (want {:?} or more)",
                    group.lifetime,
                    SecurityGroup::LEAST_LIFETIME
                );
                return Err(Complaint::about(lifetime, what));
            }
        }
        for (to, asked) in [
            (&mut group.future, &table.future),
            (&mut group.past, &table.past),
        ] {
            let Some(asked) = asked else { continue };
            *to = *asked.get_ref();
            if *to > SecurityGroup::MOST_KEYS {
                let what = format!("is {to} (want {} or fewer)", SecurityGroup::MOST_KEYS);
                return Err(Complaint::about(asked, what));
            }
        }
        let known = |names: Vec<Spanned<String>>| {
            let one =
                |name: Spanned<String>| match users.iter().any(|user| user.name == *name.get_ref())
                {
                    true => Ok(name.into_inner()),
                    false => {
                        let what = format!(
                            "there is no user {:?} (want a [[user]] of this name)",
                            name.get_ref()
                        );
                        Err(Complaint::about(&name, what))
                    }
                };
            names.into_iter().map(one).collect::<Read<Vec<String>>>()
        };
        group.may_get = table.may_get.map(known).transpose()?;
        group.may_set = known(table.may_set)?;
        groups.push(group);
    }
    Ok(groups)
}

/// With which keys a publisher secures its messages, and how.
pub fn secured(
    security: Option<&Spanned<String>>,
    group: Option<&Spanned<String>>,
    groups: &[SecurityGroup],
) -> Read<Option<Secured>> {
    let (security, group) = match (security, group) {
        (None, None) => return Ok(None),
        (Some(security), None) if security.get_ref() == "none" => return Ok(None),
        (Some(security), None) => {
            let what = "stands without security_group (want the id of a [[security_group]])";
            return Err(Complaint::about(security, what));
        }
        (security, Some(group)) => (security, group),
    };
    let mode = match security.map(|it| it.get_ref().as_str()) {
        None | Some("sign-and-encrypt") => Mode::SignAndEncrypt,
        Some("sign") => Mode::Sign,
        Some(other) => {
            let what = format!("is {other:?} (want sign, sign-and-encrypt, or no security_group)");
            return Err(Complaint::about(security.unwrap_or(group), what));
        }
    };
    match groups.iter().any(|it| it.id == *group.get_ref()) {
        true => Ok(Some(Secured {
            mode,
            group: group.get_ref().clone(),
        })),
        false => {
            let what = format!(
                "there is no group {:?} (want a [[security_group]] with this id)",
                group.get_ref()
            );
            Err(Complaint::about(group, what))
        }
    }
}
