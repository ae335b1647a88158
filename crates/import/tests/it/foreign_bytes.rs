//! Any bytes as a file of a format. They may be refused; what is read follows the laws. The targets in `fuzz/` use
//! this too.

use import::{Input, Item, Mapper, Mapping, ReadOptions, ReadPosition, Sources, limits, preview, read};

/// Reads the bytes in a format, or in the detected one, and checks the laws of all files.
pub(crate) fn are_read(format: Option<&str>, bytes: &[u8]) {
    let input = Input::Bytes { name: "file".to_owned(), bytes: bytes.into() };
    let sources = Sources::open(&[input]).unwrap();
    let options = ReadOptions { format: format.map(str::to_owned), ..ReadOptions::default() };
    let all: Vec<_> =
        read(&sources, &options, ReadPosition::default()).unwrap().map(Result::unwrap).collect();
    let counted = all.iter().filter(|found| found.item.is_counted()).count();
    assert_eq!(preview(&sources, &options).unwrap().found, counted as u64);
    let mut mapper = Mapper::new(Mapping::default()).unwrap();
    let mut conversation = None;
    for found in &all {
        match &found.item {
            Item::Conversation(start) => conversation = Some(start.id.clone()),
            Item::Message(message) => {
                assert_eq!(
                    conversation.as_ref(),
                    Some(&message.conversation),
                    "a message is in the one that began last"
                );
                assert!(
                    !message.speaker.is_empty() && message.speaker.chars().count() <= limits::NAME_CHARS_MAX
                );
                assert!(message.conversation.len() <= limits::ID_BYTES_MAX);
                assert!(message.id.as_str().len() <= limits::ID_BYTES_MAX);
                assert!(message.text.len() <= limits::MESSAGE_BYTES_MAX && !message.text.contains('\0'));
                assert!(!message.text.trim().is_empty() || !message.attachments.is_empty());
                assert!(message.alternatives.len() <= limits::ALTERNATIVES_MAX);
            }
            Item::Skip(skip) => assert!(!skip.place.is_empty() && !skip.reason.is_empty()),
            _ => {}
        }
        mapper.map_record(found.item.clone());
    }
    let middle = all.len() / 2;
    if let Some(found) = all.get(middle) {
        let rest: Vec<_> = read(&sources, &options, found.position).unwrap().map(Result::unwrap).collect();
        assert_eq!(rest, all[middle + 1..], "reading resumes with the same rest");
    }
}

/// The seeds of the fuzz targets, run on the stable compiler.
#[test]
fn seeds_are_read() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut count = 0;
    for format in import::formats() {
        let folder = corpus.join(format!("import_{}", format.id.replace('-', "_")));
        for seed in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            are_read(Some(format.id), &std::fs::read(seed.unwrap().path()).unwrap());
            count += 1;
        }
    }
    for seed in std::fs::read_dir(corpus.join("import_detect")).unwrap() {
        are_read(None, &std::fs::read(seed.unwrap().path()).unwrap());
    }
    assert!(count >= import::formats().len());
}
