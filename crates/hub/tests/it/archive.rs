//! Export and import.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hub::door::archive::{EntityImport, ImportMode};
use zip::write::SimpleFileOptions;

use crate::home::{Home, identity_text};

fn packed(files: &[(&str, &str)]) -> EntityImport {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (path, text) in files {
        archive.start_file(*path, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    let bytes = archive.finish().unwrap().into_inner();
    EntityImport { data: STANDARD.encode(bytes), mode: ImportMode::Overwrite }
}

#[tokio::test]
async fn defect_02_a_round_trip_loses_no_significant_memory() {
    let home = Home::open().await;
    home.create("significant", "2026-07-01/wedding", "# Wedding\nit rained").await;
    home.create("significant", "2026-07-01/葬礼", "# 葬礼\n很安静").await;
    home.create("daily", "2026-07-02", "- swam [chat:c] [via:home]").await;
    home.hub.identity_write(&home.caller, identity_text("self", "my_wants.md", "tea\n")).await.unwrap();
    let exported = home.hub.entity_export(&home.caller).await.unwrap();
    assert_eq!((exported.counts.identity_files, exported.counts.memory_entries), (1, 3));
    let other = Home::open().await;
    let import = EntityImport { data: exported.data, mode: ImportMode::Overwrite };
    let imported = other.hub.entity_import(&other.caller, import).await.unwrap();
    assert!(imported.success, "{}", imported.message);
    assert_eq!(other.text("significant", "2026-07-01/wedding").await.unwrap(), "# Wedding\nit rained\n");
    assert_eq!(other.text("significant", "2026-07-01/葬礼").await.unwrap(), "# 葬礼\n很安静\n");
    assert!(other.text("daily", "2026-07-02").await.is_some());
    assert_eq!(other.identity("my_wants.md").await.unwrap(), "tea\n");
}

#[tokio::test]
async fn defect_08_a_manifest_that_lies_changes_nothing() {
    let home = Home::open().await;
    home.create("daily", "2026-07-02", "- swam [chat:c] [via:home]").await;
    let manifest =
        r#"{"schema_version":1,"exported_at":"x","counts":{"identity_files":0,"memory_entries":5}}"#;
    let outside =
        r#"{"schema_version":1,"exported_at":"x","counts":{"identity_files":1,"memory_entries":0}}"#;
    for files in [
        vec![("manifest.json", manifest)],
        vec![("manifest.json", outside), ("entity-core/identity/../../x.md", "escaped")],
        vec![("manifest.json", "not json")],
        vec![("entity-core/identity/self/a.md", "no manifest")],
    ] {
        let imported = home.hub.entity_import(&home.caller, packed(&files)).await.unwrap();
        assert!(!imported.success, "{files:?}");
        assert!(imported.message.contains("nothing was taken"));
    }
    let garbage = EntityImport { data: "####".to_owned(), mode: ImportMode::Overwrite };
    assert!(!home.hub.entity_import(&home.caller, garbage).await.unwrap().success);
    assert!(home.text("daily", "2026-07-02").await.is_some());
}

#[tokio::test]
async fn the_compatible_layout_is_read() {
    let home = Home::open().await;
    let manifest = r#"{"schema_version":1,"exported_at":"2026-01-01T00:00:00Z","parts":{"entity_core":{}},
        "counts":{"identity_files":1,"memory_entries":2,"graph_nodes":9,"graph_edges":9}}"#;
    let import = packed(&[
        ("export/manifest.json", manifest),
        ("export/entity-core/identity/self/my_identity.md", "I am.\n"),
        ("export/entity-core/identity-meta.json", r#"{"self/my_identity.md":"Who I am"}"#),
        ("export/entity-core/memories/daily/2026-01-01_psycheros.md", "- woke [chat:a] [via:psycheros]"),
        ("export/entity-core/memories/significant/2026-01-02.md", "# First snow\nwhite"),
        ("export/entity-core/knowledge-graph/graph.sqlite", "damaged"),
    ]);
    let imported = home.hub.entity_import(&home.caller, import).await.unwrap();
    assert!(imported.success, "{}", imported.message);
    assert_eq!(home.identity("my_identity.md").await.unwrap(), "I am.\n");
    let own = home.hub.identity_get_all(&home.caller).await.unwrap().own;
    assert_eq!(own[0].prompt_label, "Who I am");
    assert!(home.text("significant", "2026-01-02/first-snow").await.is_some());
}
