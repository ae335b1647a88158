//! A released migration is never edited: existing databases have run it unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::Finding;
use super::project::{Project, ProjectFile};

const FOLDER: &str = "crates/store/migrations/";
const LIST: &str = "crates/store/migrations/released.sha256";

/// Compares every migration in the list of released ones. One that isn't listed may still change.
pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let hashes = hashes(files);
    let Some(list) = files.iter().find(|file| file.path == LIST) else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in list.lines().filter(|(_, line)| !line.trim().is_empty()) {
        let Some((listed, path)) = line.split_once("  ") else {
            let fix = "A line is a SHA-256, two spaces and a path below crates/store/migrations.";
            findings.push(Finding::at(LIST, number, "a line that can't be read", fix));
            continue;
        };
        let full_path = format!("{FOLDER}{path}");
        match hashes.get(path) {
            Some(hash) if hash == listed => {}
            Some(_) => {
                let what =
                    "a released migration was edited; databases that ran it would differ from new ones";
                let fix = "Put it back as it was and write a new migration with the next number.";
                findings.push(Finding::in_file(&full_path, what, fix));
            }
            None => {
                let fix = "Put it back: databases that ran it name it, and new ones need it.";
                findings.push(Finding::in_file(&full_path, "a released migration is gone", fix));
            }
        }
    }
    findings
}

/// Adds every migration that isn't listed yet.
pub(crate) fn release(root: &Path) -> Result<()> {
    let files = Project::read(root)?.files;
    if let Some(finding) = findings(&files).first() {
        bail!("{finding}");
    }
    let list =
        files.iter().find(|file| file.path == LIST).and_then(|file| file.text.as_deref()).unwrap_or_default();
    let (list, added) = with_new(list, &hashes(&files));
    for path in &added {
        println!("released {path}");
    }
    if added.is_empty() {
        println!("every migration was released before");
        return Ok(());
    }
    fs::write(root.join(LIST), list).with_context(|| format!("writing {LIST}"))
}

fn with_new(list: &str, hashes: &BTreeMap<&str, String>) -> (String, Vec<String>) {
    let mut list = list.to_owned();
    if !list.is_empty() && !list.ends_with('\n') {
        list.push('\n');
    }
    let mut added = Vec::new();
    for (path, hash) in hashes {
        if !list.lines().any(|line| line.split_once("  ").is_some_and(|(_, listed)| listed == *path)) {
            list.push_str(&format!("{hash}  {path}\n"));
            added.push((*path).to_owned());
        }
    }
    (list, added)
}

/// SHA-256 in hexadecimal by path below the folder.
fn hashes(files: &[ProjectFile]) -> BTreeMap<&str, String> {
    let of_file = |file: &'_ ProjectFile| {
        let digest = Sha256::digest(file.text.as_deref().unwrap_or_default().as_bytes());
        hex::encode(digest)
    };
    // The schema of new homes changes with every migration.
    let sql = files.iter().filter(|file| file.has_extension("sql") && !file.path.ends_with("/schema.sql"));
    sql.filter_map(|file| Some((file.path.strip_prefix(FOLDER)?, of_file(file)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migration(text: &str) -> ProjectFile {
        ProjectFile::of("crates/store/migrations/sqlite/0001_start.sql", text)
    }

    #[test]
    fn what_was_released_must_stay_as_it_was() {
        let (list, added) = with_new("", &hashes(&[migration("create table a;")]));
        assert_eq!(added, ["sqlite/0001_start.sql"]);
        let list = || ProjectFile::of(LIST, &list);

        assert_eq!(findings(&[migration("create table a;"), list()]), []);
        assert!(
            findings(&[migration("create table b;"), list()])[0]
                .what
                .starts_with("a released migration was edited")
        );
        assert_eq!(findings(&[list()])[0].what, "a released migration is gone");
        assert_eq!(findings(&[migration("anything")]), [], "nothing was released yet");
    }

    #[test]
    fn the_hash_is_the_one_that_others_compute() {
        let files = [migration("abc")];
        // The example of FIPS 180-2, appendix B.1: SHA-256 of "abc".
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hashes(&files)["sqlite/0001_start.sql"], digest);
    }

    #[test]
    fn only_new_ones_are_added() {
        let files = [migration("a"), ProjectFile::of("crates/store/migrations/sqlite/0002_more.sql", "b")];
        let (first, _) = with_new("", &hashes(&files[..1]));
        let (both, added) = with_new(first.trim_end(), &hashes(&files));
        assert_eq!(added, ["sqlite/0002_more.sql"]);
        assert!(both.starts_with(&first));
        assert_eq!(findings(&[migration("a"), ProjectFile::of(LIST, "nonsense\n")]).len(), 1);
    }
}
