//! Converts Markdown to Telegram's format: plain text, with entities for bold text, code and links.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;

/// A formatted range of a text. Offsets and lengths are in UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    kind: &'static str,
    offset: usize,
    length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
}

/// A text whose Markdown has become entities.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FormattedText {
    pub(super) text: String,
    pub(super) entities: Vec<Entity>,
}

/// An entity whose end has not been reached yet.
struct OpenEntity {
    kind: &'static str,
    start: usize,
    url: Option<String>,
    language: Option<String>,
}

/// Parses Markdown. What Telegram can't show stays text.
pub(super) fn format(markdown: &str) -> FormattedText {
    let mut formatter = Formatter::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH) {
        formatter.handle_event(event);
    }
    formatter.finish()
}

#[derive(Default)]
struct Formatter {
    output: FormattedText,
    open: Vec<OpenEntity>,
    /// The next number of each open list; `None` for lists without numbers.
    lists: Vec<Option<u64>>,
    /// Set when a block has ended: the next one starts behind an empty line.
    is_block_over: bool,
}

impl Formatter {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.close_tag(end),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.output.text.push_str(&text),
            Event::Code(code) => {
                self.open("code");
                self.output.text.push_str(&code);
                self.close();
            }
            Event::SoftBreak | Event::HardBreak => self.output.text.push('\n'),
            Event::Rule => {
                self.begin_block();
                self.output.text.push_str("———");
                self.is_block_over = true;
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.open("bold");
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.open("blockquote");
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split_whitespace().next().map(str::to_owned),
                    CodeBlockKind::Indented => None,
                };
                self.open("pre");
                if let Some(open) = self.open.last_mut() {
                    open.language = language;
                }
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.begin_item(),
            Tag::Emphasis => self.open("italic"),
            Tag::Strong => self.open("bold"),
            Tag::Strikethrough => self.open("strikethrough"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.open("text_link");
                if let Some(open) = self.open.last_mut() {
                    open.url = Some(dest_url.into_string());
                }
            }
            _ => {}
        }
    }

    fn close_tag(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.is_block_over = true,
            TagEnd::Heading(_) | TagEnd::BlockQuote(_) | TagEnd::CodeBlock => {
                self.close();
                self.is_block_over = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_block_over = true;
            }
            TagEnd::Item => self.is_block_over = false,
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image => {
                self.close();
            }
            _ => {}
        }
    }

    /// An empty line separates blocks.
    fn begin_block(&mut self) {
        if self.is_block_over {
            self.end_line();
            self.output.text.push('\n');
            self.is_block_over = false;
        }
    }

    fn begin_item(&mut self) {
        self.is_block_over = false;
        self.end_line();
        self.output.text.push_str(&"  ".repeat(self.lists.len().saturating_sub(1)));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.output.text.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.output.text.push_str("• "),
        }
    }

    fn end_line(&mut self) {
        if !self.output.text.is_empty() && !self.output.text.ends_with('\n') {
            self.output.text.push('\n');
        }
    }

    fn open(&mut self, kind: &'static str) {
        self.open.push(OpenEntity { kind, start: self.output.text.len(), url: None, language: None });
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let text = &self.output.text;
        let covered = text[open.start..].trim_end();
        // Nested quotations are flattened, because Telegram refuses them.
        let is_inner_quote =
            open.kind == "blockquote" && self.open.iter().any(|one| one.kind == "blockquote");
        if covered.is_empty() || is_inner_quote {
            return;
        }
        self.output.entities.push(Entity {
            kind: open.kind,
            offset: utf16_length(&text[..open.start]),
            length: utf16_length(covered),
            url: open.url,
            language: open.language,
        });
    }

    fn finish(mut self) -> FormattedText {
        self.output.text.truncate(self.output.text.trim_end().len());
        // The platform's order: of entities with the same start, the longer one first.
        self.output.entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length)));
        self.output
    }
}

fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts_of_entities(markdown: &str) -> (String, Vec<(&'static str, String)>) {
        let formatted = format(markdown);
        let units: Vec<u16> = formatted.text.encode_utf16().collect();
        let part = |entity: &Entity| {
            String::from_utf16(&units[entity.offset..entity.offset + entity.length]).unwrap()
        };
        let parts = formatted.entities.iter().map(|entity| (entity.kind, part(entity))).collect();
        (formatted.text, parts)
    }

    #[test]
    fn markdown_becomes_entities() {
        for (markdown, text, parts) in [
            ("Plain words, 2 * 3 * 4, snake_case_name and #tag.", "", &[][..]),
            ("One line\nand the next.\n\nA paragraph.", "", &[]),
            ("**Yes**, *really*.", "Yes, really.", &[("bold", "Yes"), ("italic", "really")]),
            ("😀 **好的**,~~不~~", "😀 好的,不", &[("bold", "好的"), ("strikethrough", "不")]),
            ("***both***", "both", &[("bold", "both"), ("italic", "both")]),
            ("Run `cargo test`.", "Run cargo test.", &[("code", "cargo test")]),
            (
                "See\n\n```rust\nfn a() {}\n```\n\nthere.",
                "See\n\nfn a() {}\n\nthere.",
                &[("pre", "fn a() {}")],
            ),
            ("# Plan\n\nGo.", "Plan\n\nGo.", &[("bold", "Plan")]),
            ("Buy:\n- milk\n- **bread**\n  - rye", "Buy:\n\n• milk\n• bread\n  • rye", &[("bold", "bread")]),
            ("3. three\n4. four", "3. three\n4. four", &[]),
            ("> quoted\n> twice\n\nmine", "quoted\ntwice\n\nmine", &[("blockquote", "quoted\ntwice")]),
            ("> a\n> > b", "a\n\nb", &[("blockquote", "a\n\nb")]),
            ("[here](https://example.org/a)", "here", &[("text_link", "here")]),
            ("5 < 6 & <b>7</b> \\* &amp;", "5 < 6 & <b>7</b> * &", &[]),
            ("one\n\n---\n\ntwo", "one\n\n———\n\ntwo", &[]),
            ("*not closed", "", &[]),
        ] {
            let text = if text.is_empty() { markdown } else { text };
            let parts = parts.iter().map(|(kind, part)| (*kind, (*part).to_owned())).collect();
            assert_eq!(texts_of_entities(markdown), (text.to_owned(), parts), "{markdown}");
        }
    }

    #[test]
    fn links_and_code_say_where_and_what() {
        let formatted = format("[a](https://example.org) ```x``` \n```sh\nls\n```");
        let json = serde_json::to_value(&formatted.entities).unwrap();
        assert_eq!(json[0]["url"], "https://example.org");
        assert_eq!(json[2], serde_json::json!({"type": "pre", "offset": 5, "length": 2, "language": "sh"}));
    }

    proptest! {
        #[test]
        fn entities_lie_within_the_text(markdown in "[a*_`~>#\\-\\[\\]()! \n😀好1.]{0,60}") {
            let formatted = format(&markdown);
            let units: Vec<u16> = formatted.text.encode_utf16().collect();
            for entity in formatted.entities {
                let part = units.get(entity.offset..entity.offset + entity.length);
                prop_assert!(part.is_some_and(|part| String::from_utf16(part).is_ok_and(|text| !text.trim().is_empty())));
            }
        }
    }
}
