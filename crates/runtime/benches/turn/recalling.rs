//! Recall without the time of the embedding: by words, by vectors, by both.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::tz::TimeZone;
use memory::ports::{Clock, EmbedError, Embedder, Embedding};
use memory::recall::{RecallRequest, RecallResult, RecallSettings, recall};
use memory::vector_index::VectorIndex;

use crate::Failed;
use crate::measure::{Figures, processor_time};
use crate::past::{DIMENSION, Dice, Home, Past};

const ROUNDS: usize = 200;
pub(crate) const QUESTIONS: [&str; 4] = [
    "Do you remember what my sister said about the marathon in Lisbon?",
    "你还记得我妹妹上大学的事吗",
    "cat",
    "What was the deadline for the painting, and did the exam go well?",
];
/// A word that occurs in no message.
const UNKNOWN_WORDS: [&str; 1] = ["zzyzx quorble"];
/// The most frequent word.
const COMMONEST_WORD: [&str; 1] = ["cat"];

/// An embedder that answers at once, so that only the rest is measured.
pub(crate) struct Ready(pub(crate) Vec<f32>);

#[async_trait]
impl Embedder for Ready {
    fn dimension(&self) -> usize {
        DIMENSION
    }

    fn fingerprint(&self) -> &str {
        "bench"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(texts.iter().map(|_| Embedding { vector: self.0.clone(), readability: 1.0 }).collect())
    }
}

pub(crate) async fn measure(past: Past, aim: &'static str) -> Result<(), Failed> {
    let home = Home::open(past).await?;
    let mut bench = Bench::new(&home);
    let name = past.name();
    bench.report(format!("recall, {name}"), &QUESTIONS, true, aim).await?;
    bench.report(format!("recall by words alone, {name}"), &QUESTIONS, false, "").await?;
    bench.report(format!("recall by vectors alone, {name}"), &UNKNOWN_WORDS, true, "").await?;
    if past.nodes == 0 {
        bench.report(format!("recall of the commonest word, {name}"), &COMMONEST_WORD, false, aim).await?;
    }
    home.close().await
}

/// The same in a copy on a PostgreSQL server, if there is one.
pub(crate) async fn measure_on_server(past: Past) -> Result<(), Failed> {
    let Some(home) = Home::on_server(past).await? else { return Ok(()) };
    let mut bench = Bench::new(&home);
    bench.report(format!("recall on a server, {}", past.name()), &QUESTIONS, true, "").await?;
    let before = home.store.round_trips();
    for question in QUESTIONS {
        bench.recall(question, true).await?;
    }
    let each = (home.store.round_trips() - before) / QUESTIONS.len() as u64;
    println!("| {:<52} | {each:>6} |", "its round trips, each");
    home.close().await
}

/// Recall by words and vectors in an open home.
pub(crate) async fn report_recall(home: &Home, what: String) -> Result<(), Failed> {
    Bench::new(home).report(what, &QUESTIONS, true, "").await
}

struct Bench<'a> {
    home: &'a Home,
    index: VectorIndex,
    dice: Dice,
}

impl<'a> Bench<'a> {
    fn new(home: &'a Home) -> Self {
        Self { home, index: VectorIndex::default(), dice: Dice::new() }
    }

    async fn report(
        &mut self,
        what: String,
        questions: &[&str],
        with_vectors: bool,
        aim: &'static str,
    ) -> Result<(), Failed> {
        self.index = VectorIndex::default();
        let started = Instant::now();
        self.recall(questions[0], with_vectors).await?;
        let cold = Some(started.elapsed());
        let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
        let spent = processor_time();
        for round in 0..ROUNDS {
            let started = Instant::now();
            let recalled = self.recall(questions[round % questions.len()], with_vectors).await?;
            times.push(started.elapsed());
            assert!(!recalled.candidates.is_empty(), "a recall that finds nothing measures nothing");
        }
        let processor = (processor_time() - spent) / u32::try_from(ROUNDS)?;
        Figures { what, times, processor, cold, aim }.print();
        Ok(())
    }

    async fn recall(&mut self, text: &str, with_vectors: bool) -> Result<RecallResult, Failed> {
        let embedder = Ready(self.dice.vector());
        let request = RecallRequest {
            scope: self.home.scope.clone(),
            text: text.to_owned(),
            now: self.home.clock.now(),
            zone: TimeZone::UTC,
            window: Vec::new(),
        };
        let embedder = with_vectors.then_some(&embedder as &dyn Embedder);
        Ok(recall(&self.home.store, &self.index, embedder, &RecallSettings::default(), request).await?)
    }
}
