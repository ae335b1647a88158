//! Verbatim passages: messages with their speakers and neighbours.

use std::collections::{BTreeSet, HashSet};

use super::messages::{RankedMessage, Surroundings};
use super::receipt::{Candidate, CandidateKind};
use super::settings::RecallSettings;
use super::silenced::without_silenced;
use crate::forget::{ForgottenSpan, has_no_content_left, without_forgotten};
use crate::messages::{Message, Role};
use crate::ports::{IndexedMessage, Store, StoreError};
use crate::scope::Scope;
use crate::text::estimate_tokens;

/// Neighbours to add to a passage on each side.
const NEIGHBOURS: u32 = 1;

/// Consecutive messages of one session, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The messages with their speakers and dates.
    pub messages: Vec<Message>,
    /// Number of the message that was found.
    pub hit_seq: i64,
    pub score: f64,
}

/// The ranked messages, and the neighbours of the best ones, both without silenced text. `asked` is the question.
///
/// Neighbours are read before it is known if a ranked message is left out, because few scopes have silenced text and
/// each read that waits for another delays the reply. If text is silenced, they are read again.
pub(super) async fn read_surroundings(
    store: &dyn Store,
    scope: &Scope,
    asked: &str,
    ranked: Vec<RankedMessage>,
    settings: &RecallSettings,
) -> Result<(Vec<RankedMessage>, Surroundings), StoreError> {
    let (around, silenced) = read_around(store, scope, &ranked, settings).await?;
    if silenced.is_empty() {
        return Ok((ranked, around));
    }
    let ranked = without_silenced(ranked, &around, &silenced, asked, settings.min_relevance);
    let (around, silenced) = read_around(store, scope, &ranked, settings).await?;
    let mask = |(seq, messages): (i64, Vec<Message>)| {
        let mut messages = without_forgotten(messages, &silenced);
        messages.retain(|message| message.seq == seq || !has_no_content_left(message));
        (seq, messages)
    };
    Ok((ranked, around.into_iter().map(mask).collect()))
}

/// Reads the neighbours of the best messages, and the silenced spans of these and of all ranked messages.
async fn read_around(
    store: &dyn Store,
    scope: &Scope,
    ranked: &[RankedMessage],
    settings: &RecallSettings,
) -> Result<(Surroundings, Vec<ForgottenSpan>), StoreError> {
    let threshold = PassageThreshold::new(ranked, settings);
    let near = ranked.iter().filter(|ranked| threshold.is_answered && threshold.is_near(ranked));
    let seqs: Vec<i64> = near.take(2 * settings.passages).map(|ranked| ranked.message.seq).collect();
    let found = match seqs.is_empty() {
        true => Vec::new(),
        false => store.neighbours(scope, &seqs, NEIGHBOURS, NEIGHBOURS).await?,
    };
    let plain = |neighbours: Vec<IndexedMessage>| neighbours.into_iter().map(|indexed| indexed.message);
    let around: Surroundings =
        found.into_iter().map(|(seq, neighbours)| (seq, plain(neighbours).collect())).collect();
    let shown = ranked.iter().map(|ranked| &ranked.message).chain(around.values().flatten());
    let shown: BTreeSet<i64> = shown.map(|message| message.seq).collect();
    let silenced = store.silenced_spans(scope, &Vec::from_iter(shown)).await?;
    Ok((around, silenced))
}

/// Conditions for a message to become a passage.
struct PassageThreshold {
    /// Minimum total of a message that is close to the best.
    total_min: f64,
    /// True if a message close to the best is relevant.
    is_answered: bool,
}

impl PassageThreshold {
    fn new(ranked: &[RankedMessage], settings: &RecallSettings) -> Self {
        let total_min = ranked.first().map_or(0.0, |best| best.total * settings.passage_share);
        let near = ranked.iter().filter(|ranked| ranked.total >= total_min);
        let highest = near.map(relevance).fold(0.0, f64::max);
        Self { total_min, is_answered: highest >= settings.min_relevance }
    }

    fn is_near(&self, ranked: &RankedMessage) -> bool {
        ranked.total >= self.total_min
    }
}

fn relevance(ranked: &RankedMessage) -> f64 {
    ranked.vector.max(ranked.words)
}

/// The best messages as passages, best first, and the fate of each ranked message. Those close to the best enter if
/// any of them is relevant by itself or together with the one before it. A message in an earlier passage makes no
/// passage of its own.
pub(super) fn choose_passages(
    ranked: &[RankedMessage],
    around: &Surroundings,
    window: &[i64],
    settings: &RecallSettings,
) -> (Vec<Passage>, Vec<Candidate>) {
    let threshold = PassageThreshold::new(ranked, settings);
    let mut shown: HashSet<i64> = window.iter().copied().collect();
    let mut tokens_left = settings.passage_tokens;
    let mut passages: Vec<Passage> = Vec::new();
    let mut candidates = Vec::with_capacity(ranked.len());
    for ranked in ranked {
        let seq = ranked.message.seq;
        let refusal = if !threshold.is_answered {
            Some(format!("relevance {:.2} is below {}", relevance(ranked), settings.min_relevance))
        } else if !threshold.is_near(ranked) {
            let least = threshold.total_min;
            Some(format!("score {:.2} is below {least:.2}, a share of the best one", ranked.total))
        } else if shown.contains(&seq) {
            Some("is part of a better passage".to_owned())
        } else if passages.len() >= settings.passages {
            Some(format!("{} better ones were found", settings.passages))
        } else {
            match fit_passage(ranked, around.get(&seq), &shown, tokens_left) {
                Some(messages) => {
                    tokens_left -= tokens_of(&messages);
                    shown.extend(messages.iter().map(|message| message.seq));
                    passages.push(Passage { messages, hit_seq: seq, score: ranked.total });
                    None
                }
                None => Some("exceeds the token budget".to_owned()),
            }
        };
        candidates.push(receipt_of(ranked, refusal));
    }
    (passages, candidates)
}

/// The message with those of its neighbours that are not shown yet, or alone if that is too long; `None` if even that
/// is.
fn fit_passage(
    ranked: &RankedMessage,
    around: Option<&Vec<Message>>,
    shown: &HashSet<i64>,
    tokens_left: u32,
) -> Option<Vec<Message>> {
    let fresh =
        around.map(|messages| messages.iter().filter(|message| !shown.contains(&message.seq)).cloned());
    let with_neighbours: Vec<Message> = fresh.map(Iterator::collect).unwrap_or_default();
    let alone = vec![ranked.message.clone()];
    let holds_hit = with_neighbours.iter().any(|message| message.seq == ranked.message.seq);
    [with_neighbours, alone]
        .into_iter()
        .enumerate()
        .find(|(at, messages)| (*at == 1 || holds_hit) && tokens_of(messages) <= tokens_left)
        .map(|(_, messages)| messages)
}

fn tokens_of(messages: &[Message]) -> u32 {
    messages.iter().map(|message| estimate_tokens(&message.content)).sum()
}

fn receipt_of(ranked: &RankedMessage, refusal: Option<String>) -> Candidate {
    let message = &ranked.message;
    Candidate {
        id: message.id.0,
        kind: CandidateKind::Message,
        type_name: match message.role {
            Role::User => "user".to_owned(),
            Role::Persona => "persona".to_owned(),
            Role::Other => "other".to_owned(),
        },
        speaker: message.speaker.clone(),
        text: message.content.clone(),
        created_at: message.created_at,
        said_at: None,
        total: ranked.total,
        recency: None,
        relevance: None,
        vector_relevance: None,
        word_relevance: None,
        readable: None,
        impact: None,
        emotional_impact: None,
        relational_bonus: None,
        entity_anchor: None,
        parts: Some(ranked.parts.clone()),
        used: refusal.is_none(),
        reason: refusal.unwrap_or_else(|| "matches the text".to_owned()),
        no_longer_current: None,
        denied: None,
    }
}
