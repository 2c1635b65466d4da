//! Secrets that stand in files.

use std::path::Path;

use anyhow::Context;
use zeroize::Zeroizing;

/// The first line of a file that holds a secret. A line without a letter is an empty secret; no line at all is none.
pub fn first_line(file: &Path) -> anyhow::Result<Zeroizing<String>> {
    // Lines that are all empty were left out.
    Ok(lines(file)?.into_iter().next().unwrap_or_default())
}

/// The lines of a file, without empty ones at its end.
pub fn lines(file: &Path) -> anyhow::Result<Vec<Zeroizing<String>>> {
    let text = std::fs::read_to_string(file)
        .map(Zeroizing::new)
        .with_context(|| format!("cannot read the password from {}", file.display()))?;
    anyhow::ensure!(
        !text.is_empty(),
        "{} is empty (want a password in its first line)",
        file.display()
    );
    let lines = text.trim_end_matches(['\r', '\n']).lines();
    Ok(lines.map(|line| Zeroizing::new(line.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_line_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let first = |text: &str| {
            std::fs::write(&file, text).unwrap();
            first_line(&file).map(|it| it.to_string())
        };
        assert_eq!(first("one\ntwo\n").unwrap(), "one");
        assert_eq!(first("\n").unwrap(), "");
        let error = first("").unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
    }
}
