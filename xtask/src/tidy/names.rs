//! Names without meaning.

use std::collections::BTreeSet;

use super::Finding;
use super::project::ProjectFile;
use super::rust_source::code_lines;

const EMPTY_WORDS: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc", "manager"];
const DECLARING: &[&str] = &["struct", "enum", "trait", "type", "union", "mod"];
const MEND: &str =
    "Name it after what it does or holds; if it holds several things, give each its own place.";

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut folders = BTreeSet::new();
    for file in files {
        let mut parts: Vec<&str> = file.path.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        if let Some(word) = stem.split('.').find_map(empty_word) {
            findings.push(Finding::in_file(&file.path, format!("a file called {word}"), MEND));
        }
        for (index, folder) in parts.iter().enumerate() {
            if let Some(word) = empty_word(folder) {
                folders.insert((parts[..=index].join("/"), word));
            }
        }
        if file.has_extension("rs") {
            findings.extend(declared_names(file));
        }
    }
    let of_folder =
        |(folder, word): (String, _)| Finding::in_file(&folder, format!("a folder called {word}"), MEND);
    findings.extend(folders.into_iter().map(of_folder));
    findings
}

fn declared_names(file: &ProjectFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in code_lines(file.text.as_deref().unwrap_or_default()).iter().enumerate() {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for pair in words.windows(2).filter(|pair| DECLARING.contains(&pair[0])) {
            if let Some(word) = empty_word(pair[1]) {
                let what = format!("`{} {}` is called {word}", pair[0], pair[1]);
                findings.push(Finding::at(&file.path, index + 1, what, MEND));
            }
        }
    }
    findings
}

/// The last word of a name in any case, when it is an empty one: `SessionManager` and `string-utils` are empty,
/// `common_words` says what it holds.
fn empty_word(name: &str) -> Option<&'static str> {
    let start = name
        .char_indices()
        .rev()
        .find(|(_, character)| character.is_uppercase() || "_-".contains(*character));
    let last = start.map_or(name, |(index, _)| name[index..].trim_start_matches(['_', '-']));
    EMPTY_WORDS
        .iter()
        .find(|word| word.eq_ignore_ascii_case(last) || word.eq_ignore_ascii_case(name))
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_in_any_case() {
        for bad in ["utils", "Utils", "string_utils", "web-helpers", "SessionManager", "MISC", "common"] {
            assert!(empty_word(bad).is_some(), "{bad}");
        }
        for good in ["common_words", "utility", "CommonGround", "managed", "main", ""] {
            assert_eq!(empty_word(good), None, "{good}");
        }
    }

    #[test]
    fn files_folders_modules_and_types_are_looked_at() {
        let files = [
            ProjectFile::of("web/src/helpers.test.ts", ""),
            ProjectFile::of(
                "crates/memory/src/util/text.rs",
                "mod common;\nstruct PoolManager;\n// struct Misc\n",
            ),
            ProjectFile::of("crates/memory/src/util/other.rs", "let text = \"mod utils\";\n"),
        ];
        let found: Vec<String> =
            findings(&files).iter().map(|f| format!("{} {:?}", f.what, f.line)).collect();
        assert_eq!(
            found,
            [
                "a file called helpers None",
                "`mod common` is called common Some(1)",
                "`struct PoolManager` is called manager Some(2)",
                "a folder called util None",
            ]
        );
    }
}
