//! The implementation of the port: it loads on demand and reports a missing model.

use std::path::Path;

use embed::{ALL_MINILM_L6_V2, LocalEmbedder, Model, ModelError};
use futures_util::future::join_all;
use memory::ports::{EmbedError, Embedder};

use crate::model;

#[tokio::test]
async fn embeds_in_order_with_the_promised_dimension() {
    let embedder = LocalEmbedder::new(model::directory(), 1);
    let texts = ["a white cat".to_owned(), "the stock market".to_owned(), "a kitten".to_owned()];
    let embeddings = embedder.embed(&texts).await.unwrap();
    assert!(embeddings.iter().all(|embedding| embedding.vector.len() == embedder.dimension()));
    let alike = model::cosine(&embeddings[0].vector, &embeddings[2].vector);
    let apart = model::cosine(&embeddings[0].vector, &embeddings[1].vector);
    assert!(alike > apart + 0.3, "cat and kitten {alike}, cat and market {apart}");
    assert_eq!(embedder.embed(&[]).await.unwrap(), []);
}

#[tokio::test]
async fn a_model_that_arrives_later_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = LocalEmbedder::new(folder.path(), 1);
    let texts = ["a white cat".to_owned()];
    let Err(EmbedError::Unavailable(reason)) = embedder.embed(&texts).await else {
        panic!("there is no model")
    };
    assert!(reason.contains("model.safetensors"), "{reason}");
    link_model(folder.path());
    assert_eq!(embedder.embed(&texts).await.unwrap().len(), 1);
}

/// Copies the two files of the real model into a folder.
fn link_model(folder: &Path) {
    for file in ALL_MINILM_L6_V2.files {
        let source = model::directory().join(file.name);
        let target = folder.join(file.name);
        std::fs::hard_link(&source, &target).or_else(|_| std::fs::copy(&source, &target).map(drop)).unwrap();
    }
}

#[test]
fn the_number_of_heads_comes_from_the_configuration_beside_the_weights() {
    let folder = tempfile::tempdir().unwrap();
    link_model(folder.path());
    let plain = Model::open(folder.path(), 1).unwrap();
    let configure = |heads: u32| {
        let json = format!(
            r#"{{"num_attention_heads":{heads},"layer_norm_eps":1e-12,"model_type":"bert","hidden_size":384,
                "num_hidden_layers":6,"max_position_embeddings":512}}"#
        );
        std::fs::write(folder.path().join("config.json"), json).unwrap();
        Model::open(folder.path(), 1)
    };
    let texts = ["a white cat"];
    assert_eq!(configure(12).unwrap().embed(&texts).unwrap(), plain.embed(&texts).unwrap());
    assert_ne!(configure(6).unwrap().embed(&texts).unwrap(), plain.embed(&texts).unwrap());
    for heads in [0, 5, 24] {
        let error = configure(heads).err().unwrap();
        assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
    }
}

#[tokio::test]
async fn callers_at_the_same_time_get_their_own_answers() {
    let embedder = LocalEmbedder::new(model::directory(), 1);
    let texts: Vec<Vec<String>> = (0..12).map(|index| vec![format!("sentence number {index}")]).collect();
    let answers = join_all(texts.iter().map(|text| embedder.embed(text))).await;
    for (text, answer) in texts.iter().zip(answers) {
        assert_eq!(embedder.embed(text).await.unwrap(), answer.unwrap());
    }
}

#[tokio::test]
async fn a_damaged_model_fails_with_the_file_and_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.safetensors"), b"\x10\0\0\0\0\0\0\0{\"cut\":").unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), b"{}").unwrap();
    let embedder = LocalEmbedder::new(folder.path(), 1);
    let Err(EmbedError::Failed(reason)) = embedder.embed(&["x".to_owned()]).await else {
        panic!("it is damaged")
    };
    assert!(reason.contains("model.safetensors"), "{reason}");
}

/// While a long batch is computed, a request of a turn is answered before the batch is done.
#[tokio::test]
async fn a_query_does_not_wait_behind_a_batch() {
    let embedder = std::sync::Arc::new(LocalEmbedder::new(model::directory(), 2));
    embedder.load_now().unwrap();
    let batch = tokio::spawn({
        let embedder = embedder.clone();
        let texts: Vec<String> =
            (0..24).map(|number| format!("{number} ") + &"a long text ".repeat(80)).collect();
        async move { embedder.embed(&texts).await }
    });
    let asked = ["is it there?".to_owned()];
    let mut alone = Vec::new();
    for _ in 0..3 {
        tokio::task::yield_now().await;
        alone.push(embedder.embed_queries(&asked).await.unwrap().remove(0));
    }
    assert!(!batch.is_finished(), "three queries were answered in the meantime");
    assert_eq!(batch.await.unwrap().unwrap().len(), 24);
    assert_eq!(alone[0], embedder.embed(&asked).await.unwrap()[0], "the batch's lane gives the same vector");
}
