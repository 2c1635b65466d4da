//! Tries every cell of the tables of `docs/interop.md`, and writes the page when what is known is
//! right. See `--help`.

use std::path::PathBuf;
use std::process::ExitCode;

use interop::{Extent, Ours, Theirs, among_themselves, inward, out, page};
use peers::{Stack, StackState};

const HELP: &str = "\
Tries every policy, mode and user with our client on every installed stack's server, and with every
installed stack's client on our server, and the others' clients on the others' servers; compares
what comes of it with what the page says, and writes the page.

Usage: table [--only STACK,…] [FILE]     FILE: docs/interop.md of this repository

Exit: 0 all is as the page says, 1 something is not (each such cell is printed), 2 wrong usage.";

struct Args {
    stacks: Vec<&'static Stack>,
    file: PathBuf,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let mut args = Args {
        stacks: Stack::all().to_vec(),
        file: PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/interop.md"
        )),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--only" => {
                let names = words.next().ok_or("--only wants STACK,…")?;
                let stacks = names.split(',').map(|name| {
                    Stack::named(name).ok_or_else(|| format!("there is no stack named {name}"))
                });
                args.stacks = stacks.collect::<Result<_, _>>()?;
            }
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            file => args.file = file.into(),
        }
    }
    Ok(Some(args))
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(what) => {
            eprintln!("{what}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    let (ours, theirs) = (Ours::new()?, Theirs::new()?);
    let mut as_known = true;
    for stack in &args.stacks {
        if !matches!(stack.state(), StackState::Installed) {
            let name = stack.name;
            eprintln!("{name}: not installed, so not tried: uaperf peers install {name}");
            continue;
        }
        let mut unexpected = out(stack, &ours)?;
        unexpected.extend(inward(stack, &theirs, Extent::Whole));
        unexpected.extend(among_themselves(stack, Extent::Whole)?);
        for line in &unexpected {
            eprintln!("{line}");
        }
        as_known &= unexpected.is_empty();
    }
    if as_known {
        std::fs::write(&args.file, page::page())?;
        eprintln!("{} written", args.file.display());
    } else {
        eprintln!("not as known (crates/interop/src/known.rs): nothing written");
    }
    Ok(as_known)
}
