//! No file is longer than a reader can overview.

use super::Finding;
use super::project::ProjectFile;
use super::rust_source::count_code;

/// Lines of code, test modules left out.
const CODE_LINES_MAX: usize = 400;
/// Beyond this no reason helps.
const CODE_LINES_MAX_WITH_REASON: usize = 800;

/// Files that may be longer than [`CODE_LINES_MAX`]: path and reason.
const LONGER: &[(&str, &str)] = &[];

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    findings_with(files, LONGER)
}

fn findings_with(files: &[ProjectFile], longer: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("rs")) {
        let lines = count_code(file.text.as_deref().unwrap_or_default());
        let reason = longer.iter().find(|(path, _)| *path == file.path);
        let most = if reason.is_some() { CODE_LINES_MAX_WITH_REASON } else { CODE_LINES_MAX };
        if lines > most {
            let what = format!("{lines} lines of code, {most} at the most");
            let fix = if reason.is_some() {
                "Split it by what its parts are about: a reason stretches the limit only so far."
            } else {
                "Split it by what its parts are about. If it is one thing that can't be split, say why in LONGER of \
                 xtask/src/tidy/sizes.rs."
            };
            findings.push(Finding::in_file(&file.path, what, fix));
        } else if reason.is_some() && lines <= CODE_LINES_MAX {
            let fix = "Take it out of LONGER in xtask/src/tidy/sizes.rs.";
            findings.push(Finding::in_file(&file.path, "listed as longer than it is", fix));
        }
    }
    for (path, _) in longer.iter().filter(|(path, _)| !files.iter().any(|file| file.path == *path)) {
        let fix = "Take it out of LONGER in xtask/src/tidy/sizes.rs.";
        findings.push(Finding::in_file(path, "listed as long, but there is no such file", fix));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(lines: usize) -> ProjectFile {
        ProjectFile::of("crates/memory/src/long.rs", &"fn f() {}\n// why\n\n".repeat(lines))
    }

    #[test]
    fn the_limit_holds_to_the_line() {
        assert_eq!(findings_with(&[file_of(400)], &[]), []);
        assert_eq!(findings_with(&[file_of(401)], &[])[0].what, "401 lines of code, 400 at the most");
    }

    #[test]
    fn a_reason_stretches_it_but_not_for_ever() {
        let reason = [("crates/memory/src/long.rs", "one port")];
        assert_eq!(findings_with(&[file_of(800)], &reason), []);
        assert_eq!(findings_with(&[file_of(801)], &reason).len(), 1);
        assert_eq!(findings_with(&[file_of(400)], &reason)[0].what, "listed as longer than it is");
        assert_eq!(findings_with(&[], &reason).len(), 1);
    }
}
