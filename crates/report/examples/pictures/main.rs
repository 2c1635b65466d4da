//! Draws the pictures of `docs/measuring.md`: `cargo run -p report --example pictures -- docs/pictures`.
//!
//! Nothing is measured and nothing is drawn by hand: schedules come from `plan`, a pretended server that
//! can be calculated answers them, `record` writes down what happened, and that is drawn. So everybody
//! gets the same pictures, and a test holds those in `docs/pictures` to it.

mod bench;
mod draw;
mod svg;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pictures FOLDER");
        return ExitCode::from(2);
    };
    for (name, picture) in draw::all() {
        let file = folder.join(name);
        if let Err(error) = std::fs::write(&file, picture) {
            eprintln!("error: cannot write {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        println!("{}", file.display());
    }
    ExitCode::SUCCESS
}
