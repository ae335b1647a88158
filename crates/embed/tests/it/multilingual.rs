//! The multilingual model: its vectors against the definition (`fixtures/make_e5_reference.py`), and how well they
//! separate texts.

use std::path::PathBuf;

use embed::{FolderSettings, MULTILINGUAL_E5_SMALL, Model, ModelFolder, model_files};
use serde_json::Value;

use crate::model::cosine;

/// The folder that `make model` fills, or the one in `ECHOVESSEL_MULTILINGUAL_MODEL_DIR`.
pub(crate) fn directory() -> PathBuf {
    let directory = std::env::var_os("ECHOVESSEL_MULTILINGUAL_MODEL_DIR").map_or_else(
        || {
            let models = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.cache/models");
            models.join(MULTILINGUAL_E5_SMALL.name)
        },
        PathBuf::from,
    );
    if let Err(error) = model_files::check_present(&directory, &MULTILINGUAL_E5_SMALL) {
        panic!("{error}: run `make model`, or set ECHOVESSEL_MULTILINGUAL_MODEL_DIR");
    }
    directory
}

pub(crate) fn open(threads: usize) -> Model {
    Model::open(&directory(), threads).unwrap()
}

fn numbers(value: &Value) -> Vec<f32> {
    let numbers: Vec<f32> =
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect();
    let length = cosine(&numbers, &numbers).sqrt() as f32;
    numbers.into_iter().map(|number| number / length).collect()
}

#[test]
fn the_models_own_file_is_the_pinned_one() {
    model_files::verify(&directory(), &MULTILINGUAL_E5_SMALL).unwrap();
}

#[test]
fn vectors_agree_with_the_definition() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../fixtures/reference_e5.json")).unwrap();
    assert!(rows.len() >= 20);
    let settings = FolderSettings { uncalibrated: true, ..FolderSettings::default() };
    let folder = ModelFolder::read(&directory(), &settings).unwrap();
    assert_ne!(folder.fingerprint(), MULTILINGUAL_E5_SMALL.fingerprint);
    let model = Model::open_folder(folder, 1).unwrap();
    let texts: Vec<&str> = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    for (kind, embeddings) in
        [("query", model.embed_queries(&texts).unwrap()), ("passage", model.embed(&texts).unwrap())]
    {
        assert_eq!(embeddings.len(), rows.len());
        for (row, embedding) in rows.iter().zip(&embeddings) {
            let agreement = cosine(&numbers(&row[kind]), &embedding.vector);
            assert!(agreement >= 0.999_999, "{kind} {}: cosine {agreement}", row["text"]);
        }
    }
}

#[test]
fn vectors_depend_neither_on_threads_nor_on_batch_mates() {
    let texts = ["用户养了一只白猫,叫小黑。", "my cat", &"我们一起去海边散步。".repeat(12)];
    let expected = open(1).embed(&texts).unwrap();
    assert_eq!(open(2).embed(&texts).unwrap(), expected);
    assert_eq!(open(1).embed(&texts[..1]).unwrap(), expected[..1]);
}

#[test]
fn unrelated_texts_are_far_apart_and_a_question_finds_its_answer_in_the_other_language() {
    let model = open(1);
    let memories = [
        "用户养了一只白猫,叫小黑。",
        "The user is allergic to peanuts.",
        "用户下个月要去里斯本出差。",
        "The user's sister plays the violin.",
    ];
    let questions =
        ["Do you remember my cat?", "我对什么过敏?", "When do I travel to Lisbon?", "谁会拉小提琴?"];
    let (memories, questions) = (model.embed(&memories).unwrap(), model.embed_queries(&questions).unwrap());
    for (at, question) in questions.iter().enumerate() {
        let near: Vec<f64> = memories.iter().map(|memory| cosine(&question.vector, &memory.vector)).collect();
        let best = near.iter().copied().fold(f64::MIN, f64::max);
        assert_eq!(near[at], best, "question {at}: {near:?}");
        for (other, cosine) in near.iter().enumerate().filter(|(other, _)| *other != at) {
            assert!(*cosine < 0.28, "question {at} and memory {other}: {cosine}");
        }
    }
}

#[test]
fn the_scripts_in_the_description_are_those_of_the_pieces() {
    let model = open(1);
    let embeddings = model.embed(&["我的猫", "my cat", "кошка", "قطة", "ねこ", "고양이", "", "𓀀𓁐"]).unwrap();
    let found: Vec<f32> = embeddings.iter().map(|embedding| embedding.readability).collect();
    assert_eq!(found, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
}
