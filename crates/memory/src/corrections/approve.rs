//! Approval of a refused memory: a person's decision is the memory's evidence.

use super::correct::check_text;
use super::{Approval, CorrectError, Corrector};
use crate::consolidate::evidence_for_quote;
use crate::identifiers::{NodeId, RejectedId};
use crate::nodes::{Evidence, IMPACT_MAX, NewNode, RejectedMemory};
use crate::ports::{CommitOutcome, StoreError};
use crate::scope::Scope;
use crate::text;

/// Changes that a person makes to a proposal while approving it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApprovalEdits {
    pub text: Option<String>,
    pub emotional_impact: Option<i8>,
}

/// Why a refused memory was not approved. Nothing was written.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ApproveError {
    /// The text is invalid.
    #[error(transparent)]
    Text(#[from] CorrectError),
    /// The impact is outside the scale.
    #[error("emotional_impact: must be −{IMPACT_MAX} to {IMPACT_MAX}; nothing was written")]
    OutOfRange,
    /// The proposal has no valid impact.
    #[error(
        "emotional_impact: the proposal has none, so send one (−{IMPACT_MAX} to {IMPACT_MAX}); nothing was \
            written"
    )]
    NoImpact,
}

impl From<StoreError> for ApproveError {
    fn from(error: StoreError) -> Self {
        Self::Text(error.into())
    }
}

impl Corrector<'_> {
    /// Stores a refused memory because a person approves it. Its quotes that are found in messages of the right
    /// speaker become its evidence, in addition to the approval. `None` if there is no such memory in the scope or it
    /// was decided before.
    pub async fn approve(
        &self,
        scope: &Scope,
        id: RejectedId,
        edits: ApprovalEdits,
    ) -> Result<Option<NewNode>, ApproveError> {
        let pending = self.store.rejected_memory(id).await?;
        let Some(pending) = pending.filter(|pending| pending.scope == *scope && !pending.settled) else {
            return Ok(None);
        };
        let memory = pending.memory;
        let text = check_text(edits.text.as_deref().unwrap_or(&memory.description))?.to_owned();
        let emotional_impact = approved_impact(edits.emotional_impact, memory.emotional_impact)?;
        let at = self.clock.now();
        let evidence = self.load_evidence(&memory).await?;
        let embedding = self.embed(&text).await;
        let entities = self.entities_in(scope, &text).await?;
        let proposal = memory.proposal;
        let node = NewNode {
            id: NodeId(self.ids.next(at)),
            kind: proposal.kind,
            terms: text::index_terms(&text),
            description: text,
            emotional_impact,
            emotion_tags: proposal.emotion_tags,
            relational_tags: proposal.relational_tags,
            subject: proposal.subject,
            event_time: proposal.event_time,
            evidence,
            filling: Vec::new(),
            embedding: embedding.as_ref().map(|(_, embedding)| embedding.clone()),
        };
        let fingerprint = embedding.map(|(fingerprint, _)| fingerprint);
        let approval = Approval { id, node: node.clone(), fingerprint, entities, at };
        let outcome = self.store.approve_rejected(approval).await?;
        Ok((outcome == CommitOutcome::Committed).then_some(node))
    }

    async fn load_evidence(&self, memory: &RejectedMemory) -> Result<Vec<Evidence>, StoreError> {
        let mut evidence = Vec::new();
        for quote in &memory.evidence {
            let Some(id) = quote.message_id else { continue };
            let Some(message) = self.store.message(id).await? else { continue };
            let found = evidence_for_quote(&message, &quote.quote, memory.proposal.subject);
            evidence.extend(found.filter(|found| !evidence.contains(found)));
        }
        Ok(evidence)
    }
}

/// The impact that the person gave, else the proposed one rounded to a whole number.
fn approved_impact(said: Option<i8>, proposed: Option<f64>) -> Result<i8, ApproveError> {
    match (said, proposed) {
        (Some(said), _) if said.unsigned_abs() <= IMPACT_MAX.unsigned_abs() => Ok(said),
        (Some(_), _) => Err(ApproveError::OutOfRange),
        (None, Some(proposed)) if proposed.is_finite() => {
            let most = f64::from(IMPACT_MAX);
            Ok(proposed.round().clamp(-most, most) as i8)
        }
        (None, _) => Err(ApproveError::NoImpact),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persons_number_counts_else_the_nearest_one_of_the_scale() {
        assert_eq!(approved_impact(Some(-9), Some(-100.0)), Ok(-9));
        assert_eq!(approved_impact(Some(11), None), Err(ApproveError::OutOfRange));
        assert_eq!(approved_impact(None, Some(-12.5)), Ok(-10));
        assert_eq!(approved_impact(None, Some(2.5)), Ok(3));
        assert_eq!(approved_impact(None, None), Err(ApproveError::NoImpact));
        assert_eq!(approved_impact(None, Some(f64::NAN)), Err(ApproveError::NoImpact));
    }
}
