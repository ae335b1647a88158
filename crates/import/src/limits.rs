//! Limits on memory and time, for files with any content.

/// Maximum bytes of an element that is held in memory: one conversation of a ChatGPT export, one line of a JSON Lines
/// file.
pub const ELEMENT_BYTES_MAX: usize = 48 * 1024 * 1024;

/// Maximum values of one element: keys and values of JSON need far more memory than their bytes.
pub const ELEMENT_VALUES_MAX: usize = 1_000_000;

/// Maximum bytes of an id of a conversation or message; a longer one is replaced by a digest.
pub const ID_BYTES_MAX: usize = 256;

/// Maximum attachments of one message to name; the others are counted. Each becomes a line of the message.
pub const ATTACHMENTS_MAX: usize = 1_000;

/// Maximum bytes of a line of a plain-text log. A file without line ends must not fill the memory.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Maximum bytes of one message. Longer ones are skipped: cutting one would put words into somebody's mouth.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

/// Maximum bytes of a document, card or lorebook. Cards contain pictures of some megabytes.
pub const DOCUMENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum nesting of JSON. Exports nest about ten deep; deeper nesting could overflow the reader's stack.
pub const JSON_DEPTH_MAX: usize = 100;

/// Maximum fields of one CSV record. Tables of messages have about ten.
pub const CSV_FIELDS_MAX: usize = 256;

/// Maximum files of one import, including those in zip archives. Archives of nothing but names would otherwise fill
/// the memory.
pub const SOURCES_MAX: usize = 100_000;

/// Maximum ratio of an entry's size to its compressed size in a zip archive. Chats compress by 5 to 20, archives made
/// to exhaust memory by 1,000.
pub const ZIP_RATIO_MAX: u64 = 200;

/// Size in bytes that every entry of a zip archive may have unpacked, whatever the ratio: a small file of repeated
/// lines compresses well.
pub const ZIP_ENTRY_BYTES_MIN: u64 = 1024 * 1024;

/// Maximum bytes of zip archives inside another one, all together. One such level is read, and held in memory.
pub const NESTED_ZIP_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Maximum depth of folders. It also ends a circle of links.
pub const FOLDER_DEPTH_MAX: usize = 16;

/// Bytes at the start of a file by which its format is detected.
pub const HEAD_BYTES: usize = 256 * 1024;

/// Maximum length of a speaker's name or a conversation's title, in characters. The rest is cut.
pub const NAME_CHARS_MAX: usize = 256;

/// Maximum versions of one message that were not shown; further ones are skipped. It bounds the memory of one
/// message.
pub const ALTERNATIVES_MAX: usize = 500;

/// Maximum entries of each list in a preview. The counts beside them are exact.
pub const PREVIEW_LIST_MAX: usize = 1_000;

/// Maximum entries of one lorebook. Large books have some thousands.
pub const LORE_ENTRIES_MAX: usize = 10_000;
