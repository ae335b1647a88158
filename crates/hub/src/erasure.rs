//! Erased lines, which versions that do not include the erasure can't bring back.

use std::collections::BTreeSet;

use memory::Scope;
use memory::text::fold;
use sha2::{Digest as _, Sha256};

use crate::daily::without_tags;
use crate::names::{DocumentName, InstanceId};
use crate::version_vector::VersionVector;

/// `edited_by` of the deletion that an erasure leaves.
pub const ERASURE_EDITOR: &str = "erased";

/// A line that was erased from a document, without its words, and the change that erased it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedLine {
    /// Made by [`line_digest`] from the line.
    pub digest: [u8; 32],
    /// The instance that erased the line.
    pub author: InstanceId,
    /// Counter of the erasure among the changes of that instance.
    pub counter: u64,
}

/// SHA-256 of a line and its document, so that the digests of one line in two documents differ. Tags, list markers, case
/// and white space do not count. `None` for a line without words.
pub fn line_digest(scope: &Scope, name: &DocumentName, line: &str) -> Option<[u8; 32]> {
    let line = fold(&without_tags(line));
    let words: Vec<&str> = line.split_whitespace().filter(|word| !matches!(*word, "-" | "*")).collect();
    if words.is_empty() {
        return None;
    }
    let user = if name.is_of_user() { scope.user.as_str() } else { "" };
    let mut digest = Sha256::new();
    for part in [scope.persona.as_str(), user, name.kind(), &name.stem(), &words.join(" ")] {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    Some(digest.finalize().into())
}

/// The content without erased lines, as far as its version does not include their erasure; `None` if it contains none
/// of them.
pub(crate) fn without_erased(
    scope: &Scope,
    name: &DocumentName,
    content: &str,
    seen: &VersionVector,
    erased: &[ErasedLine],
) -> Option<String> {
    let unseen: BTreeSet<[u8; 32]> =
        erased.iter().filter(|line| seen.get(&line.author) < line.counter).map(|line| line.digest).collect();
    let is_erased =
        |line: &str| line_digest(scope, name, line).is_some_and(|digest| unseen.contains(&digest));
    let left: Vec<&str> = content.lines().filter(|line| !is_erased(line)).collect();
    (left.len() < content.lines().count()).then(|| format!("{}\n", left.join("\n").trim_end()))
}
