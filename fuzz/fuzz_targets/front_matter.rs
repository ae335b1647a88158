//! Any bytes as a document's file.
#![no_main]
#![allow(dead_code, reason = "the tests' home and seeds offer more than is needed here")]

#[path = "../../crates/hub/tests/it/foreign_bytes.rs"]
mod foreign_bytes;
#[path = "../../crates/hub/tests/it/home.rs"]
mod home;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| foreign_bytes::front_matter_is_read(bytes));
