use import::{Input, Item, Sources};

use crate::reading::{found, inspect_upload, items, skips, sources, talk, zip};

#[test]
fn an_archive_may_hold_several_sources() {
    let archive = zip(&[
        ("export/conversations.json", crate::chatgpt::sample().as_bytes()),
        ("export/chat.html", b"<html></html>"),
        ("__MACOSX/export/._chat", b"x"),
        ("chats/_chat.txt", crate::whatsapp::IOS.as_bytes()),
    ]);
    let look = inspect_upload("all.zip", &archive);
    assert_eq!(look.format, "chatgpt,whatsapp");
    assert_eq!(look.conversation_count, 2);
    let places: Vec<_> = look.skipped.iter().map(|skip| skip.place.as_str()).collect();
    assert!(places.contains(&"all.zip/export/chat.html"), "{places:?}");
}

#[test]
fn an_archive_in_an_archive_is_read_and_a_third_one_is_not() {
    let inner = zip(&[("_chat.txt", crate::whatsapp::IOS.as_bytes())]);
    let middle = zip(&[("chat.zip", &inner)]);
    assert!(talk(&items("a.zip", &middle)).contains(&"Theo: Fine".to_owned()));
    let outer = zip(&[("b.zip", &zip(&[("c.zip", &middle)]))]);
    let read = items("a.zip", outer);
    assert_eq!(talk(&read), Vec::<String>::new());
    assert!(skips(&read)[0].reason.contains("archive in an archive"), "{read:?}");
}

#[test]
fn several_files_are_one_import_and_a_name_decides_nothing() {
    let bytes = |text: &str| -> std::sync::Arc<[u8]> { text.as_bytes().into() };
    let sources = Sources::open(&[
        Input::Bytes { name: "photo.jpg".to_owned(), bytes: bytes(crate::whatsapp::IOS) },
        Input::Bytes { name: "x".to_owned(), bytes: bytes(&crate::claude::sample()) },
    ])
    .unwrap();
    let formats: Vec<_> = found(&sources).iter().map(|found| found.format).collect();
    assert_eq!((formats.first(), formats.last()), (Some(&"whatsapp"), Some(&"claude")));
}

#[test]
fn an_upload_is_read_under_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("upload-17");
    std::fs::write(&path, crate::whatsapp::IOS).unwrap();
    let sources =
        Sources::open(&[Input::Named { name: "WhatsApp Chat - Theo.zip".to_owned(), path }]).unwrap();
    let found = found(&sources);
    assert!(matches!(&found[0].item, Item::Conversation(start) if start.title.as_deref() == Some("Theo")));
    assert!(Sources::open(&[Input::Path(folder.path().join("gone"))]).is_err());
}

#[test]
fn a_bomb_is_stopped_while_it_expands() {
    let text = format!("[{{\"role\": \"user\", \"content\": \"{}\"}}]", "a".repeat(60_000_000));
    let archive = zip(&[("bomb.json", text.as_bytes()), ("_chat.txt", crate::whatsapp::IOS.as_bytes())]);
    assert!(archive.len() < 200_000);
    let read = items("a.zip", archive);
    assert!(
        skips(&read).iter().any(|skip| skip.reason.contains("expands to more than")),
        "{:?}",
        skips(&read)
    );
    assert!(talk(&read).contains(&"Theo: Fine".to_owned()), "the other file is read");
}

#[test]
fn names_that_lead_out_of_a_folder_only_show() {
    let archive = zip(&[
        ("../../etc/passwd.json", crate::claude::sample().as_bytes()),
        ("C:\\windows\\..\\chat.txt", crate::whatsapp::IOS.as_bytes()),
        ("a\nb.txt", b"Ann: hi\nTheo: ho\nAnn: hi\n"),
    ]);
    let sources = sources("a.zip", archive);
    let names: Vec<_> = sources.list().iter().map(|source| source.name()).collect();
    assert_eq!(names, ["a.zip/etc/passwd.json", "a.zip/C:/windows/chat.txt", "a.zip/ab.txt"]);
}

#[test]
fn damaged_and_locked_archives_are_skipped_with_a_word() {
    let whole =
        zip(&[("_chat.txt", crate::whatsapp::IOS.repeat(50).as_bytes()), ("b.txt", b"Ann: hi\nTheo: ho\n")]);
    // The central directory at the end is cut off.
    assert!(skips(&items("a.zip", &whole[..whole.len() - 30]))[0].reason.contains("not a zip archive"));
    // The first entry's bytes are damaged.
    let mut damaged = whole.clone();
    for byte in &mut damaged[60..120] {
        *byte ^= 0xA5;
    }
    let read = items("a.zip", damaged);
    assert!(!skips(&read).is_empty(), "{read:?}");
    // The first entry has the flag for encryption.
    let mut locked = whole.clone();
    let directory = locked.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    locked[directory + 8] |= 1;
    assert!(skips(&items("a.zip", locked)).iter().any(|skip| skip.reason.contains("password")));
    // Both entries point to the same bytes.
    let mut overlapping = whole;
    let directory = overlapping.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    overlapping[directory + 42..directory + 46].fill(0);
    overlapping[directory + 20..directory + 24].copy_from_slice(&0x00FF_FFFF_u32.to_le_bytes());
    assert!(items("a.zip", overlapping).iter().all(|item| matches!(item, Item::Skip(_))));
}

#[test]
fn links_in_a_folder_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.txt");
    std::fs::write(&secret, "Ann: secret\nTheo: yes\n").unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".hidden"), "x").unwrap();
    std::os::unix::fs::symlink(&secret, home.join("link.txt")).unwrap();
    let sources = Sources::open(&[Input::Path(home)]).unwrap();
    assert!(sources.list().is_empty());
    assert!(sources.skipped_files()[0].reason.contains("link"));
    assert_eq!(found(&sources).len(), 1, "it counts as found and skipped");
}

#[test]
fn archives_in_an_archive_share_one_bound() {
    use std::io::{Cursor, Write};
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let archive = |entries: &[(&str, &[u8])]| {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            archive.start_file(*name, stored).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    let inner = archive(&[("a.bin", &vec![b'x'; 40 * 1024 * 1024])]);
    let sources = sources("all.zip", archive(&[("one.zip", &inner), ("two.zip", &inner)]));
    let names: Vec<_> = sources.list().iter().map(|source| source.name()).collect();
    assert_eq!(names, ["all.zip/one.zip/a.bin"]);
    assert!(sources.skipped_files()[0].reason.contains("import it separately"));
}
