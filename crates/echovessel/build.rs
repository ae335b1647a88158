//! Passes linker options that make the program smaller, if rustc links with its own lld. Other linkers may not know
//! the options.

use std::env::var;
use std::process::Command;

/// The first glibc that can load a program with packed relocations.
const PACKED_RELOCATIONS_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    let has_lld = is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu");
    if !has_lld || !is("PROFILE", "release") {
        return;
    }
    // Generic code compiles to many identical functions. Folding them saves a megabyte.
    println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    // Packing the relocations saves three megabytes. Programs for other machines keep them unpacked, since their
    // glibc may be older.
    let is_for_others = var("OUT_DIR").is_ok_and(|folder| folder.contains("/dist/"));
    let is_for_this = var("HOST").ok() == var("TARGET").ok() && !is_for_others;
    if is_for_this && glibc().is_some_and(|version| version >= PACKED_RELOCATIONS_SINCE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc, parsed from the form `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
