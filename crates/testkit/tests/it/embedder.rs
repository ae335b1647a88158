use memory::ports::{EmbedError, Embedder, Embedding};
use testkit::WordHashEmbedder;

async fn embed(embedder: &WordHashEmbedder, text: &str) -> Embedding {
    embedder.embed(&[text.to_owned()]).await.unwrap().remove(0)
}

fn cosine(a: &Embedding, b: &Embedding) -> f32 {
    a.vector.iter().zip(&b.vector).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn texts_with_more_words_in_common_are_nearer() {
    let embedder = WordHashEmbedder::new();
    let cat = embed(&embedder, "My white cat is called Snow").await;
    let same_words = embed(&embedder, "snow, called IS cat white my!").await;
    let near = embed(&embedder, "the white cat").await;
    let far = embed(&embedder, "taxes were due in April").await;
    assert!((cosine(&cat, &same_words) - 1.0).abs() < 1e-6);
    assert!(cosine(&cat, &near) > 0.3 && cosine(&cat, &near) > cosine(&cat, &far) + 0.2);

    let chinese = embed(&embedder, "我养了只白猫").await;
    assert!(cosine(&chinese, &embed(&embedder, "白猫").await) > 0.3);
}

#[tokio::test]
async fn every_vector_has_unit_length() {
    let embedder = WordHashEmbedder::new();
    for text in ["", "  …!", "a", "one two three one", "白猫 snow", &"word ".repeat(10_000)] {
        let embedding = embed(&embedder, text).await;
        assert_eq!(embedding.vector.len(), embedder.dimension());
        assert!((cosine(&embedding, &embedding) - 1.0).abs() < 1e-5, "{text}");
    }
}

#[tokio::test]
async fn readability_is_the_share_that_is_not_cjk_unless_set() {
    let embedder = WordHashEmbedder::new();
    for (text, share) in [("plain text", 1.0), ("白猫", 0.0), ("白猫 ab", 0.5), ("", 1.0), ("cześć", 1.0)]
    {
        assert_eq!(embed(&embedder, text).await.readability, share, "{text}");
    }
    assert_eq!(embed(&WordHashEmbedder::new().with_readability(0.25), "text").await.readability, 0.25);
}

#[tokio::test]
async fn it_fails_on_request_and_records_every_call() {
    let embedder = WordHashEmbedder::new().with_fingerprint("other");
    let failure = EmbedError::Failed("out of memory".to_owned());
    embedder.fail_with(Some(failure.clone()));
    assert_eq!(embedder.embed(&["a".to_owned()]).await, Err(failure));
    embedder.fail_with(None);
    assert!(embedder.embed(&[]).await.unwrap().is_empty());
    assert_eq!(embedder.recorded_calls(), [vec!["a".to_owned()], vec![]]);
    assert_eq!(embedder.fingerprint(), "other");
}
