//! Any request, with and without the owner's token: paths, query strings, cursors, ids of events, headers, bodies.
//! The server may refuse it, but must not fail.
#![no_main]
#![allow(dead_code, reason = "the tests' home offers more than is needed here")]

#[path = "../../crates/server/tests/it/conformity.rs"]
mod conformity;
#[path = "../../crates/server/tests/it/foreign_bytes.rs"]
mod foreign_bytes;
#[path = "../../crates/server/tests/it/home.rs"]
mod home;
#[path = "../../crates/server/tests/it/talker.rs"]
mod talker;

use std::sync::OnceLock;

static STAGE: OnceLock<(tokio::runtime::Runtime, home::Home)> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (runtime, home) = STAGE.get_or_init(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let home = runtime.block_on(home::Home::new());
        (runtime, home)
    });
    runtime.block_on(foreign_bytes::is_answered(home, bytes));
});
