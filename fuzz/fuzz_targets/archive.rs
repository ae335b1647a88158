//! Any archive: raw bytes, or files that the input names. It may be refused; nothing of a refused one is imported.
#![no_main]
#![allow(dead_code, reason = "the tests' home and seeds offer more than is needed here")]

#[path = "../../crates/hub/tests/it/foreign_bytes.rs"]
mod foreign_bytes;
#[path = "../../crates/hub/tests/it/home.rs"]
mod home;

use std::sync::OnceLock;

static STAGE: OnceLock<(tokio::runtime::Runtime, home::Home)> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (runtime, home) = STAGE.get_or_init(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let home = runtime.block_on(home::Home::without_files());
        (runtime, home)
    });
    runtime.block_on(foreign_bytes::archive_is_answered(home, bytes));
});
