//! LongMemEval: questions, each with its own history of sessions with an assistant.

use std::path::Path;

use anyhow::{Context as _, bail};
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::data::{Conversation, CorpusUnit, DataSet, Question};

/// Time between two turns of a session: the data only has the time of the session.
const TURN_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// Suffix of the ids of questions to which the answer is that nothing is known.
const ABSTENTION_SUFFIX: &str = "_abs";

#[derive(Deserialize)]
struct RawQuestion {
    question_id: String,
    question_type: String,
    question: String,
    question_date: String,
    haystack_session_ids: Vec<String>,
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    #[serde(default)]
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
    #[serde(default)]
    has_answer: bool,
}

pub(crate) fn read(path: &Path) -> anyhow::Result<DataSet> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} can't be read", path.display()))?;
    let asked: Vec<RawQuestion> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not in LongMemEval's format", path.display()))?;
    let mut data = DataSet::default();
    for asked in asked {
        if asked.question_id.ends_with(ABSTENTION_SUFFIX) {
            data.unanswerable += 1;
            continue;
        }
        let id = asked.question_id.clone();
        let conversation = conversation(asked, &mut data).with_context(|| format!("question {id}"))?;
        data.conversations.push(conversation);
    }
    Ok(data)
}

fn conversation(asked: RawQuestion, data: &mut DataSet) -> anyhow::Result<Conversation> {
    let sessions = asked.haystack_sessions.len();
    if asked.haystack_dates.len() != sessions || asked.haystack_session_ids.len() != sessions {
        bail!(
            "{sessions} sessions have {} dates and {} ids",
            asked.haystack_dates.len(),
            asked.haystack_session_ids.len()
        );
    }
    let (mut units, mut gold) = (Vec::new(), Vec::new());
    let dated = asked.haystack_session_ids.iter().zip(&asked.haystack_dates).zip(asked.haystack_sessions);
    for (place, ((session, date), turns)) in dated.enumerate() {
        let mut at = parse_time(date)?;
        for (number, turn) in turns.into_iter().enumerate() {
            // A session may occur twice in a history; its position distinguishes its turns.
            let id = format!("{place}:{session}#{}", number + 1);
            if turn.has_answer {
                gold.push(id.clone());
            }
            units.push(CorpusUnit {
                id,
                session: session.clone(),
                at,
                speaker: turn.role,
                text: turn.content,
            });
            at += TURN_INTERVAL;
        }
    }
    // The data has empty turns, which can't be captured.
    units.retain(|unit| !unit.text.trim().is_empty());
    let known = |session: &String| units.iter().any(|unit| unit.session == *session);
    let named = asked.answer_session_ids.len();
    let gold_sessions: Vec<String> = asked.answer_session_ids.into_iter().filter(known).collect();
    data.dangling += named - gold_sessions.len();
    units.sort_by_key(|unit| unit.at);
    let at = Some(parse_time(&asked.question_date)?);
    let question = Question {
        id: asked.question_id.clone(),
        text: asked.question,
        gold,
        gold_sessions,
        category: asked.question_type,
        at,
    };
    Ok(Conversation {
        id: asked.question_id,
        user: "user".to_owned(),
        persona: "assistant".to_owned(),
        named: false,
        units,
        questions: vec![question],
    })
}

/// Parses `2023/05/20 (Sat) 02:21` as UTC. The weekday is ignored: in the data it is sometimes wrong.
fn parse_time(text: &str) -> anyhow::Result<Timestamp> {
    let bare: String =
        text.split_whitespace().filter(|part| !part.starts_with('(')).collect::<Vec<_>>().join(" ");
    let broken = strtime::parse("%Y/%m/%d %H:%M", &bare).with_context(|| format!("`{text}` is no time"))?;
    let civil: DateTime = broken.to_datetime()?;
    Ok(civil.to_zoned(TimeZone::UTC)?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_published() {
        assert_eq!(parse_time("2023/05/20 (Sat) 02:21").unwrap().to_string(), "2023-05-20T02:21:00Z");
        assert!(parse_time("20 May").is_err());
    }
}
