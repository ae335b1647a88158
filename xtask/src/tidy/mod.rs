//! Checks of the whole project. Each gets its input and returns its findings; none changes anything.

mod banned_words;
mod boundaries;
mod commit_subjects;
mod file_circles;
mod sizes;
mod names;
pub(crate) mod draw;
pub(crate) mod migrations;
mod contents;
mod workspace_dependencies;
mod test_files;
mod doc_comments;
mod doc_links;
mod limits;
mod lockfile;
mod project;
mod rust_source;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use project::Project;

/// Something that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Relative to the root.
    path: String,
    /// From 1; none for the file as a whole.
    line: Option<usize>,
    what: String,
    fix: String,
}

impl Finding {
    fn in_file(path: &str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, what: what.into(), fix: fix.into() }
    }

    fn at(path: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::in_file(path, what, fix) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, fix } = self;
        match line {
            Some(line) => write!(formatter, "{path}:{line}: {what}\n    {fix}"),
            None => write!(formatter, "{path}: {what}\n    {fix}"),
        }
    }
}

/// Runs every check over the project at `root` and prints what it found.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let project = Project::read(root)?;
    let mut findings: Vec<Finding> = [
        boundaries::findings(&project.members),
        sizes::findings(&project.files),
        file_circles::findings(&project.files),
        names::findings(&project.files),
        migrations::findings(&project.files),
        contents::findings(&project.files),
        workspace_dependencies::findings(&project),
        test_files::findings(&project.files),
        doc_comments::findings(&project.files),
        doc_links::findings(&project.files),
        limits::findings(&project.files),
        lockfile::findings(&project.files),
        banned_words::findings(&project.files),
        commit_subjects::findings(&project.commits),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files of {} crates, no findings", project.files.len(), project.members.len());
        return Ok(ExitCode::SUCCESS);
    }
    println!("tidy: {} findings", findings.len());
    Ok(ExitCode::FAILURE)
}
