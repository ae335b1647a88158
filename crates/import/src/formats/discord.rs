//! Discord: JSON of DiscordChatExporter, and Discord's own data package, which only has the user's messages.

use std::collections::VecDeque;
use std::io;

use serde_json::Value;

use super::building::{attachment_from_path, begin_conversation, build_message, check_message};
use super::listed::{self, Element, ListedFormat, read_id, string_field};
use super::ordering::oldest_first;
use super::{Format, Reader, ReaderContext, Step, reader_of_steps};
use crate::csv::{CsvRecord, CsvRecords};
use crate::error::ImportError;
use crate::item::{Attachment, AttachmentKind, ExternalId, Item, Role, Skip};
use crate::limits::ELEMENT_BYTES_MAX;
use crate::message_time::MessageTime;
use crate::sources::DecodedReader;

pub(super) const EXPORTER_FORMAT: Format = Format {
    id: "discord",
    name: "DiscordChatExporter JSON",
    detect: |context: &ReaderContext<'_>| context.head.is_object_with(&["guild", "channel", "messages"]),
    open: |context| listed::open(context, Exporter::default()),
};

pub(super) const PACKAGE_FORMAT: Format =
    Format { id: "discord-package", name: "Discord data package", detect: is_package, open: open_package };

#[derive(Default)]
struct Exporter {
    guild: Option<String>,
    channel: Option<(String, String)>,
    has_begun: bool,
}

impl ListedFormat for Exporter {
    fn is_list(&self, key: &str) -> bool {
        key == "messages"
    }

    fn read_field(&mut self, key: &str, value: &Value) {
        match key {
            "guild" => self.guild = string_field(value, "name").map(str::to_owned),
            "channel" => {
                let name = string_field(value, "name").unwrap_or_default().to_owned();
                self.channel = read_id(value, "id").map(|id| (id, name));
            }
            _ => {}
        }
    }

    fn lacks_field(&self) -> bool {
        self.channel.is_none()
    }

    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        let (id, name) = self.channel.clone().unwrap_or_default();
        if !std::mem::replace(&mut self.has_begun, true) {
            let title =
                self.guild.as_deref().map_or_else(|| name.clone(), |guild| format!("{guild} / {name}"));
            items.push_back(begin_conversation(&id, Some(&title)));
        }
        items.push_back(match element.parse::<Value>() {
            Ok(value) => exported_item(&id, &value, element),
            Err(skip) => skip,
        });
    }
}

fn exported_item(conversation: &str, value: &Value, element: Element<'_>) -> Item {
    let place = element.place;
    if !matches!(
        string_field(value, "type"),
        // Replies to commands: the exporter writes unknown kinds as numbers.
        None | Some(
            "Default"
                | "Reply"
                | "ThreadStarterMessage"
                | "ChatInputCommand"
                | "ContextMenuCommand"
                | "20"
                | "23"
        )
    ) {
        return Item::Skip(Skip::new(place, "it is a notice of the program, not a message"));
    }
    let Some(id) = read_id(value, "id") else { return Item::Skip(Skip::new(place, "it has no id")) };
    let author = value.get("author").unwrap_or(&Value::Null);
    let speaker =
        string_field(author, "nickname").or_else(|| string_field(author, "name")).unwrap_or_default();
    let time = string_field(value, "timestamp").map_or(MessageTime::Unknown, MessageTime::parse);
    // A forwarded text is not the sender's, and its author is unknown.
    let forwarded = value.get("forwardedMessage").filter(|forwarded| forwarded.is_object());
    let forwarder = format!("forwarded by {speaker}");
    let (value, speaker) = forwarded.map_or((value, speaker), |forwarded| (forwarded, &forwarder));
    let list = |key: &str| value.get(key).and_then(Value::as_array).into_iter().flatten();
    let text = match string_field(value, "content") {
        Some(text) => text.to_owned(),
        // A bot's message often has its text only in embeds.
        None => {
            list("embeds").map(embedded_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
        }
    };
    let mut message =
        build_message(ExternalId::Given(id), conversation, (speaker, Role::Other), time, text, place);
    message.attachments = list("attachments")
        .filter_map(|file| string_field(file, "fileName"))
        .map(attachment_from_path)
        .collect();
    message.attachments.extend(list("stickers").map(|sticker| Attachment {
        kind: AttachmentKind::Sticker,
        name: string_field(sticker, "name").map(str::to_owned),
    }));
    let links = list("embeds").filter_map(|embed| string_field(embed, "url"));
    if message.text.is_empty() && message.attachments.is_empty() {
        let names = links.map(|link| Attachment {
            kind: AttachmentKind::File,
            name: Some(link.chars().take(256).collect()),
        });
        message.attachments.extend(names);
    }
    message.is_cleaned = element.is_cleaned;
    check_message(message)
}

/// Title, description and fields of an embed, as lines.
fn embedded_text(embed: &Value) -> String {
    let fields = embed.get("fields").and_then(Value::as_array).into_iter().flatten().map(|field| {
        let parts = [string_field(field, "name"), string_field(field, "value")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    });
    let texts = [string_field(embed, "title"), string_field(embed, "description")]
        .into_iter()
        .flatten()
        .map(str::to_owned);
    texts.chain(fields).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn is_package(context: &ReaderContext<'_>) -> bool {
    let is_csv = context
        .head
        .complete_lines()
        .next()
        .is_some_and(|line| line.trim() == "ID,Timestamp,Contents,Attachments");
    is_csv || context.head.is_array_of(&["ID", "Timestamp", "Contents", "Attachments"])
}

fn open_package(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let channel = read_json_in_folder(context, "channel.json").unwrap_or_default();
    let fallback = context.source.folder().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let id = read_id(&channel, "id").unwrap_or_else(|| fallback.trim_start_matches('c').to_owned());
    let guild = channel.get("guild").and_then(|guild| string_field(guild, "name"));
    let title = match (guild, string_field(&channel, "name")) {
        (Some(guild), Some(name)) => Some(format!("{guild} / {name}")),
        (_, name) => name.map(str::to_owned),
    };
    let user = ["../../account/user.json", "../../Account/user.json"]
        .iter()
        .find_map(|path| read_json_two_folders_up(context, path));
    let speaker = user.as_ref().and_then(|user| {
        string_field(user, "global_name").or_else(|| string_field(user, "username")).map(str::to_owned)
    });
    let package =
        Package { id, title, speaker: speaker.unwrap_or_else(|| "User".to_owned()), has_begun: false };
    if context.head.json.is_some() {
        return oldest_first(|| listed::open(context, package.clone()));
    }
    oldest_first(|| {
        Ok(reader_of_steps(PackageCsv {
            records: CsvRecords::new(context.source.open_text()?, b',', ELEMENT_BYTES_MAX),
            name: context.source.name().to_owned(),
            package: package.clone(),
            has_header: false,
        }))
    })
}

/// A small JSON file in the same folder.
fn read_json_in_folder(context: &ReaderContext<'_>, name: &str) -> Option<Value> {
    let source = context.sources.find_sibling(context.source, name)?;
    serde_json::from_slice(&source.read_text(1024 * 1024).ok()??).ok()
}

/// A small JSON file two folders up: the export has `messages/c<id>/` beside `account/`.
fn read_json_two_folders_up(context: &ReaderContext<'_>, path: &str) -> Option<Value> {
    let mut folder = context.source.folder().trim_end_matches('/');
    let mut path = path;
    while let Some(rest) = path.strip_prefix("../") {
        folder = folder.rfind('/').map_or("", |at| &folder[..at]);
        path = rest;
    }
    let wanted = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let source = context.sources.list().iter().find(|source| source.name().eq_ignore_ascii_case(&wanted))?;
    serde_json::from_slice(&source.read_text(1024 * 1024).ok()??).ok()
}

#[derive(Clone)]
struct Package {
    id: String,
    title: Option<String>,
    speaker: String,
    has_begun: bool,
}

impl Package {
    fn add(
        &mut self,
        [id, time, text, files]: [&str; 4],
        is_cleaned: bool,
        place: String,
        items: &mut VecDeque<Item>,
    ) {
        if !std::mem::replace(&mut self.has_begun, true) {
            items.push_back(begin_conversation(&self.id, self.title.as_deref()));
        }
        if id.is_empty() {
            items.push_back(Item::Skip(Skip::new(place, "it has no id")));
            return;
        }
        // Times without an offset are in UTC.
        let time = match MessageTime::parse(time) {
            MessageTime::Local(at) => at
                .to_zoned(jiff::tz::TimeZone::UTC)
                .map_or(MessageTime::Unknown, |at| MessageTime::Instant(at.timestamp())),
            time => time,
        };
        let id = ExternalId::Given(id.to_owned());
        let mut message =
            build_message(id, &self.id, (&self.speaker, Role::User), time, text.to_owned(), place);
        message.attachments = files.split_whitespace().map(attachment_from_path).collect();
        message.is_cleaned = is_cleaned;
        items.push_back(check_message(message));
    }
}

impl ListedFormat for Package {
    fn read_element(&mut self, element: Element<'_>, items: &mut VecDeque<Item>) {
        match element.parse::<Value>() {
            Ok(value) => {
                let id = read_id(&value, "ID").unwrap_or_default();
                let text = |key: &str| string_field(&value, key).unwrap_or_default();
                let fields = [id.as_str(), text("Timestamp"), text("Contents"), text("Attachments")];
                self.add(fields, element.is_cleaned, element.place.clone(), items);
            }
            Err(skip) => items.push_back(skip),
        }
    }
}

struct PackageCsv {
    records: CsvRecords<DecodedReader>,
    name: String,
    package: Package,
    has_header: bool,
}

impl Step for PackageCsv {
    fn read_step(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        match self.records.next_record()? {
            None => return Ok(false),
            Some(_) if !std::mem::replace(&mut self.has_header, true) => {}
            Some(CsvRecord::TooLong { line }) => {
                items.push_back(Item::Skip(Skip::new(
                    format!("{}, line {line}", self.name),
                    "the record is too long",
                )));
            }
            Some(CsvRecord::Fields { line, fields, is_cleaned }) => {
                let field = |at: usize| fields.get(at).map(String::as_str).unwrap_or_default();
                let place = format!("{}, line {line}", self.name);
                self.package.add([field(0), field(1), field(2), field(3)], is_cleaned, place, items);
            }
        }
        Ok(true)
    }
}
