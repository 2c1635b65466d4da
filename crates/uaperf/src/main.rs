//! The program. What it does is in the crate `commands`, which is built for size: what is built for speed is below it, and
//! how the whole is optimised when it is linked follows from this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main()
}
