//! Homes of OpenClaw and similar programs: SOUL.md, IDENTITY.md, USER.md, MEMORY.md, memory/*.md.

use jiff::civil::Date;

use super::{Format, Reader, ReaderContext, single_item_reader, statements};
use crate::error::ImportError;
use crate::item::{CoreBlock, CoreDraft, Document, Item, Skip};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::lines::clean_text;

pub(super) const FORMAT: Format = Format { id: "openclaw", name: "OpenClaw home", detect: is_home, open };

/// Files that identify a folder as a home: one of them is enough.
const HOME_FILES: [&str; 2] = ["SOUL.md", "IDENTITY.md"];

/// Files with instructions for tools, which a persona does not need.
const INSTRUCTION_FILES: [&str; 6] =
    ["AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md", "SKILL.md"];

/// True for files of a home. They are recognised by their names, as their texts have no fixed form.
fn is_home(context: &ReaderContext<'_>) -> bool {
    let is_markdown = context.source.file_name().to_ascii_lowercase().ends_with(".md");
    is_markdown && home_folder(context).is_some()
}

/// The folder of the home that contains the file: its own, or one above.
fn home_folder<'a>(context: &ReaderContext<'a>) -> Option<&'a str> {
    let name = context.source.name();
    let mut folder = context.source.folder();
    loop {
        let has_mark = HOME_FILES.iter().any(|mark| {
            let path = format!("{folder}{mark}");
            context.sources.list().iter().any(|source| source.name() == path)
        });
        if has_mark {
            return Some(&name[..folder.len()]);
        }
        let above = folder.trim_end_matches('/');
        if above.is_empty() {
            return None;
        }
        folder = above.rfind('/').map_or("", |at| &above[..=at]);
    }
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let source = context.source;
    let skip = |reason: String| Ok(single_item_reader(Item::Skip(Skip::new(source.name(), reason))));
    let Some(bytes) = source.read_text(DOCUMENT_BYTES_MAX)? else {
        return skip(format!("it is longer than {DOCUMENT_BYTES_MAX} bytes"));
    };
    let (text, is_cleaned) = clean_text(bytes);
    if text.trim().is_empty() {
        return skip("the file is empty".to_owned());
    }
    let home = home_folder(context).unwrap_or_default();
    let own_name = &source.name()[home.len()..];
    if own_name == "MEMORY.md" {
        let statements = statements::statements_of_markdown(&text);
        let place = source.name().to_owned();
        let items = statements
            .into_iter()
            .map(move |text| Ok(statements::statement_item(&text, None, "OpenClaw", &place)));
        return Ok(Box::new(items));
    }
    let block = match own_name {
        "SOUL.md" | "IDENTITY.md" => Some(CoreBlock::Persona),
        "USER.md" => Some(CoreBlock::User),
        name if INSTRUCTION_FILES.contains(&name.rsplit('/').next().unwrap_or(name)) => {
            return skip("it contains instructions for tools, not memories".to_owned());
        }
        _ => None,
    };
    let place = source.name().to_owned();
    if let Some(block) = block {
        return Ok(single_item_reader(Item::CoreDraft(CoreDraft {
            block,
            title: own_name.to_owned(),
            text,
            place,
        })));
    }
    Ok(single_item_reader(Item::Document(Document {
        id: own_name.to_owned(),
        name: own_name.to_owned(),
        day: leading_day(source.stem()),
        text,
        is_cleaned,
        place,
    })))
}

/// The day at the start of a text: `2026-01-05`, `2026-01-05-walk`, `2026-01-05T10:00:00Z`.
pub(super) fn leading_day(stem: &str) -> Option<Date> {
    stem.get(..10)?.parse().ok()
}
