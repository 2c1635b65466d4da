//! The files that a command was asked to write: checked before it begins, written as a whole, and reported when
//! they are lost. Whatever is lost, the exit code is 1.

use std::io::Write;
use std::path::{Path, PathBuf};

use record::Run;
use record::run::{Destination, target, try_out};

use crate::failure::Failure;
use crate::{lost, screen};

/// Where results are kept, unless `--out` names another place.
pub const FOLDER: &str = "results";

/// Whether a file is standard output.
pub fn is_output(file: &Path) -> bool {
    let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    names.iter().any(|name| file == Path::new(name))
}

/// What is said of a file that could not be written.
pub fn cannot(option: &str, file: &Path, error: &std::io::Error) -> Failure {
    let file = file.display();
    Failure::new(format!("{option} {file}: cannot be written: {error}")).hint("name another file")
}

/// A file that grows while something is measured, in a folder that is made if need be; one that is there is
/// replaced.
pub fn create(file: &Path) -> std::io::Result<Box<dyn Write + Send>> {
    if is_output(file) {
        return Ok(Box::new(screen::out()));
    }
    Ok(Box::new(record::run::create(file)?))
}

/// Finds out before anything is measured whether the files can be what they are meant to be: each is a file that can
/// be written, and no two are one. What is read may not be overwritten either.
pub fn check<'a>(
    files: impl IntoIterator<Item = (&'static str, &'a Option<PathBuf>)>,
    inputs: &[PathBuf],
) -> Result<(), Failure> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, file) in files {
        let Some(file) = file else { continue };
        let shown = file.display();
        if is_output(file) {
            if let Some((other, _)) = seen.iter().find(|(_, it)| is_output(it)) {
                let what = format!("{other} and {option}: both go to standard output");
                return Err(Failure::usage(what).hint("name a file for one of them"));
            }
            seen.push((option, file.clone()));
            continue;
        }
        if file.is_dir() {
            let what = format!("{option} {shown}: that is a folder (want the name of a file)");
            return Err(Failure::usage(what));
        }
        let place = place(file);
        if let Some((other, _)) = seen.iter().find(|(_, it)| *it == place) {
            let what = format!("{other} and {option} name the same file: {shown}");
            return Err(Failure::usage(what).hint("name another file for one of them"));
        }
        if inputs.iter().any(|input| self::place(input) == place) {
            let what = format!("{option} {shown}: that is what is read");
            return Err(Failure::usage(what).hint("name another file"));
        }
        try_out(file).map_err(|error| cannot(option, file, &error))?;
        // What is thrown away may be so more than once.
        if place != Path::new("/dev/null") {
            seen.push((option, place));
        }
    }
    Ok(())
}

/// Finds out whether results can be kept in a folder.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    try_out(&folder.join("result.json")).map_err(|error| {
        let what = format!("results cannot be written to {}: {error}", folder.display());
        Failure::new(what).hint("name a file with --out")
    })
}

/// The same for two names of a file, whatever its links and folders are called.
fn place(file: &Path) -> PathBuf {
    let file = target(&std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
    if let Ok(known) = file.canonicalize() {
        return known;
    }
    // It is not there yet, and neither may some of its folders be.
    let known = |folder: &Path| {
        let rest = file.strip_prefix(folder).ok()?;
        Some(folder.canonicalize().ok()?.join(rest))
    };
    file.ancestors()
        .skip(1)
        .find_map(known)
        .unwrap_or(file.clone())
}

/// Writes a file, or to standard output. What is lost is reported in the end.
pub fn put(option: &str, file: &Path, text: &[u8]) {
    if let Err(error) = replace(file, text) {
        lost::add(cannot(option, file, &error));
    }
}

/// Writes a file as a whole, or to standard output.
pub fn replace(file: &Path, text: &[u8]) -> std::io::Result<()> {
    match is_output(file) {
        true => screen::out().write_all(text),
        false => record::run::replace(file, text),
    }
}

/// What became of a result.
#[derive(Debug, Default)]
pub struct Saved {
    /// Where it is; none where it was printed.
    pub file: Option<PathBuf>,
    /// Why it is not where it was wanted.
    pub lost: Option<String>,
}

/// Keeps a result where it was asked for, or else where it can be kept, and says where that is. What nothing on this
/// machine takes is printed.
pub fn keep(run: &Run, wanted: &Destination) -> Saved {
    if let Destination::File(file) = wanted
        && is_output(file)
    {
        print(run);
        return Saved::default();
    }
    let error = match run.write(wanted) {
        Ok(file) => {
            return Saved {
                file: Some(file),
                lost: None,
            };
        }
        Err(error) => error,
    };
    let file = [FOLDER.into(), std::env::temp_dir()]
        .into_iter()
        .map(Destination::Folder)
        .filter(|it| it != wanted)
        .find_map(|it| run.write(&it).ok());
    let instead = match &file {
        Some(file) => format!("in {}", file.display()),
        None => "on standard output".to_owned(),
    };
    let why = format!("{error}; it is {instead} instead");
    lost::add(Failure::new(why.clone()));
    if file.is_none() {
        print(run);
    }
    Saved {
        file,
        lost: Some(why),
    }
}

fn print(run: &Run) {
    // What can be put into a file can be put into a text.
    let _ = screen::json(&mut screen::out(), run);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_place_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("a")).unwrap();
        assert_eq!(place(&at("a/../b/c.json")), place(&at("a/../b/./c.json")));
        assert_ne!(place(&at("a/b.json")), place(&at("a/c.json")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", at("link")).unwrap();
            assert_eq!(place(&at("link/x/y.json")), place(&at("a/x/y.json")));
        }
    }

    #[test]
    fn files_are_held_against_each_other_and_against_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| Some(folder.path().join(name));
        let (one, two) = (at("one"), at("two"));
        check([("--out", &one), ("--csv", &two)], &[]).unwrap();
        let twice = check([("--out", &one), ("--csv", &one)], &[]).unwrap_err();
        assert!(
            twice
                .to_string()
                .starts_with("--out and --csv name the same file")
        );
        let read = check([("--csv", &one)], &[one.clone().unwrap()]).unwrap_err();
        assert!(read.to_string().ends_with("that is what is read"));
        let output = Some(PathBuf::from("-"));
        assert!(check([("--csv", &output), ("--junit", &output)], &[]).is_err());
    }
}
