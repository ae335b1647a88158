//! Asks the linker to fold functions with identical code, of which generic code leaves many: a megabyte of the release build.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Where rustc links with its own lld, which can do it; other linkers may refuse the option.
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    let has_lld = is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu");
    if has_lld && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
