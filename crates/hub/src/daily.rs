//! A daily: bullets and paragraphs, each once.

use std::collections::BTreeSet;

use crate::names::InstanceId;
use crate::sections::is_bullet;

/// A bullet of a diary.
pub fn diary_line(text: &str, chat: &str, instance: &InstanceId) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("- {text} [chat:{chat}] [via:{instance}]")
}

/// Merges two diaries. A bullet or paragraph is added unless the same chat and instance has it already; everything
/// else stays, in order.
pub fn merge_diaries(existing: &str, incoming: &str) -> String {
    let existing = existing.trim_end();
    if existing.trim().is_empty() {
        return with_line_end(incoming);
    }
    let has_title = existing.lines().any(is_title);
    let mut known: Vec<DailyBlock> =
        split_blocks(existing).iter().map(|block| DailyBlock::from_block(block)).collect();
    let mut merged = existing.to_owned();
    for block in split_blocks(incoming) {
        if has_title && is_title(block) {
            continue;
        }
        let said = DailyBlock::from_block(block);
        if known.iter().any(|other| other.has_same_source_and_words(&said)) {
            continue;
        }
        let in_list = is_bullet(block) && split_blocks(&merged).last().is_some_and(|last| is_bullet(last));
        merged.push_str(if in_list { "\n" } else { "\n\n" });
        merged.push_str(block);
        known.push(said);
    }
    with_line_end(&merged)
}

/// The text without `[chat:…]` and `[via:…]` tags, because the prompt of a reply names no channel or instance.
pub fn without_tags(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = ["[chat:", "[via:"].iter().filter_map(|tag| rest.find(tag)).min() {
        let (before, tag) = rest.split_at(at);
        // An unclosed tag is not a tag.
        let Some(end) = tag.find([']', '\n']).filter(|end| tag[*end..].starts_with(']')) else {
            let (opening, after) = tag.split_at(1);
            left.push_str(before);
            left.push_str(opening);
            rest = after;
            continue;
        };
        left.push_str(before.strip_suffix(' ').unwrap_or(before));
        rest = &tag[end + 1..];
    }
    left.push_str(rest);
    left
}

/// Removes a line and the lines that continue it; true if it was found.
pub fn remove_line(content: &str, line: &str) -> Option<String> {
    let kept: Vec<&str> = content.lines().filter(|known| known.trim() != line.trim()).collect();
    (kept.len() < content.lines().count()).then(|| with_line_end(&kept.join("\n")))
}

/// Replaces a line; true if it was found.
pub fn with_line_replaced(content: &str, line: &str, by: &str) -> Option<String> {
    let mut is_there = false;
    let lines = content.lines().map(|known| {
        let is_it = known.trim() == line.trim();
        is_there |= is_it;
        if is_it { by } else { known }
    });
    let replaced = lines.collect::<Vec<_>>().join("\n");
    is_there.then(|| with_line_end(&replaced))
}

/// The ids of `[chat:…]` tags.
pub fn chat_ids(content: &str) -> BTreeSet<String> {
    tags_in(content, "[chat:")
}

/// The ids of `[via:…]` tags.
pub fn instances_in_tags(content: &str) -> BTreeSet<InstanceId> {
    tags_in(content, "[via:").into_iter().filter_map(|id| id.parse().ok()).collect()
}

fn with_line_end(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

fn is_title(line: &str) -> bool {
    line.starts_with("# ")
}

fn tags_in(text: &str, opening: &str) -> BTreeSet<String> {
    let inside =
        text.split(opening).skip(1).filter_map(|rest| rest.split_once(']').map(|(inside, _)| inside));
    inside.flat_map(|ids| ids.split(',')).map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect()
}

/// A block of a daily, with its author.
struct DailyBlock {
    words: String,
    chats: BTreeSet<String>,
    instances: BTreeSet<String>,
}

impl DailyBlock {
    fn from_block(block: &str) -> Self {
        let mut words = String::new();
        let mut rest = block.trim();
        rest = rest.strip_prefix("- ").or_else(|| rest.strip_prefix("* ")).unwrap_or(rest);
        while let Some(at) = ["[chat:", "[via:"].iter().filter_map(|tag| rest.find(tag)).min() {
            words.push_str(&rest[..at]);
            rest = rest[at..].split_once(']').map_or("", |(_, after)| after);
        }
        words.push_str(rest);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { words, chats: tags_in(block, "[chat:"), instances: tags_in(block, "[via:") }
    }

    fn has_same_source_and_words(&self, other: &Self) -> bool {
        let meet = |one: &BTreeSet<String>, two: &BTreeSet<String>| one == two || !one.is_disjoint(two);
        self.words == other.words
            && meet(&self.chats, &other.chats)
            && meet(&self.instances, &other.instances)
    }
}

/// Splits a daily into blocks: bullets with the lines that continue them, and paragraphs. A fenced block is one
/// block, with its blank lines. A bullet that ends with its tags is complete: only indented lines continue it.
fn split_blocks(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let (mut from, mut at, mut is_fenced) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let starts_bullet = line.starts_with("- ") || line.starts_with("* ");
        let follows_tags = !line.starts_with([' ', '\t']) && is_tagged_bullet(&text[from..at]);
        let starts = starts_bullet || follows_tags || line.trim().is_empty() || line.starts_with('#');
        if starts && !is_fenced {
            push_block(&text[from..at], &mut found);
            from = at;
        }
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        at += line.len();
        // A heading is a block of its own.
        if line.starts_with('#') && !is_fenced {
            push_block(&text[from..at], &mut found);
            from = at;
        }
    }
    push_block(&text[from..], &mut found);
    found
}

fn is_tagged_bullet(block: &str) -> bool {
    let tags = |block: &str| block.ends_with(']') && (block.contains("[chat:") || block.contains("[via:"));
    is_bullet(block) && tags(block.trim_end())
}

fn push_block<'a>(block: &'a str, found: &mut Vec<&'a str>) {
    let block = block.trim_matches('\n').trim_end();
    if !block.trim().is_empty() {
        found.push(block);
    }
}
