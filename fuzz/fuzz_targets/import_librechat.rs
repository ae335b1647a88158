//! Any bytes as a file of the format `librechat`.
#![no_main]

#[path = "../../crates/import/tests/it/foreign_bytes.rs"]
mod foreign_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foreign_bytes::are_read(Some("librechat"), bytes));
