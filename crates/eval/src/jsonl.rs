//! A benchmark as two JSON Lines files: units {id, conv, session, ts, speaker, text} and queries {id, conv, ts, text,
//! gold}. MADial-Bench is published in this form.

use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::data::{Conversation, CorpusUnit, DataSet, Question, is_role};

#[derive(Deserialize)]
struct UnitLine {
    id: String,
    conv: String,
    #[serde(default)]
    session: String,
    ts: String,
    #[serde(default)]
    speaker: String,
    text: String,
}

#[derive(Deserialize)]
struct QueryLine {
    #[serde(default)]
    id: String,
    conv: String,
    ts: Option<String>,
    text: String,
    gold: Vec<String>,
    #[serde(default)]
    cat: String,
}

pub(crate) fn read(folder: &Path) -> anyhow::Result<DataSet> {
    let mut data = DataSet::default();
    for line in read_lines::<UnitLine>(&folder.join("units.jsonl"))? {
        let at = parse_time(&line.ts)?;
        let unit =
            CorpusUnit { id: line.id, session: line.session, at, speaker: line.speaker, text: line.text };
        conversation(&mut data, &line.conv).units.push(unit);
    }
    for line in read_lines::<QueryLine>(&folder.join("queries.jsonl"))? {
        let at = line.ts.as_deref().map(parse_time).transpose()?;
        let question = Question {
            id: line.id,
            text: line.text,
            gold: line.gold,
            gold_sessions: Vec::new(),
            category: line.cat,
            at,
        };
        conversation(&mut data, &line.conv).questions.push(question);
    }
    for conversation in &mut data.conversations {
        conversation.units.sort_by_key(|unit| unit.at);
        let mut speakers: Vec<String> = Vec::new();
        for unit in &conversation.units {
            if !speakers.contains(&unit.speaker) {
                speakers.push(unit.speaker.clone());
            }
        }
        // The speaker with a name is the user; the one with a role is the persona.
        speakers.sort_by_key(|speaker| is_persona_role(speaker));
        let mut speakers = speakers.into_iter();
        conversation.user = speakers.next().unwrap_or_default();
        conversation.persona = speakers.next().unwrap_or_default();
        conversation.named = true;
    }
    Ok(data)
}

/// True if a speaker has a role, and not the user's.
fn is_persona_role(name: &str) -> bool {
    is_role(name) && !["user", "human", "customer", "用户"].contains(&name.trim().to_lowercase().as_str())
}

fn conversation<'a>(data: &'a mut DataSet, id: &str) -> &'a mut Conversation {
    let place =
        data.conversations.iter().position(|conversation| conversation.id == id).unwrap_or_else(|| {
            data.conversations.push(Conversation { id: id.to_owned(), ..Conversation::default() });
            data.conversations.len() - 1
        });
    &mut data.conversations[place]
}

fn read_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let filled = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(number, line)| {
            serde_json::from_str(line).with_context(|| format!("{} line {}", path.display(), number + 1))
        })
        .collect()
}

/// Parses a time with its offset; without one, as UTC.
fn parse_time(text: &str) -> anyhow::Result<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let civil: DateTime = text.parse().with_context(|| format!("`{text}` is no time"))?;
    Ok(civil.to_zoned(TimeZone::UTC)?.timestamp())
}
