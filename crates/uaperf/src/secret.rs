//! Secrets that stand in files.

use std::path::Path;

use anyhow::Context;
use zeroize::Zeroizing;

/// The first line of a file that holds a secret.
pub fn first_line(file: &Path) -> anyhow::Result<Zeroizing<String>> {
    Ok(lines(file)?.into_iter().next().unwrap_or_default())
}

/// The lines of a file, without empty ones at its end.
pub fn lines(file: &Path) -> anyhow::Result<Vec<Zeroizing<String>>> {
    let text = std::fs::read_to_string(file)
        .map(Zeroizing::new)
        .with_context(|| format!("cannot read the password from {}", file.display()))?;
    let lines = text.trim_end_matches(['\r', '\n']).lines();
    Ok(lines.map(|line| Zeroizing::new(line.to_owned())).collect())
}
