//! The receipt of a message of the persona: the memories behind it.

use std::collections::HashSet;

use jiff::Timestamp;
use memory::identifiers::{MessageId, NodeId, TurnId};
use memory::ledger::{ReplyReceipt, TokenUsage};
use memory::recall::{Candidate, CandidateKind, RecallResult};
use mind::RenderedReply;

/// What was really in the prompt, with its scores.
pub(crate) fn receipt_of(
    turn_id: TurnId,
    created_at: Timestamp,
    (model, usage): (String, TokenUsage),
    prompt: &RenderedReply,
    recalled: &RecallResult,
) -> ReplyReceipt {
    let nodes: HashSet<NodeId> = prompt.kept_nodes.iter().copied().collect();
    let messages: HashSet<MessageId> = prompt.kept_passages.iter().copied().collect();
    let kept = |candidate: &&Candidate| match candidate.kind {
        CandidateKind::Node => candidate.used && nodes.contains(&NodeId(candidate.id)),
        CandidateKind::Message => candidate.used && messages.contains(&MessageId(candidate.id)),
    };
    let used: Vec<Candidate> = recalled.candidates.iter().filter(kept).cloned().collect();
    let scored: HashSet<NodeId> = used.iter().map(|candidate| NodeId(candidate.id)).collect();
    ReplyReceipt {
        turn_id,
        created_at,
        model,
        usage,
        prompt_hash: prompt.prompt_hash.clone(),
        pinned: prompt.kept_nodes.iter().filter(|id| !scored.contains(*id)).copied().collect(),
        used,
        cut: prompt.cut.clone(),
        held_back: recalled.corrected.held_back.clone(),
    }
}
