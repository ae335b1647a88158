//! Draws names and comments at random. A reader without knowledge of the project should understand them.

use std::path::Path;

use anyhow::Result;

use super::project::Project;
use super::rust_source::code_lines;

const DRAWN: usize = 30;
const ITEMS: [&str; 7] = ["fn", "struct", "enum", "trait", "const", "static", "type"];

const PAGE_ITEMS: [&str; 6] = ["function", "const", "let", "type", "interface", "class"];

/// Prints names of items and comments of the crates' sources, and the same of the page. The same seed and sources give
/// the same output.
pub(crate) fn draw(root: &Path, seed: u64) -> Result<()> {
    let files = Project::read(root)?.files;
    let (mut names, mut comments, mut page_names, mut page_comments) = (vec![], vec![], vec![], vec![]);
    for file in &files {
        let text = file.text.as_deref().unwrap_or_default();
        let place = |found: &str| format!("{found}  ({})", file.path);
        if file.has_extension("rs") && file.path.starts_with("crates/") && file.path.contains("/src/") {
            names.extend(own_names(&code_lines(text)).map(place));
            comments.extend(comments_in(text).iter().map(|comment| place(comment)));
        } else if file.path.starts_with("web/src/")
            && (file.has_extension("ts") || file.has_extension("svelte"))
        {
            page_names.extend(page_names_in(text, file.has_extension("svelte")).map(place));
            page_comments.extend(page_comments_in(text).iter().map(|comment| place(comment)));
        }
    }
    let mut random = Random(seed.wrapping_mul(2) | 1);
    for (heading, all) in [
        ("Names", &mut names),
        ("Comments", &mut comments),
        ("Names of the page", &mut page_names),
        ("Comments of the page", &mut page_comments),
    ] {
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
fn comments_in(text: &str) -> Vec<String> {
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
    comments
}

/// Names of items of a module, or of a component's script, which is indented by two spaces. Local names have no
/// meaning outside of their function.
fn page_names_in(text: &str, is_component: bool) -> impl Iterator<Item = &str> {
    let indent = if is_component { "  " } else { "" };
    text.lines().filter_map(move |line| {
        let words = line.strip_prefix(indent).filter(|words| !words.starts_with(' '))?;
        let mut words =
            words.split_whitespace().skip_while(|word| ["export", "async", "default"].contains(word));
        words.next().filter(|word| PAGE_ITEMS.contains(word))?;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        words.next()?.split(|c| !is_name(c)).next().filter(|name| !name.is_empty())
    })
}

/// The comments of a module or component, each as one line.
fn page_comments_in(text: &str) -> Vec<String> {
    let mut comments: Vec<String> = Vec::new();
    let (mut is_in_block, mut follows_line_comment) = (false, false);
    for line in text.lines().map(str::trim) {
        let (is_line_comment, begins_block) = (line.starts_with("//"), line.starts_with("/**"));
        let part = line.trim_start_matches(['/', '*']).trim_end_matches(['/', '*']).trim();
        match comments.last_mut() {
            Some(comment) if is_in_block || (is_line_comment && follows_line_comment) => {
                comment.push(' ');
                comment.push_str(part);
            }
            _ if is_line_comment || begins_block => comments.push(part.to_owned()),
            _ => {}
        }
        is_in_block = (is_in_block || begins_block) && !line.ends_with("*/");
        follows_line_comment = is_line_comment;
    }
    comments.iter().map(|comment| comment.trim().to_owned()).collect()
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
        assert_eq!(comments_in(source), ["One that goes on.", "Another."]);
    }

    #[test]
    fn names_and_comments_of_the_page_are_found() {
        let module = "// Reads\n// dates.\n\nexport async function load(id: number) {\n  const local = 3;\n}\n/** Days. */\n\
                      type Day = string;\n";
        assert_eq!(page_names_in(module, false).collect::<Vec<_>>(), ["load", "Day"]);
        assert_eq!(page_comments_in(module), ["Reads dates.", "Days."]);
        let component = "<script>\n  /**\n   * Shown\n   * once.\n   */\n  let isOpen = $state(false);\n    const local = 3;\n";
        assert_eq!(page_names_in(component, true).collect::<Vec<_>>(), ["isOpen"]);
        assert_eq!(page_comments_in(component), ["Shown once."]);
    }
}
