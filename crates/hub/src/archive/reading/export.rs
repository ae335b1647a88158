//! Histories, graph and state of an archive, checked against what the hub itself would write.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

use super::super::{ArchivedDocument, ArchivedGraph, ArchivedState, GRAPH, HISTORY, STATE};
use crate::documents::CONTENT_BYTES_MAX;
use crate::export::{DocumentHistory, ExportedEdge, ExportedNode, ExportedSource, HubExport, VersionState};
use crate::graph::{LABEL_LENGTH_MAX, PROSE_LENGTH_MAX, check_length, properties_fit};
use crate::mirror::MirroredText;
use crate::names::DocumentName;
use crate::ports::Snapshot;
use crate::version_vector::COUNTER_MAX;

pub(super) fn read(
    files: &BTreeMap<String, String>,
    shown: &[ArchivedDocument],
    labels: &BTreeMap<DocumentName, String>,
) -> Result<HubExport, String> {
    let mut documents = BTreeMap::new();
    for path in files.keys() {
        let Some(inner) = path.strip_prefix(HISTORY) else { continue };
        let named = inner.strip_suffix(".json").and_then(|inner| inner.split_once('/'));
        let (kind, stem) = named.ok_or_else(|| format!("{path} is not a document's history"))?;
        let name = DocumentName::parse(kind, stem).map_err(|error| format!("{path}: {error}"))?;
        let history: DocumentHistory = read_part(files, path)?;
        check_history(&history).map_err(|reason| format!("{path}: {reason}"))?;
        if documents.insert(name, history).is_some() {
            return Err(format!("{path} occurs twice"));
        }
    }
    check_shown(shown, &documents)?;
    let graph: ArchivedGraph = read_part(files, GRAPH)?;
    check_graph(&graph).map_err(|reason| format!("{GRAPH}: {reason}"))?;
    let state: ArchivedState = read_part(files, STATE)?;
    Ok(HubExport {
        documents: documents.into_iter().collect(),
        labels: labels.iter().map(|(name, label)| (name.clone(), label.clone())).collect(),
        snapshots: snapshots(&state)?,
        instances: state.instances,
        seen: state.seen,
        seen_of_persona: state.seen_of_persona,
        erased: state.erased,
        erased_of_persona: state.erased_of_persona,
        nodes: graph.nodes,
        edges: graph.edges,
    })
}

fn read_part<T: DeserializeOwned>(files: &BTreeMap<String, String>, path: &str) -> Result<T, String> {
    let text = files.get(path).ok_or_else(|| format!("{path} is missing"))?;
    serde_json::from_str(text).map_err(|error| format!("{path} can't be read: {error}"))
}

fn check_history(history: &DocumentHistory) -> Result<(), String> {
    let mut numbers = BTreeSet::new();
    for kept in &history.versions {
        let version = &kept.version;
        if version.number < 1 || !numbers.insert(version.number) {
            return Err(format!("version {} occurs twice or is invalid", version.number));
        }
        if version.vector.is_empty() || version.vector.iter().any(|(_, counter)| counter > COUNTER_MAX) {
            return Err(format!("version {} has an invalid version vector", version.number));
        }
        if version.content.as_ref().is_some_and(|content| content.len() > CONTENT_BYTES_MAX) {
            return Err(format!("version {} is longer than {CONTENT_BYTES_MAX} bytes", version.number));
        }
    }
    let shown = history.versions.iter().filter(|kept| kept.state == VersionState::Shown).count();
    if shown != 1 {
        return Err(format!("{shown} versions are current, instead of one"));
    }
    let is_known = |number: &i64| numbers.contains(number);
    match history.conflicts.iter().all(|conflict| is_known(&conflict.kept) && is_known(&conflict.shown)) {
        true => Ok(()),
        false => Err("a conflict refers to a missing version".to_owned()),
    }
}

/// Checks that the shown texts are those of the history.
fn check_shown(
    shown: &[ArchivedDocument],
    documents: &BTreeMap<DocumentName, DocumentHistory>,
) -> Result<(), String> {
    let texts: BTreeMap<&DocumentName, &str> =
        shown.iter().map(|one| (&one.name, MirroredText::parse(&one.text).content)).collect();
    for (name, history) in documents {
        let said = history.shown_version().and_then(|shown| shown.content.as_deref());
        if texts.get(name).copied() != said {
            return Err(format!("{name} differs from its history"));
        }
    }
    match texts.keys().find(|name| !documents.contains_key(**name)) {
        Some(name) => Err(format!("{name} has no history")),
        None => Ok(()),
    }
}

fn check_graph(graph: &ArchivedGraph) -> Result<(), String> {
    let mut nodes = BTreeSet::new();
    for ExportedNode { node, sources, .. } in &graph.nodes {
        check_length("label", &node.label, LABEL_LENGTH_MAX)?;
        check_length("type", &node.node_type, LABEL_LENGTH_MAX)?;
        check_length("description", &node.description, PROSE_LENGTH_MAX)?;
        node.aliases.iter().try_for_each(|alias| check_length("alias", alias, LABEL_LENGTH_MAX))?;
        properties_fit(&node.properties)?;
        check_sources(sources)?;
        if !(0.0..=1.0).contains(&node.confidence) || node.label.trim().is_empty() || !nodes.insert(node.id) {
            return Err(format!("node {} is invalid", node.id));
        }
    }
    let mut edges = BTreeSet::new();
    for ExportedEdge { edge, sources, .. } in &graph.edges {
        check_length("type", &edge.edge_type, LABEL_LENGTH_MAX)?;
        properties_fit(&edge.properties)?;
        check_sources(sources)?;
        let joins = nodes.contains(&edge.from_id) && nodes.contains(&edge.to_id);
        if !joins || !(0.0..=1.0).contains(&edge.weight) || !edges.insert(edge.id) {
            return Err(format!("edge {} is invalid or refers to a missing node", edge.id));
        }
    }
    Ok(())
}

fn check_sources(sources: &[ExportedSource]) -> Result<(), String> {
    sources.iter().try_for_each(|source| {
        check_length("memory", &source.memory, LABEL_LENGTH_MAX)?;
        check_length("evidence", source.evidence.as_deref().unwrap_or_default(), PROSE_LENGTH_MAX)
    })
}

fn snapshots(state: &ArchivedState) -> Result<Vec<Snapshot>, String> {
    let mut snapshots = Vec::with_capacity(state.snapshots.len());
    for archived in &state.snapshots {
        let name = DocumentName::parse(&archived.kind, &archived.stem)
            .map_err(|error| format!("{STATE}: {error}"))?;
        snapshots.push(Snapshot {
            id: archived.id.clone(),
            name,
            content: archived.content.clone(),
            created_at: archived.created_at,
            reason: archived.reason.clone(),
            source: archived.source.clone(),
        });
    }
    Ok(snapshots)
}
