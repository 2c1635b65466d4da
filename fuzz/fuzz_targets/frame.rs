#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::frame::run(data));
