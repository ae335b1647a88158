//! Draws names and comments at random. A reader without knowledge of the project should understand them.

use std::path::Path;

use anyhow::Result;

use super::project::{Project, ProjectFile};
use super::rust_source::code_lines;

const DRAWN: usize = 30;
const ITEMS: [&str; 7] = ["fn", "struct", "enum", "trait", "const", "static", "type"];

/// Prints names of items and doc comments of the crates' sources. The same seed and sources give the same output.
pub(crate) fn draw(root: &Path, seed: u64) -> Result<()> {
    let files = Project::read(root)?.files;
    let is_source = |file: &&ProjectFile| {
        file.has_extension("rs") && file.path.starts_with("crates/") && file.path.contains("/src/")
    };
    let (mut names, mut comments) = (Vec::new(), Vec::new());
    for file in files.iter().filter(is_source) {
        let text = file.text.as_deref().unwrap_or_default();
        names.extend(own_names(&code_lines(text)).map(|name| format!("{name}  ({})", file.path)));
        comments.extend(comments_in(text).map(|comment| format!("{comment}  ({})", file.path)));
    }
    let mut random = Random(seed.wrapping_mul(2) | 1);
    for (heading, all) in [("Names", &mut names), ("Comments", &mut comments)] {
        println!("{heading}, {DRAWN} of {}:", all.len());
        for _ in 0..DRAWN.min(all.len()) {
            println!("  {}", all.swap_remove(random.below(all.len())));
        }
    }
    Ok(())
}

/// Names of items, except those that a trait requires of its implementations: the trait's own declaration is drawn
/// instead.
fn own_names(code: &[String]) -> impl Iterator<Item = &str> {
    let mut end_of_implementation = None;
    code.iter().filter_map(move |line| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let words = line.trim_start();
        if end_of_implementation.is_none() && words.starts_with("impl") && words.contains(" for ") {
            end_of_implementation = (!words.ends_with('}')).then(|| format!("{indent}}}"));
        }
        if let Some(end) = &end_of_implementation {
            if *line == *end {
                end_of_implementation = None;
            }
            return None;
        }
        name_in(line)
    })
}

/// The name of the item that a line begins.
fn name_in(line: &str) -> Option<&str> {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with("pub") || ["async", "unsafe", "super)", "crate)"].contains(word));
    words.next().filter(|word| ITEMS.contains(word))?;
    // A function that runs while compiling is a `const fn`.
    let name = words.find(|word| *word != "fn")?;
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())
}

/// The doc comments of a source, each as one line.
fn comments_in(text: &str) -> impl Iterator<Item = String> {
    let mut comments: Vec<String> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let comment = line.trim_start().strip_prefix("///");
        match (comment, comments.last_mut()) {
            (Some(part), Some(last)) if is_inside => last.push_str(part),
            (Some(part), _) => comments.push(part.trim_start().to_owned()),
            (None, _) => {}
        }
        is_inside = comment.is_some();
    }
    comments.into_iter()
}

/// Numbers that depend on the seed alone (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_comments_are_found() {
        assert_eq!(name_in("    pub(crate) async fn read_all<T>("), Some("read_all"));
        assert_eq!(name_in("const LIMIT_MAX: usize = 3;"), Some("LIMIT_MAX"));
        assert_eq!(name_in("    let fn_name = 3;"), None);
        let code = [
            "impl Drop for Guard {",
            "    fn drop(&mut self) {",
            "    }",
            "}",
            "impl Guard {",
            "    fn new() {",
        ];
        let code = code.map(str::to_owned);
        assert_eq!(own_names(&code).collect::<Vec<_>>(), ["new"], "a trait chose the other name");
        let source = "/// One that\n/// goes on.\nfn a() {}\n/// Another.\nfn b() {}";
        assert_eq!(comments_in(source).collect::<Vec<_>>(), ["One that goes on.", "Another."]);
    }
}
