//! Download of the model over HTTP from a hub with faults.

use std::path::Path;

use embed::ModelError;
use embed::download::{Progress, download};
use embed::model_files::verify;
use tempfile::{TempDir, tempdir};

use crate::hub::{Answer, Hub, small_model, tokenizer, weights};

async fn fetch(hub: &Hub, folder: &TempDir) -> Result<(), ModelError> {
    download(&hub.url, folder.path(), small_model(), &mut |_| ()).await
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn brings_both_files_and_tells_how_far_it_is() {
    let (hub, folder) = (Hub::start(vec![]).await, tempdir().unwrap());
    let target = folder.path().join("models/small");
    let mut told: Vec<Progress> = Vec::new();
    download(&hub.url, &target, small_model(), &mut |progress| told.push(progress)).await.unwrap();
    verify(&target, small_model()).unwrap();
    assert_eq!(names(&target), ["model.safetensors", "tokenizer.json"]);
    assert_eq!(hub.requests(), ["model.safetensors", "tokenizer.json"]);
    let weights_told: Vec<u64> =
        told.iter().filter(|told| told.file == "model.safetensors").map(|told| told.received).collect();
    assert!(weights_told.is_sorted() && weights_told[0] == 0);
    assert_eq!(weights_told.last(), Some(&(weights().len() as u64)));
    assert!(told.iter().all(|told| told.received <= told.total));
}

#[tokio::test]
async fn goes_on_where_the_connection_was_cut() {
    let (hub, folder) = (Hub::start(vec![Answer::CutAfter(123_456)]).await, tempdir().unwrap());
    let error = fetch(&hub, &folder).await.unwrap_err();
    assert!(matches!(error, ModelError::Download { .. }), "{error}");
    assert_eq!(names(folder.path()), ["model.safetensors.part"]);
    assert_eq!(std::fs::read(folder.path().join("model.safetensors.part")).unwrap(), weights()[..123_456]);
    fetch(&hub, &folder).await.unwrap();
    assert_eq!(hub.requests(), ["model.safetensors", "model.safetensors from 123456", "tokenizer.json"]);
    assert_eq!(std::fs::read(folder.path().join("model.safetensors")).unwrap(), weights());
    assert_eq!(names(folder.path()), ["model.safetensors", "tokenizer.json"]);
}

#[tokio::test]
async fn starts_again_when_the_server_can_not_begin_in_the_middle() {
    let (hub, folder) = (Hub::start(vec![Answer::IgnoreRange]).await, tempdir().unwrap());
    std::fs::write(folder.path().join("model.safetensors.part"), &weights()[..1_000]).unwrap();
    fetch(&hub, &folder).await.unwrap();
    assert_eq!(hub.requests()[0], "model.safetensors from 1000");
    verify(folder.path(), small_model()).unwrap();
}

#[tokio::test]
async fn refuses_a_rest_that_was_not_asked_for() {
    let (hub, folder) = (Hub::start(vec![Answer::WrongRange]).await, tempdir().unwrap());
    std::fs::write(folder.path().join("model.safetensors.part"), &weights()[..1_000]).unwrap();
    let error = fetch(&hub, &folder).await.unwrap_err();
    assert!(matches!(error, ModelError::Download { .. }), "{error}");
    assert_eq!(std::fs::read(folder.path().join("model.safetensors.part")).unwrap(), weights()[..1_000]);
}

#[tokio::test]
async fn a_part_that_was_wrong_from_the_start_is_removed() {
    let (hub, folder) = (Hub::start(vec![]).await, tempdir().unwrap());
    std::fs::write(folder.path().join("model.safetensors.part"), [0; 1_000]).unwrap();
    let error = fetch(&hub, &folder).await.unwrap_err();
    assert!(matches!(error, ModelError::WrongDigest { file: "model.safetensors", .. }), "{error}");
    assert!(names(folder.path()).is_empty());
    fetch(&hub, &folder).await.unwrap();
}

#[tokio::test]
async fn installs_nothing_when_a_file_is_another() {
    let (hub, folder) =
        (Hub::start(vec![Answer::Honest, Answer::Other(tokenizer().len())]).await, tempdir().unwrap());
    let error = fetch(&hub, &folder).await.unwrap_err();
    let ModelError::WrongDigest { file: "tokenizer.json", origin, .. } = error else { panic!("{error}") };
    assert!(origin.ends_with("/people/small-model/resolve/main/tokenizer.json"), "{origin}");
    // The first file is complete and waits for the second one.
    assert_eq!(names(folder.path()), ["model.safetensors.part"]);
    fetch(&hub, &folder).await.unwrap();
    assert_eq!(hub.requests(), ["model.safetensors", "tokenizer.json", "tokenizer.json"]);
}

#[tokio::test]
async fn stops_at_a_file_that_does_not_end() {
    let (hub, folder) = (Hub::start(vec![Answer::Other(50_000_000)]).await, tempdir().unwrap());
    let mut most = 0;
    let error =
        download(&hub.url, folder.path(), small_model(), &mut |told| most = told.received).await.unwrap_err();
    assert!(matches!(error, ModelError::WrongDigest { .. }), "{error}");
    assert!(most < 2_000_000, "{most} bytes were taken of a file of {}", weights().len());
    assert!(names(folder.path()).is_empty());
}

#[tokio::test]
async fn a_refusal_names_the_address() {
    let (hub, folder) = (Hub::start(vec![Answer::Status("404 Not Found")]).await, tempdir().unwrap());
    let error = fetch(&hub, &folder).await.unwrap_err().to_string();
    assert!(
        error.contains("404") && error.contains(&hub.url) && error.contains("model.safetensors"),
        "{error}"
    );
    assert!(names(folder.path()).is_empty());
}

#[tokio::test]
async fn a_missing_hub_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let folder = tempdir().unwrap();
    let error = download(&url, folder.path(), small_model(), &mut |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Download { .. }), "{error}");
}

#[tokio::test]
async fn installed_models_are_not_downloaded_again() {
    let (hub, folder) = (Hub::start(vec![]).await, tempdir().unwrap());
    fetch(&hub, &folder).await.unwrap();
    fetch(&hub, &folder).await.unwrap();
    assert_eq!(hub.requests().len(), 2);
    std::fs::write(folder.path().join("tokenizer.json"), "damaged").unwrap();
    fetch(&hub, &folder).await.unwrap();
    assert_eq!(hub.requests().len(), 3);
    verify(folder.path(), small_model()).unwrap();
}
