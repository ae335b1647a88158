//! A test file that is in no binary never runs.

use super::Finding;
use super::project::ProjectFile;
use super::rust_source::code_lines;

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("rs")) {
        let Some((before, inside)) = split_at_tests(&file.path) else { continue };
        let Some(inside) = inside.strip_prefix("it/") else {
            let fix = format!(
                "Move it to {before}tests/it/ and list it in its main.rs: one test binary per crate."
            );
            findings.push(Finding::in_file(&file.path, "a test binary of its own", fix));
            continue;
        };
        if inside == "main.rs" {
            continue;
        }
        let (folder, module) = place_of(inside);
        let parents = if folder.is_empty() {
            vec![format!("{before}tests/it/main.rs")]
        } else {
            vec![format!("{before}tests/it/{folder}/mod.rs"), format!("{before}tests/it/{folder}.rs")]
        };
        if !parents.iter().any(|parent| lists(files, parent, module)) {
            let fix = format!("Add `mod {module};` to {}.", parents[0]);
            findings.push(Finding::in_file(&file.path, "its tests never run: no file lists it", fix));
        }
    }
    findings
}

/// The crate's folder and what follows its `tests/`.
fn split_at_tests(path: &str) -> Option<(&str, &str)> {
    let start = path.find("/tests/")?;
    let is_the_crates_own = !path[..start].contains("/src");
    is_the_crates_own.then(|| (&path[..=start], &path[start + "/tests/".len()..]))
}

/// The folder and module name of a file below `tests/it`.
fn place_of(inside: &str) -> (&str, &str) {
    let path = inside.strip_suffix("/mod.rs").or_else(|| inside.strip_suffix(".rs")).unwrap_or(inside);
    path.rsplit_once('/').unwrap_or(("", path))
}

fn lists(files: &[ProjectFile], parent: &str, module: &str) -> bool {
    let declares = |line: &String| {
        let declared = line.trim().trim_start_matches("pub ").strip_prefix("mod ");
        declared
            .and_then(|rest| rest.strip_prefix(module))
            .is_some_and(|rest| rest.trim_start().starts_with([';', '{']))
    };
    let parent = files.iter().find(|file| file.path == parent).and_then(|file| file.text.as_deref());
    parent.is_some_and(|text| code_lines(text).iter().any(declares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_test_file_is_found() {
        let files = [
            ProjectFile::of(
                "crates/store/tests/it/main.rs",
                "mod capture;\nmod faults;\n// mod forgotten;\n",
            ),
            ProjectFile::of("crates/store/tests/it/capture.rs", ""),
            ProjectFile::of("crates/store/tests/it/forgotten.rs", ""),
            ProjectFile::of("crates/store/tests/it/faults/mod.rs", "mod disk;"),
            ProjectFile::of("crates/store/tests/it/faults/disk.rs", ""),
            ProjectFile::of("crates/store/tests/it/faults/network.rs", ""),
            ProjectFile::of("crates/store/src/tests/anything.rs", ""),
        ];
        let found: Vec<String> = findings(&files).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["crates/store/tests/it/forgotten.rs", "crates/store/tests/it/faults/network.rs"]);
    }

    #[test]
    fn a_second_test_binary_is_found() {
        let found = findings(&[ProjectFile::of("crates/store/tests/capture.rs", "")]);
        assert_eq!(found[0].what, "a test binary of its own");
    }
}
