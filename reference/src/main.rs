//! Writes `crates/text/src/simplified_forms.txt` to the standard output.

fn main() {
    print!("{}", reference::simplified_forms());
}
