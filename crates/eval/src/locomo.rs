//! LoCoMo: long conversations in sessions, and questions with the turns that answer them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::data::{Conversation, CorpusUnit, DataSet, Question};

/// Time between two turns of a session: the data only has the time of the session.
const TURN_SECONDS: i64 = 30;

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    blip_caption: Option<String>,
}

#[derive(Deserialize)]
struct RawQuestion {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u32,
}

pub(crate) fn read(path: &Path) -> anyhow::Result<DataSet> {
    let mut data = DataSet::default();
    for file in files(path)? {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("{} can't be read", file.display()))?;
        let value: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))?;
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let samples = match value {
            Value::Array(samples) => samples,
            sample => vec![sample],
        };
        for (number, sample) in samples.into_iter().enumerate() {
            let fallback = format!("{name}-{number}");
            let read = conversation(&sample, &fallback, &mut data.repaired);
            data.conversations
                .push(read.with_context(|| format!("{} is not in LoCoMo's format", file.display()))?);
        }
    }
    Ok(data)
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("{} can't be read", path.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        bail!("{} holds no .json file", path.display());
    }
    Ok(files)
}

/// Finds sessions under `conversation`, as published, or at the top level.
fn conversation(sample: &Value, fallback: &str, repaired: &mut usize) -> anyhow::Result<Conversation> {
    let talk =
        sample.get("conversation").unwrap_or(sample).as_object().context("a conversation is an object")?;
    let name = |key: &str| talk.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = sample.get("sample_id").and_then(Value::as_str).unwrap_or(fallback).to_owned();
    let asked: Vec<RawQuestion> = serde_json::from_value(sample.get("qa").cloned().unwrap_or_default())?;
    let question = |(number, asked): (usize, RawQuestion)| Question {
        id: format!("q{}", number + 1),
        gold: split_references(&asked.evidence, repaired),
        text: asked.question,
        gold_sessions: Vec::new(),
        category: asked.category.to_string(),
        at: None,
    };
    Ok(Conversation {
        id,
        user: name("speaker_a"),
        persona: name("speaker_b"),
        named: true,
        units: read_units(talk)?,
        questions: asked.into_iter().enumerate().map(question).collect(),
    })
}

fn read_units(talk: &Map<String, Value>) -> anyhow::Result<Vec<CorpusUnit>> {
    let mut units = Vec::new();
    for number in 1.. {
        let session = format!("session_{number}");
        let Some(when) = talk.get(&format!("{session}_date_time")).and_then(Value::as_str) else { break };
        let start = parse_time(when)?;
        let Some(turns) = talk.get(&session) else { continue };
        let turns: Vec<Turn> = serde_json::from_value(turns.clone())?;
        for (place, turn) in (0i64..).zip(turns) {
            let at = start.checked_add(jiff::SignedDuration::from_secs(place * TURN_SECONDS))?;
            // The caption of a shared picture is part of the message, as in the publisher's own evaluation.
            let text = match turn.blip_caption {
                Some(caption) if !caption.is_empty() => format!("{} [shares {caption}]", turn.text),
                _ => turn.text,
            };
            units.push(CorpusUnit {
                id: turn.dia_id,
                session: session.clone(),
                at,
                speaker: turn.speaker,
                text,
            });
        }
    }
    Ok(units)
}

/// Parses `1:56 pm on 8 May, 2023` as UTC.
fn parse_time(text: &str) -> anyhow::Result<Timestamp> {
    let upper = text.replace(" am ", " AM ").replace(" pm ", " PM ");
    let broken =
        strtime::parse("%I:%M %p on %d %B, %Y", &upper).with_context(|| format!("`{text}` is no time"))?;
    let civil: DateTime = broken.to_datetime()?;
    Ok(civil.to_zoned(TimeZone::UTC)?.timestamp())
}

/// Parses turn ids such as `D8:6`. A text may hold several; leading zeros are dropped, other forms stay and are
/// counted.
fn split_references(evidence: &[String], repaired: &mut usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for text in evidence {
        let parts =
            text.split(|c: char| c == ';' || c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
        let read: Vec<String> =
            parts.map(|part| canonical_turn_id(part).unwrap_or_else(|| part.to_owned())).collect();
        if read.len() != 1 || read.first() != Some(text) {
            *repaired += 1;
        }
        for id in read {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

fn canonical_turn_id(part: &str) -> Option<String> {
    let (session, turn) =
        part.trim_matches(['(', ')']).strip_prefix('D')?.trim_start_matches(':').split_once(':')?;
    Some(format!("D{}:{}", session.parse::<u32>().ok()?, turn.parse::<u32>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_published() {
        assert_eq!(parse_time("1:56 pm on 8 May, 2023").unwrap().to_string(), "2023-05-08T13:56:00Z");
        assert_eq!(parse_time("12:09 am on 13 September, 2023").unwrap().to_string(), "2023-09-13T00:09:00Z");
        assert!(parse_time("yesterday").is_err());
    }

    #[test]
    fn malformed_references_are_repaired_and_counted() {
        let mut repaired = 0;
        let evidence = ["D1:3", "D8:6; D9:17", "D30:05", "D"].map(str::to_owned);
        assert_eq!(split_references(&evidence, &mut repaired), ["D1:3", "D8:6", "D9:17", "D30:5", "D"]);
        assert_eq!(repaired, 2);
    }
}
