//! Creates the folder of the page if it is missing, so that cargo can watch it: a page that is built later is
//! embedded by the next build.

use std::path::Path;

fn main() {
    let page = Path::new("../../web/dist");
    if !page.exists() && std::fs::create_dir_all(page).is_err() {
        println!(
            "cargo::warning=web/dist is missing and can't be created; the program is built without its page"
        );
    }
    println!("cargo::rerun-if-changed=../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
}
