//! Links in documents must point to existing files.

use super::Finding;
use super::project::ProjectFile;

/// Folders of the project in which a path in backticks is taken for a file of ours.
const OUR_FOLDERS: &[&str] = &["crates/", "web/", "e2e/", "docs/", "scripts/", "xtask/", "fuzz/", ".ci/"];
/// Results of builds: documents may name them.
const BUILT: &[&str] = &["web/dist", "web/node_modules", "e2e/node_modules", "e2e/results"];

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| is_document(&file.path)) {
        let mut in_listing = false;
        for (number, line) in file.lines() {
            if line.trim_start().starts_with("```") {
                in_listing = !in_listing;
                continue;
            }
            if in_listing {
                continue;
            }
            let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let linked = links(line).filter_map(|target| resolve(folder, target));
            let quoted = quoted_paths(line).filter_map(|path| resolve("", path));
            for path in linked.chain(quoted).filter(|path| !exists(files, path)) {
                let fix = "Point it at where the file is now, or take the link out.";
                findings.push(Finding::at(
                    &file.path,
                    number,
                    format!("points at {path}, which isn't there"),
                    fix,
                ));
            }
        }
    }
    findings
}

fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/") || path.ends_with("README.md"))
}

/// Targets of `[text](target)`, `[name]: target`, `src="target"` and `href="target"`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let reference = line.starts_with('[').then(|| line.split_once("]: ")).flatten();
    let reference = reference.and_then(|(_, rest)| rest.split(' ').next());
    let attribute = |name| line.split(name).skip(1).filter_map(|rest: &str| rest.split('"').next());
    inline.chain(reference).chain(attribute("src=\"")).chain(attribute("href=\""))
}

/// Paths of ours in backticks.
fn quoted_paths(line: &str) -> impl Iterator<Item = &str> {
    let is_plain =
        |text: &str| !text.contains([' ', '*', '{', '<', '$', '…', ':', '(']) && !text.contains("NNNN");
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(move |text| is_plain(text) && OUR_FOLDERS.iter().any(|folder| text.starts_with(folder)))
}

/// The path from the root; none when the target is not a file of the project.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let leads_elsewhere = path.contains("://") || path.starts_with("mailto:");
    if path.is_empty() || leads_elsewhere {
        return None;
    }
    let mut parts: Vec<&str> = match path.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => folder.split('/').filter(|part| !part.is_empty()).collect(),
    };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Nothing of ours is above the root, so the rest will not be found either.
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn exists(files: &[ProjectFile], path: &str) -> bool {
    let is_file_or_folder = |file: &ProjectFile| {
        file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path.is_empty()
        || BUILT.iter().any(|built| path.starts_with(built))
        || files.iter().any(is_file_or_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(path: &str, text: &str) -> Vec<String> {
        let files = [
            ProjectFile::of(path, text),
            ProjectFile::of("docs/book/start.md", ""),
            ProjectFile::of("crates/memory/src/lib.rs", ""),
        ];
        findings(&files).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(
            missing("README.md", "see [start](docs/book/start.md#first) and [web](https://a.test/x)"),
            [""; 0]
        );
        assert_eq!(
            missing("README.md", "[gone](docs/gone.md)"),
            ["points at docs/gone.md, which isn't there"]
        );
        assert_eq!(
            missing("docs/book/more.md", "[a](start.md) [b](../../crates/memory) [c](../lost.md)"),
            ["points at docs/lost.md, which isn't there"]
        );
        assert_eq!(missing("README.md", "<img src=\"docs/page.png\">\n[ref]: docs/none.md").len(), 2);
    }

    #[test]
    fn paths_in_backticks_are_looked_up() {
        assert_eq!(
            missing("ARCHITECTURE.md", "`crates/memory/src/` and `crates/memory/src/lib.rs`"),
            [""; 0]
        );
        assert_eq!(missing("ARCHITECTURE.md", "`crates/attic/src/lib.rs`").len(), 1);
        assert_eq!(
            missing(
                "ARCHITECTURE.md",
                "`web/dist` `cargo test` `crates/*/src` `docs/decisions/NNNN-title.md`"
            ),
            [""; 0]
        );
        assert_eq!(missing("ARCHITECTURE.md", "```\n`crates/attic`\n```\n"), [""; 0]);
    }
}
