//! Files and archives of other programs are imported or refused with an error, without a panic. The seeds of the fuzz
//! targets `front_matter` and `archive` run here, and also combinations of their parts.

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hub::api::archive::{EntityImport, ImportMode};
use hub::mirror::{MirroredText, digest};
use hub::ports::HubStore as _;
use proptest::prelude::*;
use serde_json::json;
use zip::write::SimpleFileOptions;

use crate::home::Home;

/// Whatever front matter a file has, its text is kept, and the result of parsing can be parsed again.
pub(crate) fn front_matter_is_read(bytes: &[u8]) {
    let Ok(file) = std::str::from_utf8(bytes) else { return };
    let read = MirroredText::parse(file);
    assert!(file.ends_with(read.content), "a text that the file does not end with");
    if let Some(front) = &read.front_matter {
        let written = front.file_with_text(read.content);
        let again = MirroredText::parse(&written);
        assert_eq!(again.front_matter.as_ref(), Some(front));
        assert_eq!(again.content, read.content);
        assert_eq!(again.is_edited(), read.is_edited());
    }
    let bare = hub::daily::without_tags(file);
    assert!(bare.len() <= file.len());
}

/// An archive of files from a seed: `path`, NUL, text, NUL, … If there is no manifest, a valid one is added: for the
/// hub's own layout with the histories that it needs, or for the layout of entity-core if a path begins with
/// `entity-core/`. Bytes that begin with `PK` are sent unchanged.
fn archive_of(bytes: &[u8]) -> Vec<u8> {
    if bytes.starts_with(b"PK") {
        return bytes.to_vec();
    }
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let mut files: BTreeMap<String, Vec<u8>> = parts
        .chunks(2)
        .map(|pair| {
            (String::from_utf8_lossy(pair[0]).into_owned(), pair.get(1).unwrap_or(&&b""[..]).to_vec())
        })
        .collect();
    if !files.contains_key("manifest.json") {
        let compatible = files.keys().any(|path| path.starts_with("entity-core/"));
        if !compatible {
            add_histories(&mut files);
        }
        let count =
            |folder: &str| files.keys().filter(|path| path.contains(folder) && path.ends_with(".md")).count();
        let digests: BTreeMap<&String, String> =
            files.iter().map(|(path, text)| (path, digest(&String::from_utf8_lossy(text)))).collect();
        let manifest = json!({
            "schema_version": if compatible { 1 } else { 3 },
            "format": if compatible { "" } else { "echovessel-hub" },
            "exported_at": "2026-07-01T00:00:00Z",
            "counts": {"identity_files": count("identity/"), "memory_entries": count("memories/"),
                       "versions": count("identity/") + count("memories/")},
            "files": digests,
        });
        files.insert("manifest.json".to_owned(), manifest.to_string().into_bytes());
    }
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, text) in files {
        // A name that no archive can contain is left out.
        if archive.start_file(path, SimpleFileOptions::default()).is_ok() {
            archive.write_all(&text).unwrap();
        }
    }
    archive.finish().unwrap().into_inner()
}

/// The files of the hub's own layout beside the shown documents, each of which has one version.
fn add_histories(files: &mut BTreeMap<String, Vec<u8>>) {
    let shown: Vec<(String, String)> = files
        .iter()
        .filter_map(|(path, text)| {
            let inner = path.strip_prefix("identity/").or_else(|| path.strip_prefix("memories/"))?;
            Some((inner.strip_suffix(".md")?.to_owned(), String::from_utf8_lossy(text).into_owned()))
        })
        .collect();
    for (name, text) in shown {
        let history = json!({
            "versions": [{
                "number": 1, "state": "shown", "content": MirroredText::parse(&text).content, "vector": {"a": 1},
                "author": "a", "editedBy": "a", "byPerson": false, "chatIds": [], "participants": [],
                "writtenAt": "2026-07-01T00:00:00Z",
            }],
            "conflicts": [], "createdAt": "2026-07-01T00:00:00Z", "stale": false,
        });
        files.insert(format!("history/{name}.json"), history.to_string().into_bytes());
    }
    let state = json!({"seen": {}, "seenOfPersona": {}, "instances": [], "snapshots": [], "erased": [],
                       "erasedOfPersona": []});
    files.insert("graph.json".to_owned(), br#"{"nodes": [], "edges": []}"#.to_vec());
    files.insert("state.json".to_owned(), state.to_string().into_bytes());
}

/// An archive is imported completely or not at all, and what was imported can be exported and imported again.
pub(crate) async fn archive_is_answered(home: &Home, bytes: &[u8]) {
    let scope = &home.caller.scope;
    let before = home.store.hub_state(scope).await.unwrap().revision;
    let import = |data: String| EntityImport { data, mode: ImportMode::Overwrite };
    let taken =
        home.hub.entity_import(&home.caller, import(STANDARD.encode(archive_of(bytes)))).await.unwrap();
    if !taken.success {
        assert!(taken.message.contains("nothing was imported"), "{}", taken.message);
        assert_eq!(home.store.hub_state(scope).await.unwrap().revision, before, "{}", taken.message);
        return;
    }
    let exported = home.hub.entity_export(&home.caller).await.unwrap();
    let again = home.hub.entity_import(&home.caller, import(exported.data)).await.unwrap();
    assert!(again.success, "{}", again.message);
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/");
    let entries = std::fs::read_dir(format!("{folder}{target}")).unwrap();
    entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn every_seed_of_front_matter_is_read() {
    let seeds = seeds("front_matter");
    assert!(seeds.len() >= 10, "only {}", seeds.len());
    let understood = |seed: &Vec<u8>| {
        std::str::from_utf8(seed).is_ok_and(|file| MirroredText::parse(file).front_matter.is_some())
    };
    assert!(seeds.iter().any(understood), "none of them is understood");
    for seed in seeds {
        front_matter_is_read(&seed);
    }
}

#[tokio::test]
async fn every_seed_of_an_archive_is_answered() {
    let home = Home::open().await;
    let seeds = seeds("archive");
    assert!(seeds.len() >= 10, "only {}", seeds.len());
    let before = home.store.hub_state(&home.caller.scope).await.unwrap().revision;
    for seed in seeds {
        archive_is_answered(&home, &seed).await;
    }
    assert!(
        home.store.hub_state(&home.caller.scope).await.unwrap().revision > before,
        "none of them was taken"
    );
}

/// Parts of front matter and archives, valid and broken.
fn part() -> impl Strategy<Value = String> {
    let fixed = [
        "---\n",
        "echovessel: 1\n",
        "\n---\n",
        "version: 3\n",
        "versionVector: {\"a\":1}\n",
        "sourceInstance: \"a\"\n",
        "editedBy: \"a\"\n",
        "createdAt: \"2026-07-01T00:00:00Z\"\n",
        "updatedAt: \"2026-07-01T00:00:00Z\"\n",
        "digest: \"x\"\n",
        "chatIds: [\"c\", 3]\n",
        "byPerson: \"yes\"\n",
        "[chat:",
        "[via:a]",
        "]",
        "\u{0}",
        "identity/self/my_wants.md",
        "memories/daily/2026-07-01_a.md",
        "memories/significant/2026-07-01.md",
        "memories/weekly/2026-W99.md",
        "entity-core/identity/custom/规则.md",
        "../../x.md",
        "manifest.json",
        "{\"schema_version\":3,\"format\":\"echovessel-hub\"}",
        "PK\u{3}\u{4}",
        "# 葬礼\n很安静",
        "- swam [via:a]\n",
        "\r\n",
    ];
    prop_oneof![4 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn assembled() -> impl Strategy<Value = String> {
    prop::collection::vec(part(), 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_front_matter_is_read(file in assembled(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        front_matter_is_read(file.as_bytes());
        front_matter_is_read(format!("---\nechovessel: 1\n{file}").as_bytes());
        front_matter_is_read(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_archive_is_answered(files in prop::collection::vec(assembled(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::without_files().await;
            for file in files {
                archive_is_answered(&home, file.as_bytes()).await;
            }
        });
    }
}
