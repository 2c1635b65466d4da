//! Where things are on this machine: the user's configuration folder and the
//! machine's name.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::failure::Failure;

/// The folder `uaperf` in the user's configuration folder.
pub fn configuration() -> anyhow::Result<PathBuf> {
    configuration_from(|name| std::env::var_os(name))
        .map(|folder| folder.join("uaperf"))
        .ok_or_else(|| {
            Failure::usage("cannot tell the user's configuration folder: HOME is not set")
                .hint("name the folder yourself with --pki DIR or UAPERF_PKI=DIR")
                .into()
        })
}

/// The name of this machine, as it belongs into an application URI.
pub fn host_name() -> String {
    let name = gethostname::gethostname().to_string_lossy().to_lowercase();
    if name.is_empty() {
        "localhost".into()
    } else {
        name
    }
}

// The XDG base directory specification: a relative path is to be ignored.
fn configuration_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from);
    if cfg!(windows) {
        return folder("APPDATA").filter(|path| path.is_absolute());
    }
    folder("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| {
            let home = folder("HOME").filter(|path| path.is_absolute())?;
            Some(home.join(".config"))
        })
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
