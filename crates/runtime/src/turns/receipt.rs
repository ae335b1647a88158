//! The receipt of a message of the persona: the memories behind it.

use std::collections::HashSet;

use hub::{Hub, RelatedMemory};
use jiff::Timestamp;
use memory::identifiers::{MessageId, NodeId, TurnId};
use memory::ledger::{ReplyReceipt, TokenUsage, UsedDocument};
use memory::recall::{Candidate, CandidateKind};
use mind::RenderedReply;

use crate::recall::recalled_memory::RecalledMemory;

/// Builds the receipt: everything in the prompt, with its scores.
pub(crate) fn build_receipt(
    turn_id: TurnId,
    created_at: Timestamp,
    (model, usage): (String, TokenUsage),
    prompt: &RenderedReply,
    RecalledMemory { recalled, documents, .. }: &RecalledMemory,
) -> ReplyReceipt {
    let nodes: HashSet<NodeId> = prompt.kept_nodes.iter().copied().collect();
    let messages: HashSet<MessageId> = prompt.kept_passages.iter().copied().collect();
    let kept = |candidate: &&Candidate| match candidate.kind {
        CandidateKind::Node => candidate.used && nodes.contains(&NodeId(candidate.id)),
        CandidateKind::Message => candidate.used && messages.contains(&MessageId(candidate.id)),
    };
    let used: Vec<Candidate> = recalled.candidates.iter().filter(kept).cloned().collect();
    let scored: HashSet<NodeId> = used.iter().map(|candidate| NodeId(candidate.id)).collect();
    let lore = documents.lore.iter().filter(|entry| is_in_prompt(&entry.text, prompt)).map(Hub::lore_receipt);
    ReplyReceipt {
        turn_id,
        created_at,
        model,
        usage,
        prompt_hash: prompt.prompt_hash.clone(),
        conversation: prompt.kept_conversation,
        pinned: prompt.kept_nodes.iter().filter(|id| !scored.contains(*id)).copied().collect(),
        used,
        documents: documents
            .related
            .iter()
            .filter(|memory| is_in_prompt(&memory.excerpt, prompt))
            .map(used_document)
            .chain(lore)
            .collect(),
        cut: prompt.cut.clone(),
        held_back: recalled.corrected.held_back.clone(),
    }
}

/// True if its first line is in the prompt, so that it was not cut.
fn is_in_prompt(text: &str, prompt: &RenderedReply) -> bool {
    text.lines().next().is_some_and(|line| prompt.system.contains(line) || prompt.user.contains(line))
}

fn used_document(memory: &RelatedMemory) -> UsedDocument {
    UsedDocument {
        kind: memory.kind.as_str().to_owned(),
        date: Some(memory.name.date().to_string()),
        source_instance: memory.source_instance.to_string(),
        relevance: memory.relevance,
        digest: None,
        filename: None,
        excerpt: None,
    }
}
