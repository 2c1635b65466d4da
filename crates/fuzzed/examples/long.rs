//! Changes the seeds of a target for as long as there is patience, without a fuzzer.
//!
//! ```sh
//! cargo run --release -p fuzzed --example long -- plant 300 1
//! ```
//!
//! The last number is where chance begins. An input that fails is written to `fuzz/regressions/TARGET/found-…`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "run by hand")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fuzzed::change::{Random, change};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, seconds, begin] = arguments.as_slice() else {
        println!("long TARGET SECONDS NUMBER");
        return;
    };
    let (_, run) = fuzzed::TARGETS
        .into_iter()
        .find(|(known, _)| known == name)
        .unwrap();
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let files = fs::read_dir(fuzz.join("seeds").join(name)).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut inputs: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let begin: u64 = begin.parse().unwrap();
    let mut random = Random(begin);
    let end = Instant::now() + Duration::from_secs(seconds.parse().unwrap());
    let (mut runs, mut found, mut slowest) = (0_u64, 0, Duration::ZERO);
    while Instant::now() < end {
        let at = random.below(inputs.len());
        let mut input = inputs[at].clone();
        let other = inputs[random.below(inputs.len())].clone();
        for _ in 0..=random.below(6) {
            change(&mut input, &other, &mut random);
        }
        input.truncate(4096);
        let start = Instant::now();
        let survived = std::panic::catch_unwind(|| run(&input)).is_ok();
        if start.elapsed() > slowest {
            slowest = start.elapsed();
            println!("slowest: {slowest:?}, run {runs}: {input:02x?}");
        }
        if !survived {
            let folder = fuzz.join("regressions").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("found-{begin}-{found}")), &input).unwrap();
            found += 1;
        }
        // Chance walks on from there now and then.
        if random.below(20) == 0 && survived {
            inputs[at] = input;
        }
        runs += 1;
    }
    println!("{runs} runs, {found} failed, the slowest took {slowest:?}");
}
