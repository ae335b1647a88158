//! Doc comments that repeat a name, or that state the reader's question instead of answering it.

use super::Finding;
use super::project::ProjectFile;

/// A comment with this many words or fewer repeats the name and the type.
const WORDS_MIN: usize = 4;
/// A comment that begins like a question is a noun clause without a subject: "Who is told."
const QUESTION_WORDS: &[&str] = &["What", "Who", "Whom", "Whose", "Where", "When", "How", "Whether", "Which"];

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let in_source = |file: &&ProjectFile| file.has_extension("rs") && file.path.contains("/src/");
    files.iter().filter(in_source).flat_map(of_file).collect()
}

fn of_file(file: &ProjectFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut comment: Option<(usize, String)> = None;
    for (index, line) in file.text.as_deref().unwrap_or_default().lines().chain([""]).enumerate() {
        if let Some(text) = line.trim_start().strip_prefix("///") {
            let (_, whole) = comment.get_or_insert((index + 1, String::new()));
            whole.push_str(text);
            whole.push(' ');
            continue;
        }
        let Some((line, text)) = comment.take() else { continue };
        let mut words = text.split_whitespace();
        if words.clone().count() < WORDS_MIN {
            let what = format!("the doc comment `{}` has fewer than {WORDS_MIN} words", text.trim());
            let fix = "Delete it if name and type say it, else say the shape, unit, limit or reason.";
            findings.push(Finding::at(&file.path, line, what, fix));
        } else if let Some(word) = words.next().filter(|word| QUESTION_WORDS.contains(word)) {
            let what = format!("a doc comment begins with `{word}`");
            findings.push(Finding::at(
                &file.path,
                line,
                what,
                "Begin with the noun or the verb: what it is or does.",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_comments_and_questions_are_found() {
        let source = "/// Its id.\nid: Id,\n/// Who is told of it.\na: A,\n\
                      /// Time at which it\n/// ended.\nb: B,\n    /// Whether it runs,\n    /// and why.\nfn c() {}\n// Who";
        let files = [
            ProjectFile::of("crates/memory/src/nodes.rs", source),
            ProjectFile::of("crates/memory/tests/it/nodes.rs", source),
        ];
        let found: Vec<String> =
            findings(&files).iter().map(|found| format!("{:?} {}", found.line, found.what)).collect();
        assert_eq!(
            found,
            [
                "Some(1) the doc comment `Its id.` has fewer than 4 words",
                "Some(3) a doc comment begins with `Who`",
                "Some(8) a doc comment begins with `Whether`",
            ]
        );
    }
}
