//! Where things are on this machine: the user's configuration folder and the
//! machine's name.

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use pki::make::Request;
use pki::store::Wanted;

use crate::failure::Failure;

/// The folder `uaperf` in the user's configuration folder.
pub fn configuration() -> anyhow::Result<PathBuf> {
    configuration_from(|name| std::env::var_os(name))
        .map(|folder| folder.join("uaperf"))
        .ok_or_else(|| {
            Failure::usage("cannot find the user's configuration folder: HOME is not set")
                .hint("name the folder yourself with --pki DIR or UAPERF_PKI=DIR")
                .into()
        })
}

/// The folder `uaperf` for what is kept while it is needed, beside the user's configuration.
pub fn state() -> anyhow::Result<PathBuf> {
    state_from(|name| std::env::var_os(name))
        .map(|folder| folder.join("uaperf"))
        .ok_or_else(|| Failure::usage("cannot find the user's folders: HOME is not set").into())
}

/// The name of this machine, as it belongs into an application URI.
pub fn host_name() -> String {
    let name = gethostname::gethostname().to_string_lossy().to_lowercase();
    if name.is_empty() {
        LOCALHOST.into()
    } else {
        name
    }
}

/// The name of every machine for itself.
pub const LOCALHOST: &str = "localhost";

/// What this program's certificate says that is made at first use: the names by
/// which this machine is reached, those of the loopback among them, where a bench
/// often runs.
pub fn own_request() -> Request {
    request("uaperf", |host| format!("urn:{host}:uaperf"))
}

/// The same of one of the simulated clients, counted from 1, that have an identity each.
pub fn client_request(n: u32) -> Wanted {
    let name = format!("client-{n:04}");
    Wanted {
        request: request(&format!("uaperf {name}"), |host| {
            format!("urn:{host}:uaperf:{name}")
        }),
        name,
    }
}

/// The same of a simulated device.
pub fn device_request(name: &str, uri: &str) -> Request {
    request(name, |_| uri.to_owned())
}

fn request(name: &str, uri: impl Fn(&str) -> String) -> Request {
    let host = host_name();
    let request = Request::application(uri(&host))
        .common_name(name)
        .domain(&host);
    let request = if host == LOCALHOST {
        request
    } else {
        request.host(&host)
    };
    request
        .dns(LOCALHOST)
        .ip(Ipv4Addr::LOCALHOST.into())
        .ip(Ipv6Addr::LOCALHOST.into())
}

// The XDG base directory specification: a relative path is to be ignored.
fn configuration_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from);
    if platform::System::IS_WINDOWS {
        return folder("APPDATA").filter(|path| path.is_absolute());
    }
    folder("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| {
            let home = folder("HOME").filter(|path| path.is_absolute())?;
            Some(home.join(".config"))
        })
}

fn state_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from);
    let absolute = |name: &str| folder(name).filter(|path| path.is_absolute());
    if platform::System::IS_WINDOWS {
        return absolute("LOCALAPPDATA");
    }
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local").join("state")))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Option<PathBuf> {
        configuration_from(|name| {
            let pair = pairs.iter().find(|pair| pair.0 == name)?;
            Some(pair.1.into())
        })
    }

    #[test]
    fn the_state_folder_follows_the_xdg_specification() {
        let with = |pairs: &[(&str, &str)]| {
            state_from(|name| {
                let pair = pairs.iter().find(|pair| pair.0 == name)?;
                Some(pair.1.into())
            })
        };
        assert_eq!(with(&[("HOME", "/h")]), Some("/h/.local/state".into()));
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")]),
            Some("/x".into())
        );
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn the_configuration_folder_follows_the_xdg_specification() {
        assert_eq!(with(&[("HOME", "/h")]), Some("/h/.config".into()));
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]),
            Some("/x".into())
        );
        assert_eq!(
            with(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "relative")]),
            Some("/h/.config".into())
        );
        assert_eq!(with(&[]), None);
    }
}
