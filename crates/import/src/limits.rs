//! Limits on memory and time, for files that claim anything.

/// Longest element that is held whole, in bytes: one conversation of a ChatGPT export, one line of a JSON Lines file.
pub const ELEMENT_BYTES_MAX: usize = 48 * 1024 * 1024;

/// Most values of one element: keys and values of JSON need far more memory than their bytes.
pub const ELEMENT_VALUES_MAX: usize = 1_000_000;

/// Longest id of a conversation or message, in bytes; a digest is put for a longer one.
pub const ID_BYTES_MAX: usize = 256;

/// Most attachments of one message that are named; the others are counted. Each becomes a line of the message.
pub const ATTACHMENTS_MAX: usize = 1_000;

/// Longest line of a plain-text log, in bytes. Reading by lines must not take the memory of a file without line ends.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Longest text of one message, in bytes. Longer ones are skipped, not cut. A cut message would be words that nobody said.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

/// Longest document, card or lorebook, in bytes. Cards carry pictures, which have some megabytes.
pub const DOCUMENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Deepest nesting of JSON. Exports nest about ten deep; deeper ones could make the reader overflow its stack.
pub const JSON_DEPTH_MAX: usize = 100;

/// Most fields of one CSV record. Tables of talk have about ten.
pub const CSV_FIELDS_MAX: usize = 256;

/// Most files of one import, with those in zip archives. Archives of nothing but names would otherwise fill the memory.
pub const SOURCES_MAX: usize = 100_000;

/// Most that an entry of a zip archive may expand to, as a multiple of its compressed size.
pub const ZIP_RATIO_MAX: u64 = 200;

/// Size in bytes that every entry of a zip archive may have unpacked, whatever its compressed size.
pub const ZIP_ENTRY_BYTES_MIN: u64 = 1024 * 1024;

/// Zip archives inside another one, all together, in bytes. There is one such level, and they are held in memory.
pub const NESTED_ZIP_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Deepest folder below one that is imported. It also ends a circle of links.
pub const FOLDER_DEPTH_MAX: usize = 16;

/// Start of a file from which its format is detected, in bytes.
pub const HEAD_BYTES: usize = 256 * 1024;

/// Longest name of a speaker or title of a conversation, in characters. The rest is cut.
pub const NAME_CHARS_MAX: usize = 256;

/// Most not-shown versions of one message; further ones are skipped. It bounds the memory that one message takes.
pub const ALTERNATIVES_MAX: usize = 500;

/// Most entries of each list in a look. The counts beside them are exact.
pub const LOOK_LIST_MAX: usize = 1_000;

/// Most entries of one lorebook. Large books have some thousands.
pub const LORE_ENTRIES_MAX: usize = 10_000;
