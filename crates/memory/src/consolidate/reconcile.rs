//! After phase B: decides if new memories replace older statements. The model decides in a separate question; an
//! answer that does not quote the newer statement replaces nothing.

use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::corrected_names::corrected_names;
use super::{ConsolidateError, Consolidator, Participants};
use crate::nodes::{DESCRIPTION_LENGTH_MAX, NewNode, Node, NodeKind, Subject};
use crate::ports::{
    OlderStatement, PairOutcome, PairQuestion, PairVerdict, ProposedVerdict, Reconciliation,
    ReconciliationCommit, ReconciliationInput, WaitingPair,
};
use crate::sessions::Session;
use crate::text::{self, find_quote, split_sentences};

/// Maximum pairs in one question. In a short list a model assigns each answer to the right pair; the other pairs wait
/// for the next question.
pub(super) const PAIRS_MAX: usize = 12;
/// Minimum length of a quote as evidence, in characters without white space.
const QUOTE_LENGTH_MIN: usize = 2;
/// An event that ended this long before the older statement was made does not replace it. "I lived in Rome in 2010"
/// does not contradict a newer address; two months allow for rounded dates.
const ENDED_BEFORE_MIN: SignedDuration = SignedDuration::from_hours(60 * 24);
/// An event that starts this long after it was mentioned is a plan. Until it happens, the fact that it will replace
/// is still true. An event later on the same day counts as done.
const PLAN_AHEAD_MIN: SignedDuration = SignedDuration::from_hours(24);

impl Consolidator<'_> {
    /// Asks the model about the waiting pairs and stores the results. Returns the trace of the phase, or `None` if no
    /// pair waits. If the model gives no answer, the pairs are asked about again later.
    pub(super) async fn reconcile(
        &self,
        session: &Session,
        parties: &Participants,
    ) -> Result<Option<Value>, ConsolidateError> {
        let limit = u32::try_from(PAIRS_MAX).unwrap_or(u32::MAX);
        let pairs = self.store.waiting_pairs(&session.scope, session.id, limit).await?;
        if pairs.is_empty() {
            return Ok(None);
        }
        let input = ReconciliationInput {
            session_id: session.id,
            pairs: pairs.iter().map(pair_question).collect(),
            zone: parties.zone.clone(),
        };
        let answer = self.mind.reconcile(input).await.unwrap_or_else(|error| {
            tracing::warn!(session = %session.id, "new memories could not be compared with earlier ones: {}", error.log_description());
            Reconciliation::default()
        });
        let at = self.clock.now();
        let verdict_of = |place: usize| answer.verdicts.iter().find(|verdict| verdict.pair == place);
        let outcome = |(place, pair): (usize, &WaitingPair)| {
            (pair.number, self.outcome_of_pair(pair, verdict_of(place), at))
        };
        let outcomes: Vec<(i64, PairOutcome)> = pairs.iter().enumerate().map(outcome).collect();
        let detail = trace_of_pairs(&pairs, &answer, &outcomes);
        let names = corrected_names(&pairs, &outcomes);
        let commit =
            ReconciliationCommit { session_id: session.id, scope: session.scope.clone(), at, outcomes };
        self.store.commit_reconciliation(commit).await?;
        self.join_corrected_names(session, names).await?;
        Ok(Some(detail))
    }

    fn outcome_of_pair(
        &self,
        pair: &WaitingPair,
        proposed: Option<&ProposedVerdict>,
        at: Timestamp,
    ) -> PairOutcome {
        let Some(proposed) = proposed else { return PairOutcome::Unanswered };
        let is_quoted = is_quote_of_newer(pair, &proposed.quote);
        match proposed.verdict {
            PairVerdict::Same | PairVerdict::Adds | PairVerdict::Unrelated => PairOutcome::BothStand,
            PairVerdict::Replaces | PairVerdict::Corrects | PairVerdict::Unsure if !is_quoted => {
                PairOutcome::Unanswered
            }
            PairVerdict::Unsure => PairOutcome::Open,
            PairVerdict::Replaces if is_of_another_time(pair) => PairOutcome::BothStand,
            PairVerdict::Replaces | PairVerdict::Corrects => PairOutcome::Replaced {
                is_mistaken: proposed.verdict == PairVerdict::Corrects,
                former: self.former_memory(pair, at),
                rest: self.remaining_memory(pair, proposed.still_true.as_deref(), at),
            },
        }
    }

    /// A former memory for an older statement that did not become one.
    fn former_memory(&self, pair: &WaitingPair, at: Timestamp) -> Option<Box<NewNode>> {
        let OlderStatement::Words(words) = &pair.older else { return None };
        Some(Box::new(NewNode {
            id: self.new_node_id(at),
            kind: NodeKind::Event,
            terms: text::index_terms(&words.quote),
            description: words.quote.clone(),
            emotional_impact: 0,
            emotion_tags: Vec::new(),
            relational_tags: Vec::new(),
            subject: Subject::User,
            event_time: None,
            evidence: vec![words.clone()],
            filling: Vec::new(),
            embedding: None,
        }))
    }

    /// The memory of the part that stays true; `None` if the answer repeats the older or the newer text.
    fn remaining_memory(
        &self,
        pair: &WaitingPair,
        still_true: Option<&str>,
        at: Timestamp,
    ) -> Option<Box<NewNode>> {
        let OlderStatement::Node(older, evidence) = &pair.older else { return None };
        let text: String = still_true?.trim().chars().take(DESCRIPTION_LENGTH_MAX).collect();
        if text.is_empty() || text == older.description || text == pair.newer.description {
            return None;
        }
        Some(Box::new(NewNode {
            id: self.new_node_id(at),
            terms: text::index_terms(&text),
            description: text,
            evidence: evidence.clone(),
            embedding: None,
            ..NewNode::from_node(older)
        }))
    }
}

fn pair_question(pair: &WaitingPair) -> PairQuestion {
    let words = pair.newer_evidence.first().map(|evidence| evidence.quote.clone());
    PairQuestion {
        older: pair.older.text().to_owned(),
        older_at: pair.older_at,
        newer: pair.newer.description.clone(),
        newer_at: pair.newer_at,
        words: words.or_else(|| pair.newer_texts.last().cloned()).unwrap_or_default(),
    }
}

fn is_quote_of_newer(pair: &WaitingPair, quote: &str) -> bool {
    quote.chars().filter(|character| !character.is_whitespace()).count() >= QUOTE_LENGTH_MIN
        && pair.newer_texts.iter().any(|text| find_quote(text, quote).is_some())
}

/// True if the newer statement is about the distant past, or is a plan while the older one is not. Neither ends the
/// older fact.
fn is_of_another_time(pair: &WaitingPair) -> bool {
    let time = pair.newer.event_time.map(|time| (time.start, time.end.unwrap_or(time.start)));
    let Some((start, end)) = time.or_else(|| sentences_of_newer(pair).find_map(year_named_in)) else {
        return false;
    };
    let is_planned = |node: &Node| node.event_time.is_some_and(|time| time.start > pair.older_at);
    let is_about_plan = matches!(&pair.older, OlderStatement::Node(older, _) if is_planned(older));
    let is_plan = start.duration_since(pair.newer_at) > PLAN_AHEAD_MIN;
    pair.older_at.duration_since(end) > ENDED_BEFORE_MIN || is_plan && !is_about_plan
}

/// The sentences of the newer statement's evidence.
fn sentences_of_newer(pair: &WaitingPair) -> impl Iterator<Item = &str> {
    let quotes = pair.newer_evidence.iter().map(|evidence| evidence.quote.as_str());
    quotes.filter_map(|quote| {
        let mut sentences = pair.newer_texts.iter().flat_map(|text| split_sentences(text));
        sentences.find(|sentence| sentence.contains(quote))
    })
}

/// The year in which a sentence places its event, such as "in 1999" or 2015年, from its first to its last moment.
/// Other numbers of four digits are ignored, and so is "since 1999", which describes the present.
fn year_named_in(sentence: &str) -> Option<(Timestamp, Timestamp)> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let year = sentence.match_indices(is_digit).find_map(|(start, _)| {
        let (before, rest) = sentence.split_at(start);
        let number = &rest[..rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len())];
        let is_said = before.to_lowercase().ends_with("in ") || rest[number.len()..].starts_with('年');
        let is_whole = number.len() == 4 && !before.ends_with(is_digit);
        number.parse::<i16>().ok().filter(|year| is_whole && is_said && (1900..2100).contains(year))
    })?;
    let moment = |day: jiff::civil::Date| day.to_zoned(TimeZone::UTC).ok().map(|moment| moment.timestamp());
    Some((moment(date(year, 1, 1))?, moment(date(year, 12, 31))?))
}

fn trace_of_pairs(pairs: &[WaitingPair], answer: &Reconciliation, outcomes: &[(i64, PairOutcome)]) -> Value {
    let entry = |(place, pair): (usize, &WaitingPair)| {
        let proposed = answer.verdicts.iter().find(|verdict| verdict.pair == place);
        let older = match &pair.older {
            OlderStatement::Node(node, _) => json!(node.id),
            OlderStatement::Words(words) => {
                json!({"message_id": words.message_id, "start": words.start, "end": words.end})
            }
        };
        let outcome = outcomes.get(place).map(|(_, outcome)| match outcome {
            PairOutcome::BothStand => "both stand",
            PairOutcome::Replaced { .. } => "replaced",
            PairOutcome::Open => "open",
            PairOutcome::Unanswered => "must be compared again",
        });
        json!({"older": older, "newer": pair.newer.id, "verdict": proposed.map(|verdict| verdict.verdict.as_str()),
            "outcome": outcome})
    };
    let pairs: Vec<Value> = pairs.iter().enumerate().map(entry).collect();
    json!({"pairs": pairs, "notes": answer.notes})
}
