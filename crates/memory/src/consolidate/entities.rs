//! L5 in phase B: identifies the named entities, and applies the user's statements about identities.

use std::collections::BTreeSet;

use futures_util::try_join;
use jiff::Timestamp;

use super::evidence::CheckedEvent;
use super::merge::READABILITY_MIN;
use super::{ConsolidateError, Consolidator};
use crate::entities::{
    Entity, EntityKind, Likeness, MergeStatus, embedded_text, fold_name, is_named_in_text, kinds_agree,
};
use crate::identifiers::EntityId;
use crate::messages::Message;
use crate::ports::{
    AliasHit, Embedding, EntityVector, Extraction, IdentityDoubt, IdentityStatement, MentionedEntity,
    NewEntity, StoreError,
};
use crate::recall::named::{named_entities_with, named_in_any};
use crate::sessions::Session;
use crate::vector_index::cosine;

/// Maximum known entities in the prompt: those that the session names, then the last changed.
const KNOWN_ENTITIES_MAX: usize = 60;
/// Maximum open questions about identity in the prompt. Each takes a line; open ones are shown again after the next
/// session.
const IDENTITY_DOUBTS_MAX: u32 = 10;
/// Number of nearest entities to search for one of a matching kind. The nearest may be of another kind, such as a
/// city with a person's name.
const NEAREST_MAX: usize = 5;

/// The people, places and things that the extraction prompt lists as known.
pub(super) struct KnownEntities {
    pub(super) known_entities: Vec<Entity>,
    pub(super) entities_in_doubt: Vec<(Entity, Entity)>,
}

/// The session's entities, known or new.
#[derive(Default)]
pub(super) struct NamedEntities {
    /// Each name with its entity. Entities of different kinds can share a name.
    hits: Vec<AliasHit>,
    pub(super) new: Vec<NewEntity>,
    pub(super) aliases: Vec<(EntityId, String, String)>,
    pub(super) identities: Vec<IdentityStatement>,
}

impl NamedEntities {
    /// An entity with the same name that this session named before.
    fn named_in_this_session(&self, folded: &[String], kind: EntityKind) -> Option<AliasHit> {
        let same = |hit: &&AliasHit| folded.contains(&hit.folded) && kinds_agree(hit.entity.kind, kind);
        self.hits.iter().find(same).cloned()
    }

    fn add(&mut self, known: &AliasHit, names: &[&String]) {
        for name in names {
            let folded = fold_name(name);
            self.aliases.push((known.named, (*name).clone(), folded.clone()));
            self.hits.push(AliasHit { folded, entity: known.entity.clone(), named: known.named });
        }
    }
}

impl Consolidator<'_> {
    /// The entities for the prompt. Those that the session names come first, because there are more names than a
    /// prompt has room for.
    pub(super) async fn known_entities(
        &self,
        session: &Session,
        messages: &[Message],
    ) -> Result<KnownEntities, StoreError> {
        let scope = &session.scope;
        let said: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
        let limit = u32::try_from(KNOWN_ENTITIES_MAX).unwrap_or(u32::MAX);
        let (mut known, latest, entities_in_doubt) = try_join!(
            named_in_any(self.store, scope, &said),
            self.store.entities(scope, limit),
            self.store.entities_in_doubt(scope, None, IDENTITY_DOUBTS_MAX),
        )?;
        for entity in latest {
            if known.iter().all(|other| other.id != entity.id) {
                known.push(entity);
            }
        }
        known.truncate(KNOWN_ENTITIES_MAX);
        Ok(KnownEntities { known_entities: known, entities_in_doubt })
    }

    /// Identifies entities in three steps: an exact alias of the same kind, the nearest by `name. description`, else
    /// a new entity.
    pub(super) async fn name_entities(
        &self,
        session: &Session,
        answer: &Extraction,
        said: &str,
    ) -> Result<NamedEntities, ConsolidateError> {
        let at = self.clock.now();
        let mut named = NamedEntities::default();
        let mut unknown: Vec<(&MentionedEntity, usize)> = Vec::new();
        for mention in &answer.mentioned_entities {
            let names: Vec<&String> =
                std::iter::once(&mention.canonical_name).chain(&mention.aliases).collect();
            let folded: Vec<String> = names.iter().map(|name| fold_name(name)).collect();
            let known = match named.named_in_this_session(&folded, mention.kind) {
                Some(hit) => Some(hit),
                None => self.known_entity(session, &folded, mention.kind).await?,
            };
            let known = known.unwrap_or_else(|| {
                unknown.push((mention, named.new.len()));
                let (new, hit) = self.new_entity(mention, at);
                named.new.push(new);
                hit
            });
            named.add(&known, &names);
        }
        self.weigh_likeness(session, &unknown, &mut named).await?;
        self.apply_identity_statement(session, answer, said, &mut named).await?;
        Ok(named)
    }

    /// The stored entity of a matching kind that has one of the names: by the first of them, and one of exactly this
    /// kind before one of unknown kind.
    async fn known_entity(
        &self,
        session: &Session,
        folded: &[String],
        kind: EntityKind,
    ) -> Result<Option<AliasHit>, ConsolidateError> {
        let hits = self.store.entities_named(&session.scope, folded).await?;
        let place = |hit: &AliasHit| folded.iter().position(|name| *name == hit.folded);
        let agreeing = hits.into_iter().filter(|hit| kinds_agree(hit.entity.kind, kind));
        Ok(agreeing.min_by_key(|hit| (place(hit), hit.entity.kind != kind)))
    }

    fn new_entity(&self, mention: &MentionedEntity, at: Timestamp) -> (NewEntity, AliasHit) {
        let id = EntityId(self.ids.next(at));
        let entity = Entity {
            id,
            canonical_name: mention.canonical_name.clone(),
            kind: mention.kind,
            description: None,
            owner_override: false,
            merge_status: MergeStatus::Confirmed,
            merge_target: None,
            aliases: Vec::new(),
            created_at: at,
            updated_at: at,
        };
        let new = NewEntity::settled(id, mention.canonical_name.clone(), mention.kind);
        (new, AliasHit { folded: fold_name(&mention.canonical_name), entity, named: id })
    }

    /// The second step, for unknown names. A name that the embedder can't read always becomes a new entity.
    async fn weigh_likeness(
        &self,
        session: &Session,
        unknown: &[(&MentionedEntity, usize)],
        named: &mut NamedEntities,
    ) -> Result<(), ConsolidateError> {
        let Some(embedder) = self.embedder.filter(|_| !unknown.is_empty()) else { return Ok(()) };
        let texts = unknown.iter().map(|(mention, _)| embedded_text(&mention.canonical_name, None)).collect();
        let embeddings = self.embed(texts).await;
        let mut vectors = self.store.entity_vectors(&session.scope, embedder.fingerprint()).await?;
        for ((mention, place), embedding) in unknown.iter().zip(embeddings) {
            let Some(embedding) = embedding else { continue };
            let id = named.new[*place].id;
            if let Some((likeness, known)) =
                self.nearest_entity(session, named, &vectors, &embedding, mention.kind).await?
            {
                named.mark_doubtful(*place, likeness, known);
            }
            vectors.push(EntityVector { entity_id: id, embedding: embedding.clone() });
            named.new[*place].embedding = Some(embedding);
        }
        Ok(())
    }

    /// The nearest entity of a matching kind, if it is near enough.
    async fn nearest_entity(
        &self,
        session: &Session,
        named: &NamedEntities,
        vectors: &[EntityVector],
        embedding: &Embedding,
        kind: EntityKind,
    ) -> Result<Option<(Likeness, Entity)>, ConsolidateError> {
        if embedding.readability < READABILITY_MIN {
            return Ok(None);
        }
        let readable = vectors.iter().filter(|vector| vector.embedding.readability >= READABILITY_MIN);
        let mut near: Vec<(f32, EntityId)> = readable
            .map(|vector| (cosine(&vector.embedding.vector, &embedding.vector), vector.entity_id))
            .filter(|(cosine, _)| Likeness::from_cosine(*cosine) != Likeness::Different)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        for (cosine, id) in near.into_iter().take(NEAREST_MAX) {
            let in_session = named.hits.iter().find(|hit| hit.named == id).map(|hit| hit.entity.clone());
            let known = match in_session {
                Some(entity) => Some(entity),
                None => self.store.entity(&session.scope, id).await?,
            };
            if let Some(known) = known.filter(|known| kinds_agree(known.kind, kind)) {
                return Ok(Some((Likeness::from_cosine(cosine), known)));
            }
        }
        Ok(None)
    }

    /// Applies a statement of the user that two names are one person, or are not. Both names must occur in the
    /// session.
    async fn apply_identity_statement(
        &self,
        session: &Session,
        answer: &Extraction,
        said: &str,
        named: &mut NamedEntities,
    ) -> Result<(), ConsolidateError> {
        let Some(clarification) = &answer.clarification else { return Ok(()) };
        let (a, b) = (fold_name(&clarification.a), fold_name(&clarification.b));
        let (of_a, of_b) =
            (self.resolve_name(session, &a, named).await?, self.resolve_name(session, &b, named).await?);
        let said = fold_name(said);
        let spoken_of = |name: &str, hits: &[AliasHit]| {
            let aliases = hits.iter().flat_map(|hit| &hit.entity.aliases).map(|alias| fold_name(alias));
            std::iter::once(name.to_owned()).chain(aliases).any(|name| is_named_in_text(&said, &name))
        };
        if a == b || !spoken_of(&a, &of_a) || !spoken_of(&b, &of_b) {
            tracing::debug!(session = %session.id, "an answer about names that were not mentioned was ignored");
            return Ok(());
        }
        let pairs = of_a.iter().flat_map(|one| of_b.iter().map(move |other| (one, other)));
        let pair = pairs
            .filter(|(one, other)| kinds_agree(one.entity.kind, other.entity.kind))
            .min_by_key(|(one, other)| !are_in_doubt(&one.entity, &other.entity));
        match (pair, of_a.as_slice(), of_b.as_slice()) {
            // Both names belong to one entity: they can only be separated if they came together by a merge.
            (Some((one, other)), ..) if one.entity.id == other.entity.id => {
                let parted = !clarification.same && one.named != other.named;
                named.identities.extend(parted.then(|| identity_statement(one.named, other.named, false)));
            }
            (Some((one, other)), ..) => {
                // Of two settled entities the newer is merged into the older.
                let age = |hit: &AliasHit| (hit.entity.created_at, hit.entity.id);
                let (newer, older) = if age(one) > age(other) { (one, other) } else { (other, one) };
                named.identities.push(identity_statement(
                    newer.entity.id,
                    older.entity.id,
                    clarification.same,
                ));
            }
            (None, [known], []) if clarification.same => named.add(&known.clone(), &[&clarification.b]),
            (None, [], [known]) if clarification.same => named.add(&known.clone(), &[&clarification.a]),
            _ => {}
        }
        Ok(())
    }

    async fn resolve_name(
        &self,
        session: &Session,
        folded: &str,
        named: &NamedEntities,
    ) -> Result<Vec<AliasHit>, StoreError> {
        let in_session: Vec<AliasHit> =
            named.hits.iter().filter(|hit| hit.folded == folded).cloned().collect();
        if !in_session.is_empty() {
            return Ok(in_session);
        }
        self.store.entities_named(&session.scope, &[folded.to_owned()]).await
    }

    /// Entities that the event lists, or whose name is in its text or quotes; known ones also if the answer did not
    /// list them.
    pub(super) async fn entities_of(
        &self,
        session: &Session,
        checked: &CheckedEvent,
        named: &NamedEntities,
    ) -> Result<Vec<AliasHit>, StoreError> {
        let mut text = checked.event.description.clone();
        for evidence in &checked.evidence {
            text.push('\n');
            text.push_str(&evidence.quote);
        }
        let mut about = named_entities_with(self.store, &session.scope, &text, &named.hits).await?;
        for listed in &checked.event.entities {
            let hits = self.resolve_name(session, &fold_name(listed), named).await?;
            for hit in hits {
                if about.iter().all(|known| known.entity.id != hit.entity.id) {
                    about.push(hit);
                }
            }
        }
        Ok(about)
    }

    /// The entities of certain identity, as they will be after the commit, for publishing.
    pub(super) async fn entities_with_certain_identity(
        &self,
        session: &Session,
        named: NamedEntities,
    ) -> Result<Vec<Entity>, StoreError> {
        let of_answer = named.identities.iter().flat_map(|settled| [settled.entity, settled.other]);
        let ids: Vec<EntityId> = named.hits.iter().map(|hit| hit.entity.id).chain(of_answer).collect();
        let (mut seen, mut entities) = (BTreeSet::new(), Vec::new());
        for id in ids {
            if !seen.insert(id) {
                continue;
            }
            let entity = self.store.entity(&session.scope, id).await?;
            entities.extend(entity.filter(|entity| entity.merge_status != MergeStatus::Uncertain));
        }
        Ok(entities)
    }
}

impl NamedEntities {
    /// Each entity once, by the id that had the name, and how it was identified: by a known name (`alias`), by
    /// similarity to a known entity (`embedding`), or as a `new` one.
    pub(super) fn resolved_entities(&self) -> Vec<(EntityId, Entity, &'static str)> {
        let mut resolved: Vec<(EntityId, Entity, &'static str)> = Vec::new();
        for hit in &self.hits {
            if resolved.iter().any(|(named, ..)| *named == hit.named) {
                continue;
            }
            let path = match self.new.iter().find(|new| new.id == hit.named).map(|new| new.doubt) {
                None => "alias",
                Some(Some(IdentityDoubt::Same(_))) => "embedding",
                Some(_) => "new",
            };
            resolved.push((hit.named, hit.entity.clone(), path));
        }
        resolved
    }

    /// Marks a new entity as one that is, or may be, known. A merged entity is found under the known one's id, but
    /// its names and links stay its own, so that a mistake can be undone.
    fn mark_doubtful(&mut self, place: usize, likeness: Likeness, known: Entity) {
        let id = self.new[place].id;
        self.new[place].doubt = match likeness {
            Likeness::Same => Some(IdentityDoubt::Same(known.id)),
            Likeness::Uncertain => Some(IdentityDoubt::Perhaps(known.id)),
            Likeness::Different => None,
        };
        for hit in self.hits.iter_mut().filter(|hit| hit.named == id) {
            match likeness {
                Likeness::Same => hit.entity = known.clone(),
                Likeness::Uncertain => hit.entity.merge_status = MergeStatus::Uncertain,
                Likeness::Different => {}
            }
        }
    }
}

fn identity_statement(entity: EntityId, other: EntityId, same: bool) -> IdentityStatement {
    IdentityStatement { entity, other, same }
}

/// True if it is undecided whether two entities are the same.
fn are_in_doubt(one: &Entity, other: &Entity) -> bool {
    let asks =
        |a: &Entity, b: &Entity| a.merge_status == MergeStatus::Uncertain && a.merge_target == Some(b.id);
    asks(one, other) || asks(other, one)
}
