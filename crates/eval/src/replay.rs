//! Replays a conversation into a store, each unit captured as a message with its own time, and asks the questions.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::capture::{MessageInput, Recorder};
use memory::identifiers::SessionId;
use memory::messages::Role;
use memory::ports::{Clock, Embedder, Embedding, IdGenerator, Store};
use memory::recall::{
    MessageFit, Query, RankedMessage, RecallSettings, Signals, SpeakerNames, rank_messages,
};
use memory::sessions::{CloseTrigger, SessionPolicy};
use memory::vector_index::VectorIndex;
use memory::{PersonaId, Scope, UserId};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::data::{Conversation, CorpusUnit, Question, is_role};
use crate::measure::RankedUnits;
use crate::passages::ScoredMessage;

/// The channel of all replayed messages.
const CHANNEL: &str = "eval";
/// Texts embedded at once. It bounds the memory that embedding takes.
const BATCH: u32 = 64;
/// Number of best-ranked messages of which some are shown.
const RANKED_MAX: usize = 30;
/// Units kept of each ranking. It is the last rank that is measured.
const RANKING_DEPTH: usize = 50;
/// Maximum messages to request from the ranking: all that it considers.
const RANKED_MESSAGES_MAX: usize = 10_000;

/// The dependencies of a replay.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    pub store: &'a dyn Store,
    /// The vectors of active scopes.
    pub index: &'a VectorIndex,
    /// If `None`, recall is measured by words alone.
    pub embedder: Option<&'a dyn Embedder>,
    /// The ranking's settings; the speakers' names are taken from the data.
    pub settings: &'a RecallSettings,
}

/// A clock that shows the time of the unit that is captured.
struct ReplayClock(Mutex<Timestamp>);

impl Clock for ReplayClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }

    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        // Capture never sleeps, and a replay has no real time.
        Box::pin(std::future::ready(()))
    }
}

/// Consecutive ids, so that a run can be repeated exactly.
struct ReplayIds(Mutex<u128>);

impl IdGenerator for ReplayIds {
    fn next(&self, at: Timestamp) -> Uuid {
        let mut number = self.0.lock();
        *number += 1;
        let milliseconds = u128::try_from(at.as_millisecond()).unwrap_or_default();
        Uuid::from_u128((milliseconds << 80) | (7 << 76) | (0b10 << 62) | *number)
    }
}

/// A question with the result of recall.
#[derive(Clone, Debug)]
pub struct AnsweredQuestion {
    /// The ranking, for the figures.
    pub ranked: RankedUnits,
    /// All candidates, best first, with their signals: for the fitting of weights.
    pub candidates: Vec<(String, Signals)>,
    /// The best candidates, with the scores that decide if they are shown.
    pub best: Vec<ScoredMessage>,
    /// Match of the messages with the question.
    pub fit: MessageFit,
    /// Sessions that contain the answer, and those found, best first; `None` if the data names no sessions.
    pub sessions: Option<RankedUnits>,
}

impl Replay<'_> {
    /// Captures the conversation and ranks its units for each question. Reports the number of finished units and
    /// questions to `progress`.
    ///
    /// # Errors
    ///
    /// When the store or the embedder fails.
    pub async fn conversation(
        &self,
        number: u64,
        conversation: &Conversation,
        progress: &mut (dyn FnMut(usize, usize) + Send),
    ) -> anyhow::Result<Vec<AnsweredQuestion>> {
        let scope = Scope::new(PersonaId::new(format!("eval-{number}"))?, UserId::owner());
        let names = |name: &String| {
            if name.is_empty() || is_role(name) || !conversation.named {
                Vec::new()
            } else {
                vec![name.clone()]
            }
        };
        let speaker_names =
            SpeakerNames { user: names(&conversation.user), persona: names(&conversation.persona) };
        let settings = RecallSettings { speaker_names, ..self.settings.clone() };
        let last =
            conversation.units.iter().map(|unit| unit.at).max().context("a conversation without units")?;
        let mut captured = CapturedMessages::default();
        let mut answered: Vec<(usize, AnsweredQuestion)> = Vec::with_capacity(conversation.questions.len());
        for (done, place) in question_order(&conversation.questions).into_iter().enumerate() {
            let question = &conversation.questions[place];
            let known = count_units_before(&conversation.units, question.at);
            self.capture(number, &scope, conversation, known, &mut captured, progress).await?;
            self.embed().await?;
            let found = self.ask_question(&scope, question, last, &settings).await?;
            answered.push((place, answer(conversation, question, &captured.units, found)));
            progress(0, done + 1);
        }
        answered.sort_by_key(|(place, _)| *place);
        Ok(answered.into_iter().map(|(_, answered)| answered).collect())
    }

    async fn ask_question(
        &self,
        scope: &Scope,
        question: &Question,
        last: Timestamp,
        settings: &RecallSettings,
    ) -> anyhow::Result<Vec<RankedMessage>> {
        let asked_at = question.at.unwrap_or(last);
        let query = Query::new(&question.text, asked_at, &TimeZone::UTC, settings, self.embedder).await;
        if let Some(reason) = query.words_only.clone().filter(|_| self.embedder.is_some()) {
            anyhow::bail!("the question could not be embedded: {reason}");
        }
        Ok(rank_messages(self.store, self.index, scope, &query, &[], settings, RANKED_MESSAGES_MAX).await?)
    }

    /// Captures the units up to number `until` that were not captured before.
    async fn capture(
        &self,
        number: u64,
        scope: &Scope,
        conversation: &Conversation,
        until: usize,
        captured: &mut CapturedMessages,
        progress: &mut (dyn FnMut(usize, usize) + Send),
    ) -> anyhow::Result<()> {
        let from = captured.units.len();
        let Some(first) = conversation.units.get(from..until).and_then(<[CorpusUnit]>::first) else {
            return Ok(());
        };
        let clock = ReplayClock(Mutex::new(first.at));
        let ids = ReplayIds(Mutex::new((u128::from(number) << 32) + captured.ids));
        let name = if conversation.persona.is_empty() { "Echo" } else { &conversation.persona };
        self.store.ensure_persona(&scope.persona, name, first.at).await?;
        self.store.ensure_user(&scope.user, first.at).await?;
        // The data determines the ends of sessions; length must not end them, and time between them may be short.
        let policy = SessionPolicy { idle: Duration::MAX, max_messages: u32::MAX, max_tokens: u64::MAX };
        let recorder = Recorder { store: self.store, clock: &clock, ids: &ids, policy };
        for (place, unit) in conversation.units.iter().enumerate().take(until).skip(from) {
            if let Some((_, id)) = captured.open.as_ref().filter(|(session, _)| *session != unit.session) {
                self.store.end_session(*id, CloseTrigger::Explicit).await?;
            }
            *clock.0.lock() = unit.at;
            let line = message_input(scope, conversation, unit);
            let message = recorder.capture(line, &TimeZone::UTC, None).await?.message;
            captured.units.insert(message.id.0, unit.clone());
            captured.open = Some((unit.session.clone(), message.session_id));
            progress(place + 1, 0);
        }
        captured.ids = *ids.0.lock() - (u128::from(number) << 32);
        Ok(())
    }

    /// Embeds messages in batches, as the daemon's background work does.
    async fn embed(&self) -> anyhow::Result<()> {
        let Some(embedder) = self.embedder else { return Ok(()) };
        let fingerprint = embedder.fingerprint();
        loop {
            let messages = self.store.messages_without_vector(fingerprint, BATCH).await?;
            if messages.is_empty() {
                return Ok(());
            }
            let texts: Vec<String> = messages.iter().map(|message| message.content.clone()).collect();
            let embeddings = embedder.embed(&texts).await?;
            let vectors: Vec<(_, Embedding)> =
                messages.iter().map(|message| message.id).zip(embeddings).collect();
            self.store.put_message_vectors(fingerprint, vectors).await?;
        }
    }
}

/// Messages stored so far.
#[derive(Default)]
struct CapturedMessages {
    units: HashMap<Uuid, CorpusUnit>,
    /// The session of the last unit: its name in the data, and its id.
    open: Option<(String, SessionId)>,
    /// Number of ids used.
    ids: u128,
}

/// Indexes of the questions in the order of their times; those without a time come last, after every unit.
fn question_order(questions: &[Question]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..questions.len()).collect();
    places.sort_by_key(|&place| (questions[place].at.is_none(), questions[place].at));
    places
}

/// Number of units that were said before a question, all if it has no time. `units` are in order of time.
fn count_units_before(units: &[CorpusUnit], at: Option<Timestamp>) -> usize {
    at.map_or(units.len(), |at| units.partition_point(|unit| unit.at < at))
}

fn answer(
    conversation: &Conversation,
    question: &Question,
    units: &HashMap<Uuid, CorpusUnit>,
    found: Vec<RankedMessage>,
) -> AnsweredQuestion {
    let fit = MessageFit::new(&found);
    let ranked = |gold: &[String], ranking: Vec<String>| RankedUnits {
        id: question.id.clone(),
        conversation: conversation.id.clone(),
        question: question.text.clone(),
        category: question.category.clone(),
        gold: gold.to_vec(),
        ranking,
    };
    let best = found.iter().take(RANKED_MAX);
    let best = best
        .filter_map(|one| Some(ScoredMessage::new(units.get(&one.message.id.0)?.id.clone(), one)))
        .collect();
    let known: Vec<(&CorpusUnit, Signals)> = found
        .iter()
        .filter_map(|message| Some((units.get(&message.message.id.0)?, message.signals)))
        .collect();
    let mut sessions: Vec<String> = Vec::new();
    for (unit, _) in &known {
        if !sessions.contains(&unit.session) {
            sessions.push(unit.session.clone());
        }
    }
    let places = known.iter().map(|(unit, _)| unit.id.clone()).take(RANKING_DEPTH).collect();
    let gold_sessions = &question.gold_sessions;
    AnsweredQuestion {
        ranked: ranked(&question.gold, places),
        sessions: (!gold_sessions.is_empty()).then(|| ranked(gold_sessions, sessions)),
        candidates: known.into_iter().map(|(unit, signals)| (unit.id.clone(), signals)).collect(),
        best,
        fit,
    }
}

fn message_input(scope: &Scope, conversation: &Conversation, unit: &CorpusUnit) -> MessageInput {
    let is_persona = !conversation.persona.is_empty() && unit.speaker == conversation.persona;
    MessageInput {
        id: None,
        scope: scope.clone(),
        channel_id: CHANNEL.to_owned(),
        turn_id: None,
        role: if is_persona { Role::Persona } else { Role::User },
        content: unit.text.clone(),
        incomplete: false,
        external_ref: None,
        channel_write: None,
    }
}
