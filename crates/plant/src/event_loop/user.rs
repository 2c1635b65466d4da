//! The user of a session: who it says to be, whether it may come in, and what it may do.

use wire::policy::Policy;
use wire::session::token::UserIdentity;
use wire::types::{
    AnonymousIdentityToken, ExtensionObject, IssuedIdentityToken, StatusCode,
    UserNameIdentityToken, X509IdentityToken,
};

use crate::refused::Who;
use crate::shared::Shared;
use crate::space::Rights;

/// Who a user says to be. What they prove it with is in none of it.
pub fn who(token: &ExtensionObject) -> Who {
    if let Some(token) = token.inner_as::<UserNameIdentityToken>() {
        return Who::User(token.user_name.clone());
    }
    if let Some(token) = token.inner_as::<X509IdentityToken>() {
        let certificate = token.certificate_data.as_ref();
        return Who::Owner(Who::common_name(certificate));
    }
    if token.inner_is::<IssuedIdentityToken>() {
        return Who::Bearer;
    }
    match token.is_null() || token.inner_is::<AnonymousIdentityToken>() {
        true => Who::Anonymous,
        false => Who::Unknown,
    }
}

/// Whether this user may come in, with a token that is protected under this policy.
pub fn welcome(shared: &Shared, user: &UserIdentity, policy: Policy) -> Result<(), StatusCode> {
    let users = &shared.config.users;
    match user {
        UserIdentity::Anonymous if users.anonymous => Ok(()),
        UserIdentity::UserName { name, password } => match users.check(name, password) {
            true => Ok(()),
            false => Err(StatusCode::BadUserAccessDenied),
        },
        UserIdentity::X509 { certificate } => match &users.certificates {
            Some(trust) => trust
                .judge(certificate.as_bytes(), pki::Role::User, policy)
                .map_err(|_| StatusCode::BadIdentityTokenRejected),
            None => Err(StatusCode::BadIdentityTokenRejected),
        },
        UserIdentity::Issued { data } if users.owner_of(data).is_some() => Ok(()),
        _ => Err(StatusCode::BadIdentityTokenRejected),
    }
}

/// What this user may do.
pub fn rights(shared: &Shared, user: &UserIdentity) -> Rights {
    let users = &shared.config.users;
    match user {
        UserIdentity::Anonymous => users.rights_of(None),
        UserIdentity::UserName { name, .. } => users.rights_of(Some(name)),
        UserIdentity::X509 { certificate } => {
            users.rights_of_owner(leaf(certificate).as_ref().and_then(common_name))
        }
        UserIdentity::Issued { data } => users.rights_of(users.owner_of(data)),
    }
}

/// Which of the users of the plant this is, by the name that they are listed under.
pub fn listed(shared: &Shared, user: &UserIdentity) -> Option<String> {
    let users = &shared.config.users;
    match user {
        UserIdentity::Anonymous => None,
        UserIdentity::UserName { name, .. } => Some(name.clone()),
        UserIdentity::X509 { certificate } => {
            let leaf = leaf(certificate)?;
            users.owner_named(common_name(&leaf)).map(str::to_owned)
        }
        UserIdentity::Issued { data } => users.owner_of(data).map(str::to_owned),
    }
}

fn leaf(certificate: &wire::certificate::Certificate) -> Option<pki::Certificate> {
    let chain = pki::Certificate::chain_from_der(certificate.as_bytes());
    chain.ok()?.into_iter().next()
}

fn common_name(certificate: &pki::Certificate) -> Option<&str> {
    certificate.subject().common_name()
}

/// A name that is the same for the same user and no other, one for people, and how it was proven.
pub fn name(shared: &Shared, user: &UserIdentity) -> (String, String, &'static str) {
    match user {
        UserIdentity::UserName { name, .. } => (format!("name {name}"), name.clone(), "UserName"),
        UserIdentity::X509 { certificate } => {
            let digits = certificate.thumbprint();
            let shown: String = digits.iter().map(|byte| format!("{byte:02x}")).collect();
            (format!("certificate {shown}"), shown, "Certificate")
        }
        UserIdentity::Issued { data } => {
            let name = shared.config.users.owner_of(data).unwrap_or_default();
            (format!("name {name}"), name.to_owned(), "IssuedToken")
        }
        UserIdentity::Anonymous => (String::new(), String::new(), "Anonymous"),
    }
}
