//! Words that the vocabulary bans from code, docs and the web UI. The count of each may only decrease.

use super::Finding;
use super::project::ProjectFile;

/// A banned word or phrase, in lower case.
struct Banned {
    word: &'static str,
    instead: &'static str,
    /// Maximum number of occurrences. Lower it whenever the count is lower.
    ceiling: usize,
}

const fn banned(word: &'static str, instead: &'static str, ceiling: usize) -> Banned {
    Banned { word, instead, ceiling }
}

const BANNED: &[Banned] = &[
    banned("anew", "again, re-", 8),
    banned("whoever", "any … that", 50),
    banned("whatever", "any … that", 69),
    banned("told", "notified, returned", 451),
    banned("stands in", "is in", 3),
    banned("goes by", "uses", 19),
    banned("hangs on", "depends on", 0),
    banned("rests on", "depends on, cites", 11),
    banned("at hand", "available", 3),
    banned("is no", "is not a", 137),
    banned("can't be meant", "is invalid", 0),
    banned("for want of", "without", 0),
    banned("for ever", "permanently", 0),
    banned("mend", "fix", 6),
    banned("put right", "correct", 1),
    banned("take up", "resume", 0),
    banned("takes up", "resumes", 1),
    banned("taken up", "resumed", 3),
    banned("gives way", "is evicted", 5),
    banned("falls silent", "ends", 0),
    banned("behind the talk", "in the background", 1),
    banned("to the letter", "verbatim", 0),
    banned("of its own accord", "proactively", 0),
];

/// Plain English that contains a banned phrase.
const ALLOWED: &str = "is no longer";

/// This list, which has to name the words.
const OWN_PATH: &str = "xtask/src/tidy/banned_words.rs";

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    findings_with(files, BANNED)
}

fn findings_with(files: &[ProjectFile], words: &[Banned]) -> Vec<Finding> {
    let texts: Vec<(&ProjectFile, String)> = files
        .iter()
        .filter(|file| is_checked(file))
        .map(|file| (file, file.text.as_deref().unwrap_or_default().to_lowercase().replace(ALLOWED, "")))
        .collect();
    let mut findings = Vec::new();
    for Banned { word, instead, ceiling } in words {
        let counts = texts.iter().map(|(file, text)| (*file, count(text, word)));
        let counts: Vec<(&ProjectFile, usize)> = counts.filter(|(_, count)| *count > 0).collect();
        let total: usize = counts.iter().map(|(_, count)| count).sum();
        if total > *ceiling {
            let most = counts.iter().max_by_key(|(_, count)| *count).map_or(OWN_PATH, |(file, _)| &file.path);
            let what = format!("\"{word}\" is used {total} times, {ceiling} at most");
            findings.push(Finding::in_file(most, what, format!("Write: {instead}.")));
        }
    }
    findings
}

/// Code, docs and the web UI; not tests, whose messages are what users write, and not the prompts of the models.
fn is_checked(file: &ProjectFile) -> bool {
    let is_source =
        file.path.starts_with("crates/") && file.path.contains("/src/") && file.has_extension("rs");
    let is_web = file.path.starts_with("web/src/");
    let is_doc = file.has_extension("md") && (file.path.starts_with("docs/") || !file.path.contains('/'));
    let is_tool = file.path.starts_with("xtask/src/") && file.path != OWN_PATH;
    is_source || is_web || is_doc || is_tool
}

/// Number of times the word is in the text, as a whole word.
fn count(text: &str, word: &str) -> usize {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let matches = text.match_indices(word).filter(|(start, _)| {
        let before = text[..*start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        !is_part(before) && !is_part(after)
    });
    matches.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[Banned] = &[banned("anew", "again", 1)];

    #[test]
    fn count_above_the_ceiling_is_found() {
        let once = ProjectFile::of("crates/memory/src/a.rs", "// Read Anew.\n");
        let twice = ProjectFile::of("docs/api.md", "anew (anew)");
        assert_eq!(findings_with(&[once], WORDS), []);
        let found = findings_with(&[twice], WORDS);
        assert_eq!((found.len(), found[0].path.as_str()), (1, "docs/api.md"));
        assert_eq!(found[0].what, "\"anew\" is used 2 times, 1 at most");
    }

    #[test]
    fn parts_of_words_tests_and_prompts_are_not_counted() {
        let text = "anewer renew_anew anew_key ".repeat(5);
        let paths = ["web/src/App.svelte", "crates/memory/tests/it/a.rs", "crates/mind/prompts/reply.md"];
        for (path, text) in paths.iter().zip([text.as_str(), "anew anew", "anew anew"]) {
            assert_eq!(findings_with(&[ProjectFile::of(path, text)], WORDS), [], "{path}");
        }
    }
}
