#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::json::run(data));
