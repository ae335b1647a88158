//! Commit subjects fit on one line of any tool.

use super::Finding;

/// Longest subject, in characters.
const LENGTH_MAX: usize = 72;
/// The rule holds for commits after this one.
pub(super) const FIRST_EXEMPT: &str = "32ebc6a171558beb4645877994f67695d0ab44d1";

/// Checks subjects given as abbreviated id, space, subject.
pub(super) fn findings(commits: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for commit in commits {
        let (id, subject) = commit.split_once(' ').unwrap_or((commit, ""));
        let length = subject.chars().count();
        if length > LENGTH_MAX {
            let what = format!("the subject has {length} characters, {LENGTH_MAX} at most: {subject}");
            let fix = "Shorten it to `area: imperative` and say why in the body.";
            findings.push(Finding::in_file(&format!("commit {id}"), what, fix));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_over_72_characters_is_found() {
        let of = |length: usize| format!("1234567 {}", "猫".repeat(length));
        assert_eq!(findings(&[of(72), "1234567".to_owned()]), []);
        let found = findings(&[of(73)]);
        assert_eq!((found.len(), found[0].path.as_str()), (1, "commit 1234567"));
    }
}
