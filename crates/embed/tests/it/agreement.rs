//! The vectors are the same as those of the original implementation (`fixtures/make_reference.py`), independent of
//! the other texts of the batch.

use serde_json::Value;

use crate::model::{cosine, open};

fn reference() -> Vec<(String, Vec<f32>)> {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../fixtures/reference.json")).unwrap();
    rows.into_iter()
        .map(|row| {
            let vector =
                row["vector"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
            (row["text"].as_str().unwrap().to_owned(), vector)
        })
        .collect()
}

#[test]
fn every_vector_agrees_with_the_original() {
    let reference = reference();
    assert!(reference.len() >= 50);
    let texts: Vec<&str> = reference.iter().map(|(text, _)| text.as_str()).collect();
    let embeddings = open(1).embed(&texts).unwrap();
    assert_eq!(embeddings.len(), texts.len());
    for ((text, expected), embedding) in reference.iter().zip(&embeddings) {
        let agreement = cosine(expected, &embedding.vector);
        assert!(agreement >= 0.999_999, "{text:?}: cosine {agreement}");
        let length = cosine(&embedding.vector, &embedding.vector).sqrt();
        assert!((length - 1.0).abs() < 1e-6, "{text:?}: length {length}");
    }
}

/// The example in the documentation of the original, with two digits more than it prints.
#[test]
fn similarities_are_the_documented_ones() {
    let texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."];
    let embeddings = open(1).embed(&texts).unwrap();
    for (a, b, expected) in [(0, 1, 0.6660), (0, 2, 0.1046), (1, 2, 0.1411)] {
        let found = cosine(&embeddings[a].vector, &embeddings[b].vector);
        assert!((found - expected).abs() < 1e-4, "{} · {} = {found}", texts[a], texts[b]);
    }
}

#[test]
fn a_vector_does_not_depend_on_its_batch_mates() {
    let model = open(1);
    let reference = reference();
    // Short and long texts: each is computed three times.
    let texts: Vec<&str> = reference.iter().step_by(4).map(|(text, _)| text.as_str()).collect();
    let together = model.embed(&texts).unwrap();
    let mut reversed: Vec<&str> = texts.clone();
    reversed.reverse();
    let mut backwards = model.embed(&reversed).unwrap();
    backwards.reverse();
    assert_eq!(together, backwards);
    for (text, embedding) in texts.iter().zip(&together) {
        assert_eq!(model.embed(&[text]).unwrap(), std::slice::from_ref(embedding), "{text:?}");
    }
}

#[test]
fn a_vector_does_not_depend_on_the_number_of_threads() {
    let reference = reference();
    let texts: Vec<&str> = reference.iter().skip(1).step_by(4).map(|(text, _)| text.as_str()).collect();
    let expected = open(1).embed(&texts).unwrap();
    for threads in [2, 5] {
        assert_eq!(open(threads).embed(&texts).unwrap(), expected, "{threads} threads");
    }
}

#[test]
fn text_beyond_the_limit_is_not_seen() {
    let model = open(1);
    let long = "word ".repeat(254);
    let embeddings = model.embed(&[&long, &format!("{long} and a cat"), &long.repeat(10_000)]).unwrap();
    assert_eq!(embeddings[0].vector, embeddings[1].vector);
    assert_eq!(embeddings[0].vector, embeddings[2].vector);
    let shorter = model.embed(&[&"word ".repeat(253)]).unwrap();
    assert_ne!(embeddings[0].vector, shorter[0].vector);
}
