//! Every dependency has a written reason, and is used.

use super::Finding;
use super::project::{Member, Project};

const MANIFEST: &str = "Cargo.toml";

pub(super) fn findings(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in entries(&project.manifest) {
        if !entry.explained {
            let what = format!("{} has no comment", entry.name);
            let fix = "Say in one line above it what it is for.";
            findings.push(Finding::at(MANIFEST, entry.line, what, fix));
        }
        if !is_used(&project.members, entry.name) {
            let what = format!("no crate uses {}", entry.name);
            findings.push(Finding::at(
                MANIFEST,
                entry.line,
                what,
                "Take it out of [workspace.dependencies].",
            ));
        }
    }
    findings
}

fn is_used(members: &[Member], name: &str) -> bool {
    let is_the_room_itself = |member: &Member| member.name == name;
    members.iter().any(|member| {
        is_the_room_itself(member) || member.dependencies.iter().any(|dependency| dependency.key == name)
    })
}

struct Entry<'a> {
    name: &'a str,
    line: usize,
    /// True if a comment stands above it, or above its neighbours without a gap between.
    explained: bool,
}

fn entries(manifest: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let mut inside = false;
    let mut explained = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim() == "[workspace.dependencies]";
            explained = false;
        } else if line.trim().is_empty() {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if let Some((name, _)) =
            line.split_once(['=', '.']).filter(|_| inside && !line.starts_with([' ', ']', '}']))
        {
            entries.push(Entry { name: name.trim(), line: index + 1, explained });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::project::Dependency;

    #[test]
    fn a_dependency_needs_a_comment_and_a_user() {
        let manifest = "[workspace.dependencies]\n# Rooms.\nmemory = { path = \"x\" }\n\nserde = \"1\"\n\
                        # JSON, twice.\nserde_json = \"1\"\ntoml = { version = \"1\", features = [\n  \"a=b\",\n] }\n\n\
                        [profile.dev]\ndebug = 1\n";
        let dependency = |key: &str| Dependency { name: key.to_owned(), key: key.to_owned(), dev: false };
        let project = Project {
            files: Vec::new(),
            members: vec![Member {
                name: "memory".to_owned(),
                manifest_path: String::new(),
                manifest: String::new(),
                dependencies: vec![dependency("serde"), dependency("toml")],
            }],
            manifest: manifest.to_owned(),
            commits: Vec::new(),
        };
        let found: Vec<_> = findings(&project).into_iter().map(|f| (f.what, f.line)).collect();
        assert_eq!(
            found,
            [("serde has no comment".to_owned(), Some(5)), ("no crate uses serde_json".to_owned(), Some(7))]
        );
    }
}
