//! Models other than the default one: each family against its definition, and models that can't be computed.

use std::fs;
use std::path::Path;

use embed::{FolderSettings, LocalEmbedder, Model, ModelError, ModelFolder};
use memory::ports::Embedder;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::model;
use crate::tiny_model::{HIDDEN, Kind, TinyModel, byte_pairs, unigram, word_pieces};

/// The model's vector of `text` is the vector of these pieces.
fn agrees(tiny: &TinyModel, text: &str, pieces: &[&str]) {
    let folder = tempdir().unwrap();
    tiny.write(folder.path());
    let model = Model::open(folder.path(), 1).unwrap();
    assert_eq!(model.dimension(), HIDDEN);
    let expected = tiny.multiply_by_definition(&tiny.ids(pieces));
    let embedded = model.embed(&["another text", text]).unwrap().remove(1);
    for (found, expected) in embedded.vector.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-4, "{:?}: {found} is not {expected}", tiny.kind);
    }
}

#[test]
fn bert_with_word_pieces_of_several_languages() {
    let mut tiny = TinyModel::new(Kind::Bert, word_pieces(), 1);
    agrees(&tiny, "My cats sleep.", &["[CLS]", "my", "cat", "##s", "sleep", ".", "[SEP]"]);
    agrees(&tiny, "我的猫", &["[CLS]", "我", "的", "猫", "[SEP]"]);
    agrees(&tiny, "котик спит", &["[CLS]", "кот", "##ик", "спит", "[SEP]"]);
    tiny.cls = true;
    agrees(&tiny, "My cats sleep.", &["[CLS]", "my", "cat", "##s", "sleep", ".", "[SEP]"]);
}

#[test]
fn bert_inside_another_model_with_short_numbers() {
    let mut tiny = TinyModel::new(Kind::BertInside, word_pieces(), 2);
    tiny.brain = true;
    agrees(&tiny, "my cat", &["[CLS]", "my", "cat", "[SEP]"]);
}

#[test]
fn xlm_roberta_with_a_unigram_vocabulary() {
    let tiny = TinyModel::new(Kind::XlmRoberta, unigram(), 3);
    agrees(&tiny, "my cats", &["<s>", "▁my", "▁cat", "s", "</s>"]);
    agrees(&tiny, "котик 我的猫", &["<s>", "▁кот", "ик", "▁", "我的", "猫", "</s>"]);
}

#[test]
fn roberta_with_byte_pairs() {
    let tiny = TinyModel::new(Kind::XlmRoberta, byte_pairs(), 4);
    agrees(&tiny, "my cats", &["<s>", "my", "Ġcat", "s", "</s>"]);
    agrees(&tiny, "猫", &["<s>", "ç", "Į", "«", "</s>"]);
}

#[test]
fn distilbert_and_other_activations() {
    let mut tiny = TinyModel::new(Kind::DistilBert, word_pieces(), 5);
    agrees(&tiny, "my cats", &["[CLS]", "my", "cat", "##s", "[SEP]"]);
    for activation in ["gelu_new", "relu"] {
        tiny.activation = activation;
        agrees(&tiny, "my cats", &["[CLS]", "my", "cat", "##s", "[SEP]"]);
    }
}

#[test]
fn long_texts_are_cut_before_the_end_token() {
    let folder = tempdir().unwrap();
    let tiny = TinyModel::new(Kind::Bert, word_pieces(), 6);
    tiny.write(folder.path());
    let long = ["my"; 40].join(" ");
    let cut = |kept: usize| {
        let expected =
            tiny.multiply_by_definition(&tiny.ids(&[&["[CLS]"], &vec!["my"; kept][..], &["[SEP]"]].concat()));
        let found = Model::open(folder.path(), 1).unwrap().embed(&[&long]).unwrap().remove(0).vector;
        found.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4)
    };
    assert!(cut(22), "as many as there are positions");
    fs::write(folder.path().join("sentence_bert_config.json"), r#"{"max_seq_length": 6}"#).unwrap();
    assert!(cut(4), "as many as the file says");
    let cased = TinyModel::new(Kind::XlmRoberta, unigram(), 6);
    let other = tempdir().unwrap();
    cased.write(other.path());
    let vector = |text: &str| Model::open(other.path(), 1).unwrap().embed(&[text]).unwrap().remove(0).vector;
    assert_ne!(vector("My Cats"), vector("my cats"));
    fs::write(other.path().join("sentence_bert_config.json"), r#"{"do_lower_case": true}"#).unwrap();
    assert_eq!(vector("My Cats"), vector("my cats"));
}

#[test]
fn readability_is_the_share_that_the_vocabulary_knows() {
    let folder = tempdir().unwrap();
    TinyModel::new(Kind::Bert, word_pieces(), 7).write(folder.path());
    let model = Model::open(folder.path(), 1).unwrap();
    assert_eq!(model.readable_scripts(), ["Cyrillic", "Han", "Latin"]);
    let texts = ["my cat", "我的猫", "котик", "我的狗", "γάτα", "用户怀孕了", "2024"];
    let found: Vec<f32> =
        model.embed(&texts).unwrap().iter().map(|embedding| embedding.readability).collect();
    assert_eq!(found, [1.0, 1.0, 1.0, 2.0 / 3.0, 0.0, 1.0, 0.0]);
    let settings = FolderSettings { readable_scripts: vec!["Latin".to_owned()], ..FolderSettings::default() };
    let latin = Model::open_folder(ModelFolder::read(folder.path(), &settings).unwrap(), 1).unwrap();
    assert_eq!(latin.embed(&["我的猫"]).unwrap()[0].readability, 0.0);
}

/// The known result for the evidence in the default model's vocabulary.
#[test]
fn by_its_vocabulary_alone_the_default_model_is_an_english_one() {
    let folder = tempdir().unwrap();
    let tokenizer: Value =
        serde_json::from_slice(&fs::read(model::directory().join("tokenizer.json")).unwrap()).unwrap();
    TinyModel::new(Kind::Bert, tokenizer, 8).write(folder.path());
    assert_eq!(Model::open(folder.path(), 1).unwrap().readable_scripts(), ["Latin"]);
}

#[test]
fn queries_and_passages_have_the_prefixes_of_the_files_or_of_the_settings() {
    let folder = tempdir().unwrap();
    let tiny = TinyModel::new(Kind::Bert, word_pieces(), 9);
    tiny.write(folder.path());
    let with_prefix = |prefix: &[&str]| {
        let pieces = [&["[CLS]"], prefix, &["my", "cat", "[SEP]"]].concat();
        tiny.multiply_by_definition(&tiny.ids(&pieces))
    };
    let (query, passage, plain) =
        (with_prefix(&["query", ":"]), with_prefix(&["passage", ":"]), with_prefix(&[]));
    let near = |found: &[f32], expected: &[f64]| {
        found.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4)
    };
    let open = |settings: &FolderSettings| {
        Model::open_folder(ModelFolder::read(folder.path(), settings).unwrap(), 1).unwrap()
    };
    let none = open(&FolderSettings::default());
    assert!(near(&none.embed_queries(&["my cat"]).unwrap()[0].vector, &plain));
    let prompts =
        json!({"prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": null});
    fs::write(folder.path().join("config_sentence_transformers.json"), prompts.to_string()).unwrap();
    let model = open(&FolderSettings::default());
    assert!(near(&model.embed_queries(&["my cat"]).unwrap()[0].vector, &query));
    assert!(near(&model.embed(&["my cat"]).unwrap()[0].vector, &passage));
    assert_eq!(
        model.embed(&["我的狗"]).unwrap()[0].readability,
        2.0 / 3.0,
        "a prefix makes nothing readable"
    );
    let settings = FolderSettings { passage_prefix: Some(String::new()), ..FolderSettings::default() };
    assert!(near(&open(&settings).embed(&["my cat"]).unwrap()[0].vector, &plain));
}

#[test]
fn a_fingerprint_names_what_vectors_depend_on_and_not_where_the_folder_is() {
    let home = tempdir().unwrap();
    let fingerprint = |place: &str, tiny: &TinyModel, settings: &FolderSettings| {
        let folder = home.path().join(place);
        tiny.write(&folder);
        ModelFolder::read(&folder, settings).unwrap().fingerprint().to_owned()
    };
    let plain = FolderSettings::default();
    let mut tiny = TinyModel::new(Kind::Bert, word_pieces(), 10);
    let first = fingerprint("here", &tiny, &plain);
    assert_eq!(first, fingerprint("there", &tiny, &plain));
    assert!(first.ends_with("/mean/24/64"), "{first}");
    let prefixed = FolderSettings { query_prefix: Some("query: ".to_owned()), ..plain.clone() };
    let reading = FolderSettings { readable_scripts: vec!["Latin".to_owned()], ..plain.clone() };
    let mut others = vec![fingerprint("here", &tiny, &prefixed), fingerprint("here", &tiny, &reading)];
    tiny.cls = true;
    others.push(fingerprint("here", &tiny, &plain));
    others.push(fingerprint("here", &TinyModel::new(Kind::Bert, word_pieces(), 11), &plain));
    for (place, other) in others.iter().enumerate() {
        assert!(*other != first && !others[..place].contains(other), "{other}");
    }
}

#[test]
fn unsupported_models_are_refused_with_file_and_key() {
    let told = |change: &dyn Fn(&Path)| {
        let folder = tempdir().unwrap();
        TinyModel::new(Kind::Bert, word_pieces(), 12).write(folder.path());
        change(folder.path());
        match Model::open(folder.path(), 1) {
            Err(error @ (ModelError::Unusable { .. } | ModelError::Missing { .. })) => error.to_string(),
            other => panic!("{:?}", other.err()),
        }
    };
    let config = |key: &str, value: Value| {
        let mut config = TinyModel::new(Kind::Bert, word_pieces(), 12).config();
        config[key] = value;
        told(&|folder| fs::write(folder.join("config.json"), config.to_string()).unwrap())
    };
    for (key, value) in [
        ("model_type", json!("t5")),
        ("position_embedding_type", json!("relative_key")),
        ("hidden_act", json!("swish")),
        ("num_attention_heads", json!(3)),
        ("num_hidden_layers", json!(0)),
        ("hidden_size", json!("many")),
    ] {
        let error = config(key, value);
        assert!(error.contains("config.json") && error.contains(key), "{error}");
    }
    let error = config("num_hidden_layers", json!(3));
    assert!(error.contains("model.safetensors") && error.contains("encoder.layer.2"), "{error}");
    let written = |name: &'static str, content: Value| {
        told(&move |folder| fs::write(folder.join(name), content.to_string()).unwrap())
    };
    let modules = json!([{"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]);
    let error = written("modules.json", modules);
    assert!(error.contains("modules.json") && error.contains("Dense"), "{error}");
    let error = written("1_Pooling/config.json", json!({"pooling_mode_max_tokens": true}));
    assert!(error.contains("1_Pooling") && error.contains("pooling_mode_max_tokens"), "{error}");
    let error = told(&|folder| fs::remove_file(folder.join("config.json")).unwrap());
    assert!(error.contains("without config.json"), "{error}");
    let error = told(&|folder| {
        TinyModel::new(Kind::Bert, word_pieces(), 12)
            .without("encoder.layer.1.output.dense.bias")
            .write(folder)
    });
    assert!(error.contains("encoder.layer.1.output.dense.bias"), "{error}");
    let error = told(&|folder| {
        let mut larger = word_pieces();
        larger["model"]["vocab"]["dog"] = json!(23);
        fs::write(folder.join("tokenizer.json"), larger.to_string()).unwrap();
    });
    assert!(error.contains("tokenizer.json") && error.contains("dog"), "{error}");
}

#[tokio::test]
async fn an_embedder_can_be_opened_again_from_its_source() {
    let folder = tempdir().unwrap();
    TinyModel::new(Kind::XlmRoberta, unigram(), 13).write(folder.path());
    let settings = FolderSettings { query_prefix: Some("我".to_owned()), ..FolderSettings::default() };
    let embedder = LocalEmbedder::with_settings(folder.path(), settings, 1);
    assert_eq!((embedder.fingerprint(), embedder.dimension()), ("", 0));
    let fingerprint = embedder.identify().await.unwrap();
    assert_eq!((embedder.fingerprint(), embedder.dimension()), (fingerprint.as_str(), HIDDEN));
    let again = LocalEmbedder::from_source(&embedder.source().unwrap(), 1).unwrap();
    assert_eq!(again.identify().await.unwrap(), fingerprint);
    let texts = ["my cats".to_owned()];
    assert_eq!(again.embed_queries(&texts).await.unwrap(), embedder.embed_queries(&texts).await.unwrap());
    assert_ne!(embedder.embed(&texts).await.unwrap(), embedder.embed_queries(&texts).await.unwrap());
    assert!(LocalEmbedder::from_source("{}", 1).is_none());
}
