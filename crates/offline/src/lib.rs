//! The offline provider: a [`Provider`] that answers by rules, without a language model or a network. Deterministic.
//!
//! It answers from [`Request::inputs`], never from the prompt's text. `reply` answers from recalled memories;
//! `extraction` uses rules and word lists; `reconciliation` compares plain clauses; `reflection` and `slow_cycle`
//! give an impression by rules; `persona_draft` sorts the writer's own sentences. `proactive` mentions a due promise
//! or expectation, and otherwise nothing. `rollup` copies lines of its sources and says so. `graph` returns the names
//! in the lines of a document and no relations, because guesses would often be wrong. It supports Chinese and
//! English; texts in other languages are quoted.

mod reply_inputs;
mod reply;
mod small_talk;
mod self_questions;
mod ailments;

mod extraction;
mod reconciliation;
mod reflection;
mod impressions;
mod rollup;
mod document_names;
mod slow_cycle;
mod persona_draft;
mod proactive;

mod sentences;

mod entities;
mod names_beside;
mod clarification;
mod peaks;
mod rewrite;
mod self_statements;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde::de::DeserializeOwned;

use llm::{Completion, LlmError, ModelTier, OFFLINE, Provider, Request, StreamEvent, Usage};

/// The offline provider. It costs nothing and reports zero tokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineProvider;

/// The token usage of an answer without a model.
const NO_USAGE: Usage = Usage { input_tokens: 0, output_tokens: 0, cached_tokens: 0, reported: true };

#[async_trait]
impl Provider for OfflineProvider {
    fn name(&self) -> &'static str {
        OFFLINE
    }

    fn model(&self, _tier: ModelTier) -> String {
        OFFLINE.to_owned()
    }

    async fn complete(&self, request: Request) -> Result<Completion, LlmError> {
        let text = answer(&request)?;
        Ok(Completion {
            text,
            usage: NO_USAGE,
            model: OFFLINE.to_owned(),
            provider: OFFLINE.to_owned(),
            latency: Duration::ZERO,
        })
    }

    async fn stream(
        &self,
        request: Request,
    ) -> Result<BoxStream<'static, Result<StreamEvent, LlmError>>, LlmError> {
        let mut events: Vec<_> = split_into_deltas(&answer(&request)?)
            .into_iter()
            .map(|text| Ok(StreamEvent::Delta(text)))
            .collect();
        events.push(Ok(StreamEvent::Finished { usage: NO_USAGE, model: OFFLINE.to_owned() }));
        Ok(stream::iter(events).boxed())
    }
}

fn answer(request: &Request) -> Result<String, LlmError> {
    match request.task.as_str() {
        "reply" => Ok(reply::reply(&read_inputs(request)?)),
        "extraction" => to_answer(&extraction::extract(&read_inputs(request)?)),
        "reconciliation" => to_answer(&reconciliation::reconcile(&read_inputs(request)?)),
        "reflection" => to_answer(&reflection::reflect(&read_inputs(request)?)),
        "rollup" => to_answer(&rollup::roll_up(&read_inputs(request)?)),
        "graph" => to_answer(&document_names::names_in_lines(&read_inputs(request)?)),
        "slow_cycle" => to_answer(&slow_cycle::think_slowly(&read_inputs(request)?)),
        "proactive" => to_answer(&proactive::write_first(&read_inputs(request)?)),
        "persona_draft" => to_answer(&persona_draft::draft(&read_inputs(request)?)),
        other => Err(LlmError::fatal_error(format!(
            "The offline provider does not know the task {other:?}. Choose a language model under [llm] for it; nothing was changed."
        ))),
    }
}

fn read_inputs<T: DeserializeOwned>(request: &Request) -> Result<T, LlmError> {
    T::deserialize(&request.inputs).map_err(|error| {
        LlmError::fatal_error(format!(
            "The offline provider cannot read the inputs of {:?}: {error}.",
            request.task
        ))
    })
}

fn to_answer(answer: &impl serde::Serialize) -> Result<String, LlmError> {
    serde_json::to_string(answer)
        .map_err(|error| LlmError::fatal_error(format!("The offline answer could not be written ({error}).")))
}

/// Splits a text into small pieces: some ideographs, or a few words, at a time.
fn split_into_deltas(text: &str) -> Vec<String> {
    const IDEOGRAPHS_MIN: usize = 4;
    const WORDS: usize = 3;
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let (mut ideographs, mut words) = (0, 0);
    for letter in text.chars() {
        piece.push(letter);
        ideographs += usize::from(text::is_han(letter));
        words += usize::from(letter == ' ');
        if ideographs == IDEOGRAPHS_MIN || words == WORDS {
            pieces.push(std::mem::take(&mut piece));
            (ideographs, words) = (0, 0);
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use llm::AnswerFormat;

    fn request(task: &str, inputs: Value) -> Request {
        Request {
            task: task.to_owned(),
            tier: ModelTier::Large,
            system: String::new(),
            user: String::new(),
            answer: AnswerFormat::Text,
            temperature: None,
            max_tokens: None,
            inputs,
        }
    }

    #[tokio::test]
    async fn a_streamed_reply_is_the_whole_reply_in_several_pieces() {
        for text in ["你还记得我的猫吗?", "Do you remember my cat?"] {
            let asked = request("reply", json!({"user_text": text}));
            let whole = OfflineProvider.complete(asked.clone()).await.unwrap().text;
            let events: Vec<_> =
                OfflineProvider.stream(asked).await.unwrap().map(Result::unwrap).collect().await;
            let (end, deltas) = events.split_last().unwrap();
            assert_eq!(*end, StreamEvent::Finished { usage: NO_USAGE, model: "offline".to_owned() });
            assert!(deltas.len() > 2, "{deltas:?}");
            let said: String = deltas
                .iter()
                .map(|event| match event {
                    StreamEvent::Delta(text) => text.as_str(),
                    StreamEvent::Finished { .. } => panic!("two ends"),
                })
                .collect();
            assert_eq!(said, whole);
        }
    }

    #[tokio::test]
    async fn a_slow_cycle_without_events_finds_nothing_new() {
        let answer =
            OfflineProvider.complete(request("slow_cycle", json!({"events": []}))).await.unwrap().text;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["new_thoughts"], json!([]));
        assert_eq!(answer.as_object().unwrap().len(), 5);
    }

    #[tokio::test]
    async fn an_unknown_task_and_unreadable_inputs_are_fatal() {
        for asked in [request("judge", json!({})), request("extraction", json!({"messages": 7}))] {
            assert_eq!(OfflineProvider.complete(asked.clone()).await.unwrap_err().kind(), "fatal");
            assert!(OfflineProvider.stream(asked).await.is_err());
        }
    }
}
