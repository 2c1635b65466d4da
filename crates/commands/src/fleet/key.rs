//! The key that a controller signs its commands with: `uaperf fleet key`, and what agents know of it.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::Context;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::failure::Failure;
use crate::{place, screen};

/// Make the key that commands to agents are signed with, and print the line that agents are to know
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// File of the private key; one that is there stays as it is [default: uaperf/fleet.key in the user's configuration folder]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

const EXAMPLES: &str = "\
The line that is printed belongs into the file of `uaperf agent --allow-from FILE`. The private key is used by --fleet
without being asked for; UAPERF_FLEET_KEY names another file.

Examples:
  uaperf fleet key
  uaperf fleet key | ssh lab@pc1 'cat >> fleet.keys'";

/// Names the file of the private key.
const VARIABLE: &str = "UAPERF_FLEET_KEY";
/// Its block.
const TAG: &str = "PRIVATE KEY";
/// How a line of a public key begins.
const KIND: &str = "ed25519";
/// Bytes of a public key.
const LENGTH: usize = 32;

/// Carries out `uaperf fleet key`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = match &args.key {
        Some(file) => file.clone(),
        None => usual()?,
    };
    let own = match Own::read(&file)? {
        Some(own) => own,
        None => Own::make(&file)?,
    };
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    writeln!(screen::out(), "{} {host}", own.public())?;
    Ok(ExitCode::SUCCESS)
}

/// Where the private key is.
fn usual() -> anyhow::Result<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|it| !it.is_empty()) {
        Some(file) => Ok(file.into()),
        None => Ok(place::configuration()?.join("fleet.key")),
    }
}

/// A controller's key.
pub struct Own(Ed25519KeyPair);

impl Own {
    /// The user's own, if there is one.
    pub fn usual() -> anyhow::Result<Option<Self>> {
        Self::read(&usual()?)
    }

    fn read(file: &Path) -> anyhow::Result<Option<Self>> {
        let text = match std::fs::read(file) {
            Ok(text) => zeroize::Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| file.display().to_string()),
        };
        let wrong = || {
            Failure::usage(format!(
                "{}: want a private Ed25519 key in PEM, as `uaperf fleet key` makes it",
                file.display()
            ))
        };
        let block = pem::parse(&*text).map_err(|_| wrong())?;
        if block.tag() != TAG {
            return Err(wrong().into());
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(block.contents());
        Ok(Some(Self(pair.map_err(|_| wrong())?)))
    }

    /// A new one, in a file that nobody else reads; one that is there is not replaced.
    pub fn make(file: &Path) -> anyhow::Result<Self> {
        let failed = || Failure::new("cannot make a key: the system has no random bytes");
        let made = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).map_err(|_| failed())?;
        let text = pem::encode(&pem::Pem::new(TAG, made.as_ref()));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Nobody else on this machine reads it.
        platform::file::private(&mut options);
        let mut out = options
            .open(file)
            .with_context(|| file.display().to_string())?;
        out.write_all(text.as_bytes())
            .and_then(|()| out.sync_all())
            .with_context(|| file.display().to_string())?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(made.as_ref());
        Ok(Self(pair.map_err(|_| failed())?))
    }

    /// What agents know of it.
    pub fn public(&self) -> Public {
        let mut bytes = [0; LENGTH];
        let own = self.0.public_key().as_ref();
        for (to, from) in bytes.iter_mut().zip(own) {
            *to = *from;
        }
        Public(bytes)
    }

    /// Signs a command.
    pub fn sign(&self, command: &[u8]) -> fleet::Proof {
        fleet::Proof {
            key: self.public().0.to_vec(),
            signature: self.0.sign(command).as_ref().to_vec(),
        }
    }
}

/// A controller's key, as an agent knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Public([u8; LENGTH]);

impl Public {
    /// Whether a command is signed with it.
    pub fn has_signed(&self, proof: &fleet::Proof, command: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        proof.key == self.0 && key.verify(command, &proof.signature).is_ok()
    }
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND}:")?;
        self.0.iter().try_for_each(|it| write!(f, "{it:02x}"))
    }
}

impl FromStr for Public {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let want = || {
            format!(
                "{text:?} is no key (want {KIND}: and {} digits)",
                2 * LENGTH
            )
        };
        let digits = text.strip_prefix(KIND).and_then(|it| it.strip_prefix(':'));
        let digits = digits.filter(|it| it.len() == 2 * LENGTH && it.is_ascii());
        let digits = digits.ok_or_else(want)?;
        let mut bytes = [0; LENGTH];
        for (n, byte) in bytes.iter_mut().enumerate() {
            let two = digits.get(2 * n..2 * n + 2).unwrap_or_default();
            // A sign would be taken, too.
            let plain = two.bytes().all(|it| it.is_ascii_hexdigit());
            *byte = u8::from_str_radix(two, 16)
                .ok()
                .filter(|_| plain)
                .ok_or_else(want)?;
        }
        Ok(Self(bytes))
    }
}

/// The keys of a file: a line each, with a name behind it; empty lines and those that begin with `#` mean nothing.
pub fn known(file: &Path) -> anyhow::Result<Vec<Public>> {
    let named = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--allow-from {named}: {error}")))?;
    let mut known = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let word = line.split_whitespace().next().unwrap_or_default();
        if word.is_empty() || word.starts_with('#') {
            continue;
        }
        let key = word.parse::<Public>();
        known.push(key.map_err(|why| Failure::usage(format!("{named} line {}: {why}", n + 1)))?);
    }
    match known.is_empty() {
        true => Err(
            Failure::usage(format!("--allow-from {named}: no key is in it"))
                .hint("the line that `uaperf fleet key` prints belongs there")
                .into(),
        ),
        false => Ok(known),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_key_has_signed_it_has_signed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (own, other) = (Own::make(&at("a")).unwrap(), Own::make(&at("b")).unwrap());
        let again = Own::read(&at("a")).unwrap().unwrap();
        assert_eq!(again.public(), own.public());
        let proof = again.sign(b"read");
        assert!(own.public().has_signed(&proof, b"read"));
        assert!(!own.public().has_signed(&proof, b"write"));
        assert!(!other.public().has_signed(&proof, b"read"));
        let mut forged = other.sign(b"read");
        forged.key = proof.key.clone();
        assert!(!own.public().has_signed(&forged, b"read"));
        // Nobody's key is replaced.
        assert!(Own::make(&at("a")).is_err());
    }

    #[test]
    fn a_public_key_is_read_as_it_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let own = Own::make(&folder.path().join("key")).unwrap();
        let text = own.public().to_string();
        assert_eq!(text.parse::<Public>().unwrap(), own.public());
        for bad in ["", "ed25519:", "ed25519:+1", &text[1..], &text[..70]] {
            assert!(bad.parse::<Public>().unwrap_err().contains("want"));
        }
        let file = folder.path().join("keys");
        std::fs::write(&file, format!("# lab\n\n{text} me@lab\n")).unwrap();
        assert_eq!(known(&file).unwrap(), [own.public()]);
        std::fs::write(&file, "# nobody\n").unwrap();
        let error = known(&file).unwrap_err().to_string();
        assert!(error.contains("no key is in it"), "{error}");
        std::fs::write(&file, "\nssh-ed25519 AAAA\n").unwrap();
        let error = known(&file).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
