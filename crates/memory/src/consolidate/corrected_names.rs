//! Corrected names: a wrong name becomes an alias of the right one, not a second person.

use super::{ConsolidateError, ConsolidationEvent, Consolidator};
use crate::entities::{ChangedBy, EntityChange, EntityChanged, kinds_agree};
use crate::ports::{AliasHit, PairOutcome, StoreError, WaitingPair};
use crate::sessions::Session;
use crate::text::given_names;

/// The wrong and the right name of each correction that is about a name, folded.
pub(super) fn corrected_names(
    pairs: &[WaitingPair],
    outcomes: &[(i64, PairOutcome)],
) -> Vec<(String, String)> {
    let is_mistaken =
        |outcome: &PairOutcome| matches!(outcome, PairOutcome::Replaced { is_mistaken: true, .. });
    let corrected = pairs.iter().zip(outcomes).filter(|(_, (_, outcome))| is_mistaken(outcome));
    corrected.filter_map(|(pair, _)| given_names(pair.older.text(), &pair.newer.description)).collect()
}

impl Consolidator<'_> {
    /// Merges the two entities of a corrected name. An entity whose wrong name a current memory uses is a different
    /// one and stays; so does one that a person has described.
    pub(super) async fn join_corrected_names(
        &self,
        session: &Session,
        names: Vec<(String, String)>,
    ) -> Result<(), ConsolidateError> {
        for (wrong, right) in names {
            let Some((wrong, right)) = self.entities_to_join(session, wrong, right).await? else { continue };
            let (id, change) = (wrong.entity.id, EntityChange::Merge { other: right.entity.id });
            let (by, at) = (ChangedBy::Conversation, self.clock.now());
            if let EntityChanged::Changed(entities) =
                self.store.change_entity(&session.scope, id, change, by, at).await?
                && let Some(entity) = entities.into_iter().next()
            {
                let (scope, entity) = (session.scope.clone(), Box::new(entity));
                (self.formed)(ConsolidationEvent::Entity { scope, entity });
            }
        }
        Ok(())
    }

    async fn entities_to_join(
        &self,
        session: &Session,
        wrong: String,
        right: String,
    ) -> Result<Option<(AliasHit, AliasHit)>, StoreError> {
        let hits = self.store.entities_named(&session.scope, &[wrong.clone(), right.clone()]).await?;
        let (wrong, right): (Vec<_>, Vec<_>) = hits.into_iter().partition(|hit| hit.folded == wrong);
        let ids: Vec<_> = wrong.iter().map(|hit| hit.entity.id).collect();
        let mentions = self.store.entity_mentions(&session.scope, &ids).await?;
        let is_told_of = |hit: &AliasHit| {
            mentions.iter().any(|mentions| mentions.entity_id == hit.entity.id && mentions.events > 0)
        };
        let mut both = wrong
            .iter()
            .filter(|hit| !is_told_of(hit) && !hit.entity.owner_override)
            .flat_map(|wrong| right.iter().map(move |right| (wrong, right)));
        let found = both.find(|(wrong, right)| {
            wrong.entity.id != right.entity.id && kinds_agree(wrong.entity.kind, right.entity.kind)
        });
        Ok(found.map(|(wrong, right)| (wrong.clone(), right.clone())))
    }
}
