use testkit::files_containing;

/// Most callers assert that a word is in no file, which would also pass if the search found nothing at all.
#[test]
fn words_are_found_in_every_file_below_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("memories/deep");
    std::fs::create_dir_all(&inner).unwrap();
    let (binary, link) = (inner.join("home.db"), folder.path().join("link.db"));
    std::fs::write(&binary, [b"\0\xff\xfe ".as_slice(), "蓝色海豚".as_bytes(), b" \0"].concat()).unwrap();
    std::fs::write(folder.path().join("other.md"), "蓝色").unwrap();
    std::os::unix::fs::symlink(&binary, &link).unwrap();
    std::os::unix::fs::symlink(folder.path().join("gone"), folder.path().join("dangling")).unwrap();
    let mut found = files_containing(folder.path(), "蓝色海豚").unwrap();
    found.sort();
    assert_eq!(found, [link, binary]);
    assert!(files_containing(&folder.path().join("gone"), "蓝色").is_err(), "a wrong folder proves nothing");
}
