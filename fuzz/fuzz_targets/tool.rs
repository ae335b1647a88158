//! Any call of any tool over MCP: its name, a line break, its arguments. It may be refused, but must not fail.
#![no_main]
#![allow(dead_code, reason = "the tests' home offers more than is needed here")]

#[path = "../../crates/server/tests/it/conformity.rs"]
mod conformity;
#[path = "../../crates/server/tests/it/foreign_calls.rs"]
mod foreign_calls;
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
    runtime.block_on(foreign_calls::call_is_answered(home, bytes));
});
