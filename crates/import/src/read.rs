use serde::{Deserialize, Serialize};

use crate::error::ImportError;
use crate::field_names::FieldNames;
use crate::formats::{self, Format, Reader};
use crate::head::{Head, is_damage};
use crate::item::{Item, Skip};
use crate::sources::{Source, Sources};

/// Options for reading files.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Id of the format of all files; `None` detects each.
    pub format: Option<String>,
    /// Names of fields in JSON and CSV files. If there are any, these files are read as generic ones.
    pub fields: FieldNames,
}

/// A position between two items, from which reading can resume. Positions of unchanged files stay valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReadPosition {
    /// Index of the file in [`Sources::list`].
    pub source: u32,
    /// Number of the file's items before the position.
    pub item: u64,
}

/// An item and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundItem {
    pub item: Item,
    /// The position after the item: store it in the transaction of the item, and resume from it.
    pub position: ReadPosition,
    /// Id of the file's format; empty for a skip of a whole file.
    pub format: &'static str,
}

/// The items of all files, in their order, lazily. Ends after the first error.
pub struct Items<'a> {
    sources: &'a Sources,
    options: ReadOptions,
    position: ReadPosition,
    current: Option<OpenFile>,
    has_failed: bool,
}

struct OpenFile {
    format: &'static str,
    reader: Reader,
}

/// Reads the items after `position` (the default is the beginning). To resume, the file is read again from its start,
/// without returning the earlier items: that takes time, but gives the same items. Fails if the format is unknown.
pub fn read<'a>(
    sources: &'a Sources,
    options: &ReadOptions,
    position: ReadPosition,
) -> Result<Items<'a>, ImportError> {
    if let Some(id) = &options.format {
        formats::by_id(id)?;
    }
    let mut items = Items {
        sources,
        options: options.clone(),
        position: ReadPosition::default(),
        current: None,
        has_failed: false,
    };
    items.resume(position)?;
    Ok(items)
}

impl Items<'_> {
    fn resume(&mut self, position: ReadPosition) -> Result<(), ImportError> {
        if position.source as usize > self.sources.list().len() {
            return Err(ImportError::InvalidPosition);
        }
        self.position.source = position.source;
        while self.position < position {
            if self.next_found()?.is_none() || self.position.source > position.source {
                return Err(ImportError::InvalidPosition);
            }
        }
        Ok(())
    }

    fn next_found(&mut self) -> Result<Option<FoundItem>, ImportError> {
        loop {
            let Some(source) = self.sources.list().get(self.position.source as usize) else {
                return Ok(self.next_skipped_file());
            };
            let current = match &mut self.current {
                Some(current) => current,
                None => self.current.insert(open(self.sources, source, &self.options)?),
            };
            let format = current.format;
            let item = match current.reader.next() {
                None => {
                    self.current = None;
                    self.position = ReadPosition { source: self.position.source + 1, item: 0 };
                    continue;
                }
                Some(Ok(item)) => item,
                Some(Err(error)) if is_damage(&error) => {
                    current.reader = Box::new(std::iter::empty());
                    Item::Skip(Skip::new(
                        source.name(),
                        format!("the rest of the file could not be read: {error}"),
                    ))
                }
                Some(Err(error)) => return Err(ImportError::io(source.name())(error)),
            };
            self.position.item += 1;
            return Ok(Some(FoundItem { item, position: self.position, format }));
        }
    }

    /// The next file that could not be listed. They follow all others.
    fn next_skipped_file(&mut self) -> Option<FoundItem> {
        let skip =
            usize::try_from(self.position.item).ok().and_then(|at| self.sources.skipped_files().get(at))?;
        self.position.item += 1;
        Some(FoundItem { item: Item::Skip(skip.clone()), position: self.position, format: "" })
    }
}

impl Iterator for Items<'_> {
    type Item = Result<FoundItem, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let next = self.next_found().transpose();
        self.has_failed = matches!(next, Some(Err(_)));
        next
    }
}

fn open(sources: &Sources, source: &Source, options: &ReadOptions) -> Result<OpenFile, ImportError> {
    let head = Head::read(source)?;
    let context = formats::ReaderContext { sources, source, head: &head, fields: &options.fields };
    let format = match &options.format {
        Some(id) => Some(formats::by_id(id)?),
        None if !options.fields.is_empty() => formats::generic_format(&context),
        None => Format::detect(&context),
    };
    match format {
        Some(format) => match (format.open)(&context) {
            Ok(reader) => Ok(OpenFile { format: format.id, reader }),
            Err(ImportError::Io { reason: error, .. }) if is_damage(&error) => {
                let skip = Skip::new(source.name(), format!("it is damaged: {error}"));
                Ok(OpenFile { format: format.id, reader: formats::single_item_reader(Item::Skip(skip)) })
            }
            Err(error) => Err(error),
        },
        None => {
            let skip = Skip::new(source.name(), formats::reason_unread(&context));
            Ok(OpenFile { format: "", reader: formats::single_item_reader(Item::Skip(skip)) })
        }
    }
}
