//! The files that the checks read.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{DependencyKind, MetadataCommand};

use super::commit_subjects::FIRST_EXEMPT;

/// The project's files on the disk.
pub(super) struct Project {
    /// Everything git tracks or would track.
    pub(super) files: Vec<ProjectFile>,
    /// The crates of the workspace.
    pub(super) members: Vec<Member>,
    /// The text of the root `Cargo.toml`.
    pub(super) manifest: String,
    /// Abbreviated id and subject of each commit that the rule of subjects holds for; empty where the history is not
    /// available, as in a shallow checkout.
    pub(super) commits: Vec<String>,
}

/// A file of the project.
pub(super) struct ProjectFile {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    /// None when it isn't text.
    pub(super) text: Option<String>,
}

/// A crate of the workspace.
pub(super) struct Member {
    pub(super) name: String,
    /// Relative to the root.
    pub(super) manifest_path: String,
    /// The text of its `Cargo.toml`.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// A line of a member's `Cargo.toml`.
pub(super) struct Dependency {
    /// As the registry knows it.
    pub(super) name: String,
    /// As the manifest calls it.
    pub(super) key: String,
    /// True if only tests, benches and examples use it.
    pub(super) dev: bool,
}

impl Project {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let files = listed_files(root)?;
        let manifest = fs::read_to_string(root.join("Cargo.toml")).context("reading the root Cargo.toml")?;
        Ok(Self { files, members: members(root)?, manifest, commits: commits(root) })
    }
}

impl ProjectFile {
    /// The file's lines with their numbers from 1; none when it isn't text.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.as_deref().unwrap_or_default().lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The last part of the path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.name().rsplit_once('.').is_some_and(|(_, last)| last == extension)
    }

    #[cfg(test)]
    pub(super) fn of(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: Some(text.to_owned()) }
    }
}

fn listed_files(root: &Path) -> Result<Vec<ProjectFile>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("tidy asks git which files are the project's, and git could not be started")?;
    ensure!(
        output.status.success(),
        "tidy asks git which files are the project's, and git answered: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let listed = String::from_utf8(output.stdout).context("git listed a file whose name isn't UTF-8")?;
    let mut files = Vec::new();
    for path in listed.split_terminator('\0') {
        let on_disk = root.join(path);
        // A file that was deleted but not yet committed is still listed.
        if !on_disk.is_file() {
            continue;
        }
        let bytes = fs::read(&on_disk).with_context(|| format!("reading {path}"))?;
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        files.push(ProjectFile { path: path.to_owned(), text });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

fn commits(root: &Path) -> Vec<String> {
    let range = format!("{FIRST_EXEMPT}..HEAD");
    let arguments = ["log", "--no-merges", "--format=%h %s", range.as_str()];
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let known = output.ok().filter(|output| output.status.success());
    let text = known.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn members(root: &Path) -> Result<Vec<Member>> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .no_deps()
        .exec()
        .context("asking cargo for the workspace's crates")?;
    let mut members = Vec::new();
    for package in metadata.packages {
        let manifest = fs::read_to_string(&package.manifest_path)
            .with_context(|| format!("reading {}", package.manifest_path))?;
        let inside = package.manifest_path.strip_prefix(&metadata.workspace_root);
        let manifest_path = inside.unwrap_or(&package.manifest_path).as_str().replace('\\', "/");
        let dependencies = package.dependencies.into_iter().map(|dependency| Dependency {
            key: dependency.rename.unwrap_or_else(|| dependency.name.clone()),
            name: dependency.name,
            dev: dependency.kind == DependencyKind::Development,
        });
        let dependencies = dependencies.collect();
        members.push(Member { name: package.name.to_string(), manifest_path, manifest, dependencies });
    }
    Ok(members)
}
