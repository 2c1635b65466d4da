//! Files: who may read them, and which is which.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;

/// A file that is made so is its owner's alone, where files have owners; elsewhere it is whose folder it is.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// A folder that is made so is its owner's alone, likewise.
pub fn private_folder(builder: &mut DirBuilder) -> &mut DirBuilder {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder
}

/// Has a file that was there before be its owner's alone, likewise. A pipe or device belongs to others as well.
pub fn keep_private(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        use std::os::unix::fs::PermissionsExt;
        return file.set_permissions(std::fs::Permissions::from_mode(0o600));
    }
    let _ = file;
    Ok(())
}

/// Reads from the beginning of a file that is open, whatever was read of it before.
pub fn read_again(file: &File, into: &mut [u8]) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, into, 0);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, into, 0);
    #[cfg(not(any(unix, windows)))]
    {
        use std::io::{Read, Seek};
        let mut file = file;
        file.rewind()?;
        file.read(into)
    }
}

/// A number that another file in its place does not have, where the system has one.
pub fn identity(of: &Metadata) -> Option<u64> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::MetadataExt::ino(of));
    #[cfg(not(unix))]
    {
        let _ = of;
        None
    }
}

/// What takes all that is written, and has nothing to read.
pub const NOTHING: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn what_takes_all_gives_nothing() {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(NOTHING)
            .unwrap();
        file.write_all(b"text").unwrap();
        let mut read = Vec::new();
        assert_eq!(file.read_to_end(&mut read).unwrap(), 0);
    }

    #[test]
    fn a_file_is_read_again_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("file");
        std::fs::write(&at, "first").unwrap();
        let file = File::open(&at).unwrap();
        let mut into = [0; 16];
        for text in ["first", "other"] {
            std::fs::write(&at, text).unwrap();
            let count = read_again(&file, &mut into).unwrap();
            assert_eq!(&into[..count], text.as_bytes());
        }
    }

    #[test]
    fn private_files_are_read_by_their_owner_and_have_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        private_folder(&mut DirBuilder::new())
            .create(&inner)
            .unwrap();
        let at = |name: &str| inner.join(name);
        let mut options = File::options();
        options.write(true).create_new(true);
        drop(private(&mut options).open(at("first")).unwrap());
        std::fs::write(at("second"), "text").unwrap();
        let second = File::open(at("second")).unwrap();
        keep_private(&second).unwrap();
        let numbers = ["first", "second"].map(|it| identity(&at(it).metadata().unwrap()));
        assert_eq!(numbers[0].is_some(), cfg!(unix));
        assert!(numbers[0].is_none() || numbers[0] != numbers[1]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
            assert_eq!(mode(&inner) & 0o777, 0o700);
            assert_eq!(mode(&at("first")) & 0o777, 0o600);
            assert_eq!(mode(&at("second")) & 0o777, 0o600);
        }
    }
}
