//! Counts the packages of a build, and those with several versions.

use std::collections::BTreeMap;

use super::Finding;
use super::project::ProjectFile;

const PATH: &str = "Cargo.lock";
/// Packages in the lock file. Each costs time in every first build.
const PACKAGES_MAX: usize = 445;
/// Packages of which there is more than one version.
const DUPLICATES_MAX: usize = 10;

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let Some(lock) = files.iter().find(|file| file.path == PATH) else { return Vec::new() };
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, line) in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            *versions.entry(name).or_default() += 1;
        }
    }
    let packages: usize = versions.values().sum();
    let twice: Vec<&str> =
        versions.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name.trim_matches('"')).collect();
    let mut findings = Vec::new();
    if packages > PACKAGES_MAX {
        let what = format!("{packages} packages, and {PACKAGES_MAX} at most are allowed");
        findings.push(Finding::in_file(
            PATH,
            what,
            "Do without the new dependency, or switch off its features.",
        ));
    }
    if twice.len() > DUPLICATES_MAX {
        let what = format!("{} packages have more than one version: {}", twice.len(), twice.join(", "));
        findings.push(Finding::in_file(PATH, what, "Use the version that is there already."));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: impl Iterator<Item = String>) -> Vec<String> {
        let text: String = names.map(|name| format!("[[package]]\nname = \"{name}\"\n")).collect();
        let file = ProjectFile { path: PATH.to_owned(), text: Some(text) };
        findings(&[file]).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn too_many_packages_and_too_many_versions_are_found() {
        let names = |count: usize| (0..count).map(|number| format!("p{number}"));
        assert_eq!(found(names(PACKAGES_MAX)), [""; 0]);
        assert_eq!(found(names(PACKAGES_MAX + 1)).len(), 1);
        assert_eq!(found(names(DUPLICATES_MAX).chain(names(DUPLICATES_MAX))), [""; 0]);
        let twice = names(DUPLICATES_MAX + 1).chain(names(DUPLICATES_MAX + 1));
        assert!(found(twice)[0].starts_with("11 packages have more than one version: p0, p1, p10"));
    }
}
