//! Formats of the published benchmarks, parsed and replayed into a real store, with the search for words alone.

use std::path::Path;

use eval::absence::add_foreign_questions;
use eval::data::{DataSet, is_role};
use eval::loading::read_data_set;
use eval::replay::{AnsweredQuestion, Replay};
use eval::report::Report;
use memory::recall::MESSAGE_SUPPORT_MIN;
use memory::recall::RecallSettings;
use memory::vector_index::VectorIndex;
use serde_json::json;
use store::{HomeStore, StoreOptions};

fn file(folder: &Path, name: &str, value: &serde_json::Value) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, value.to_string()).unwrap();
    path
}

async fn replay(data: &DataSet) -> Vec<AnsweredQuestion> {
    let folder = tempfile::tempdir().unwrap();
    let store = HomeStore::open(&folder.path().join("home.db"), StoreOptions::default()).unwrap();
    let (index, settings) = (VectorIndex::default(), RecallSettings::default());
    let replay = Replay { store: &store, index: &index, embedder: None, settings: &settings };
    let mut answered = Vec::new();
    for (number, conversation) in (1..).zip(&data.conversations) {
        answered.extend(replay.conversation(number, conversation, &mut |_, _| {}).await.unwrap());
    }
    store.close().await.unwrap();
    answered
}

fn longmemeval(folder: &Path) -> DataSet {
    let turn = |role: &str, content: &str, answers: bool| json!({"role": role, "content": content, "has_answer": answers});
    let asked = |id: &str| {
        json!({
            "question_id": id,
            "question_type": "single-session-user",
            "question": "Which violin did I buy?",
            "question_date": "2023/06/01 (Thu) 10:00",
            "answer": "a red one",
            "answer_session_ids": ["s2", "gone"],
            "haystack_session_ids": ["s1", "s2"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
            "haystack_sessions": [
                [turn("user", "I like rain", false), turn("assistant", "So do I", false)],
                [turn("user", "I bought a red violin", true), turn("assistant", "", false)],
            ],
        })
    };
    read_data_set("longmemeval", &file(folder, "lme.json", &json!([asked("q1"), asked("q1_abs")]))).unwrap()
}

#[tokio::test]
async fn longmemeval_is_read_and_measured_by_turn_and_by_session() {
    let folder = tempfile::tempdir().unwrap();
    let data = longmemeval(folder.path());
    assert_eq!((data.conversations.len(), data.unanswerable, data.dangling), (1, 1, 1));
    assert_eq!(data.conversations[0].units.len(), 3);
    let report = Report::new("longmemeval", "lme", &data, false, &replay(&data).await);
    assert_eq!((report.all.recall[&5], report.all.ndcg_10), (100.0, 100.0));
    assert_eq!(report.sessions.as_ref().map(|sessions| sessions.recall[&5]), Some(100.0));
    assert_eq!(report.by_category.keys().collect::<Vec<_>>(), ["single-session-user"]);
    assert!(report.table(None).contains("sessions"));
}

#[test]
fn another_format_is_refused_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "x.json", &json!([{"question": 7}]));
    let refused = format!("{:#}", read_data_set("longmemeval", &path).unwrap_err());
    assert!(refused.contains("x.json is not in LongMemEval's format"), "{refused}");
    assert!(read_data_set("locomo", &folder.path().join("none.json")).is_err());
}

fn locomo(folder: &Path) -> DataSet {
    let talk = |a: &str, b: &str, thing: &str| {
        json!({
            "sample_id": a,
            "conversation": {
                "speaker_a": a, "speaker_b": b,
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    {"speaker": a, "dia_id": "D1:1", "text": format!("I bought a {thing} at the market")},
                    {"speaker": b, "dia_id": "D1:2", "text": "How lovely, enjoy it"},
                ],
            },
            "qa": [
                {"question": format!("Where did {a} buy the {thing}?"), "evidence": ["D1:01"], "category": 4},
                {"question": format!("Where did {b} buy the {thing}?"), "evidence": ["D1:1"], "category": 5},
                {"question": "What is lost?", "evidence": ["D9:9"], "category": 1},
            ],
        })
    };
    let path = file(folder, "l.json", &json!([talk("Ann", "Ben", "trombone"), talk("Cleo", "Dan", "kayak")]));
    read_data_set("locomo", &path).unwrap()
}

#[tokio::test]
async fn locomo_is_repaired_and_its_absence_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = locomo(folder.path());
    assert_eq!((data.repaired, data.dangling), (2, 2));
    add_foreign_questions(&mut data);
    let answered = replay(&data).await;
    let report = Report::new("locomo", "l", &data, false, &answered);
    assert_eq!((report.all.questions, report.all.recall[&1]), (2, 100.0));
    assert_eq!(report.adversarial.as_ref().map(|figures| figures.questions), Some(2));
    let bound =
        report.absence.iter().find(|bound| (bound.support - MESSAGE_SUPPORT_MIN).abs() < 0.005).unwrap();
    assert_eq!((bound.denied, bound.recall), (0.0, 100.0), "{}", report.table(None));
}

#[tokio::test]
async fn runs_repeat_to_the_letter() {
    let folder = tempfile::tempdir().unwrap();
    let data = locomo(folder.path());
    let rankings = |answered: Vec<AnsweredQuestion>| -> Vec<String> {
        answered.iter().map(|one| serde_json::to_string(&one.ranked).unwrap()).collect()
    };
    let first = rankings(replay(&data).await);
    assert_eq!(first, rankings(replay(&data).await));
    assert!(first[0].starts_with(r#"{"id":"q1","conv":"Ann","#), "{}", first[0]);
}

#[tokio::test]
async fn the_last_run_is_compared_with() {
    let folder = tempfile::tempdir().unwrap();
    let data = locomo(folder.path());
    let report = Report::new("locomo", "l", &data, false, &replay(&data).await);
    let mut last = report.clone();
    last.all.mrr -= 2.5;
    assert!(report.table(Some(&last)).contains("MRR +2.5"));
}

fn lines(folder: &Path, units: &[serde_json::Value], queries: &[serde_json::Value]) -> DataSet {
    let text = |lines: &[serde_json::Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    std::fs::write(folder.join("units.jsonl"), text(units)).unwrap();
    std::fs::write(folder.join("queries.jsonl"), text(queries)).unwrap();
    read_data_set("jsonl", folder).unwrap()
}

fn unit(number: usize, day: usize, speaker: &str, text: &str) -> serde_json::Value {
    let ts =
        format!("2024-{:02}-{:02}T10:{:02}:{:02}", 1 + day / 28, 1 + day % 28, number / 60 % 60, number % 60);
    json!({"id": format!("u{number}"), "conv": "c", "session": format!("s{day}"), "ts": ts, "speaker": speaker, "text": text})
}

/// The real index is queried, with more rows for each word than are ever fetched for it at once.
#[tokio::test]
async fn the_only_line_with_both_words_is_found_behind_newer_ones_with_each() {
    let folder = tempfile::tempdir().unwrap();
    let mut units = vec![unit(0, 0, "Ann", "the violin is at the harbour")];
    units.extend((1..=1_300).map(|number| {
        let text = if number % 2 == 0 { "practised the violin" } else { "walked along the harbour" };
        unit(number, 1 + number / 10, "Ann", text)
    }));
    let asked = json!({"id": "q", "conv": "c", "ts": "2025-01-01T00:00:00", "text": "Is the violin at the harbour?", "gold": ["u0"]});
    let answered = replay(&lines(folder.path(), &units, &[asked])).await;
    assert_eq!(answered[0].ranked.ranking[0], "u0");
}

#[tokio::test]
async fn a_question_sees_only_what_was_said_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let units = [unit(0, 0, "Ann", "I bought a violin"), unit(1, 5, "Ann", "the violin broke")];
    let asked = |id: &str, day: usize| {
        let ts = format!("2024-01-{day:02}T00:00:00");
        json!({"id": id, "conv": "c", "ts": ts, "text": "What about the violin?", "gold": ["u0", "u1"]})
    };
    let data = lines(folder.path(), &units, &[asked("late", 20), asked("early", 3), asked("first", 1)]);
    let answered = replay(&data).await;
    let found = |place: usize| {
        let mut ids = answered[place].ranked.ranking.clone();
        ids.sort();
        ids
    };
    assert_eq!((answered[0].ranked.id.as_str(), found(0)), ("late", vec!["u0".to_owned(), "u1".to_owned()]));
    assert_eq!((found(1), found(2)), (vec!["u0".to_owned()], Vec::new()));
}

#[test]
fn a_unit_that_is_too_long_is_cut_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let long = "猫".repeat(20_001);
    let units = [unit(0, 0, "Ann", &long), unit(1, 1, "Ann", "short")];
    let asked = json!({"id": "q", "conv": "c", "text": "猫", "gold": ["u0"]});
    let data = lines(folder.path(), &units, &[asked]);
    assert_eq!((data.cut, data.conversations[0].units[0].text.chars().count()), (1, 20_000));
    let report = Report::new("jsonl", "c", &data, false, &[]);
    assert!(report.table(None).contains("1 units have more than 20000 characters"), "{}", report.table(None));
}

#[test]
fn a_role_is_no_name_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let units = [unit(0, 0, "Assistant", "hello"), unit(1, 0, "Ann", "hi"), unit(2, 0, "Assistant", "well")];
    let data = lines(folder.path(), &units, &[]);
    let talk = &data.conversations[0];
    assert_eq!((talk.user.as_str(), talk.persona.as_str()), ("Ann", "Assistant"));
    assert!(is_role("Assistant") && is_role(" 助手") && !is_role("Ann"));
}
