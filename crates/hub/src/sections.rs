//! Sections of a Markdown document: the text under a `##` or `###` heading.

use std::ops::Range;

/// Adds a text at the end of a section. A missing section is added at the end of the document.
pub fn append_to_section(document: &str, section: &str, text: &str) -> String {
    edit(document, section, text, |body, text| join(body.trim_end(), text))
}

/// Replaces the text of a section below its heading. A missing section is added at the end of the document.
pub fn rewrite_section(document: &str, section: &str, text: &str) -> String {
    edit(document, section, text, |_, text| text.to_owned())
}

/// Joins two texts with a blank line, or two lines of a list with a line end.
pub fn join(before: &str, after: &str) -> String {
    let (before, after) = (before.trim_end(), after.trim());
    match (before.trim().is_empty(), after.is_empty()) {
        (true, _) => after.to_owned(),
        (_, true) => before.to_owned(),
        _ => {
            let lists =
                before.lines().last().is_some_and(is_bullet) && after.lines().next().is_some_and(is_bullet);
            format!("{before}{}{after}", if lists { "\n" } else { "\n\n" })
        }
    }
}

/// True if a line begins a list item.
pub fn is_bullet(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("- ") || line.starts_with("* ")
}

fn edit(document: &str, section: &str, text: &str, change: impl Fn(&str, &str) -> String) -> String {
    let text = without_heading(text, section);
    let Some(place) = find(document, section) else {
        let heading = format!("## {}\n\n{}", section.trim(), text.trim());
        // Inside an unclosed code fence the heading would not be recognised, and be added again with each edit.
        let closed = scan_headings(document).1.map(|fence| format!("{}\n{fence}", document.trim_end()));
        return format!("{}\n", join(closed.as_deref().unwrap_or(document), heading.trim_end()));
    };
    let body = change(&document[place.body.clone()], text.trim());
    let mut edited = document[..place.body.start].to_owned();
    if !edited.ends_with('\n') {
        edited.push('\n');
    }
    let body = body.trim_matches('\n');
    let rest = &document[place.body.end..];
    if !body.is_empty() {
        edited.push_str(if place.has_blank_line { "\n" } else { "" });
        edited.push_str(body);
        edited.push('\n');
    }
    if !rest.is_empty() {
        edited.push('\n');
        edited.push_str(rest);
    }
    edited
}

/// The text without a heading that repeats the name of its section.
fn without_heading<'a>(text: &'a str, section: &str) -> &'a str {
    let trimmed = text.trim_start();
    let first = trimmed.lines().next().unwrap_or_default();
    match parse_heading(first) {
        Some((_, name)) if name == section.trim() => &trimmed[first.len()..],
        _ => text,
    }
}

struct SectionRange {
    /// Range from the line after the heading to the next heading of the same or a higher level.
    body: Range<usize>,
    has_blank_line: bool,
}

fn find(document: &str, section: &str) -> Option<SectionRange> {
    let wanted = section.trim();
    let mut found: Option<(usize, usize)> = None;
    let mut body = None;
    for (start, end, rank, name) in find_headings(document) {
        match found {
            None if matches!(rank, 2 | 3) && name == wanted => found = Some((end, rank)),
            Some((from, own)) if rank <= own => {
                body = Some(from..start);
                break;
            }
            _ => {}
        }
    }
    let body = body.or_else(|| found.map(|(from, _)| from..document.len()))?;
    let text = &document[body.clone()];
    let has_blank_line = text.lines().next().is_none_or(|line| line.trim().is_empty());
    Some(SectionRange { body, has_blank_line })
}

/// Start of the heading's line, start of the next line, level, name.
type Heading<'a> = (usize, usize, usize, &'a str);

/// Headings outside of fenced code.
fn find_headings(document: &str) -> Vec<Heading<'_>> {
    scan_headings(document).0
}

/// The result of [`find_headings`], and the code fence that is open at the end, if any.
fn scan_headings(document: &str) -> (Vec<Heading<'_>>, Option<&'static str>) {
    let mut found = Vec::new();
    let mut fence: Option<&'static str> = None;
    let mut start = 0;
    for line in document.split_inclusive('\n') {
        let end = start + line.len();
        let text = line.trim_end();
        let opened = ["```", "~~~"].into_iter().find(|mark| text.trim_start().starts_with(mark));
        match (fence, opened) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => found.extend(parse_heading(text).map(|(rank, name)| (start, end, rank, name))),
            _ => {}
        }
        start = end;
    }
    (found, fence)
}

/// The level and the name of a heading line. `##Name` counts as one, as in the compatible layout.
fn parse_heading(line: &str) -> Option<(usize, &str)> {
    let rank = line.bytes().take_while(|byte| *byte == b'#').count();
    let name = line[rank..].trim();
    let is_heading = (1..=6).contains(&rank)
        && !name.is_empty()
        && (line[rank..].starts_with([' ', '\t']) || matches!(rank, 2 | 3));
    is_heading.then_some((rank, name))
}

/// Splits a document at its `##` and `###` headings. The part before the first one has no name.
fn split_at_headings(document: &str) -> Vec<(Option<&str>, &str)> {
    let mut cuts: Vec<(usize, Option<&str>)> = vec![(0, None)];
    for (start, _, rank, name) in find_headings(document) {
        if matches!(rank, 2 | 3) {
            cuts.push((start, Some(name)));
        }
    }
    let ends = cuts.iter().skip(1).map(|(start, _)| *start).chain([document.len()]);
    cuts.iter().zip(ends).map(|((start, name), end)| (*name, &document[*start..end])).collect()
}

/// Merges two versions that changed different sections of `base`. `None` if both changed the same section, or if
/// sections were added, removed or moved: then a person decides.
pub fn merge_sections(base: &str, one: &str, other: &str) -> Option<String> {
    let (base, one, other) = (split_at_headings(base), split_at_headings(one), split_at_headings(other));
    let names = |parts: &[(Option<&str>, &str)]| -> Vec<Option<String>> {
        parts.iter().map(|(name, _)| name.map(str::to_owned)).collect()
    };
    if names(&base) != names(&one) || names(&base) != names(&other) {
        return None;
    }
    let mut merged = String::new();
    for ((base, one), other) in base.iter().zip(&one).zip(&other) {
        // The end of the section's last line may belong to a neighbour's change.
        let same = |a: &str, b: &str| a.trim_end() == b.trim_end();
        let text = match (same(base.1, one.1), same(base.1, other.1)) {
            (true, _) => other.1,
            (false, true) => one.1,
            (false, false) if same(one.1, other.1) => one.1,
            _ => return None,
        };
        if !merged.is_empty() && !merged.ends_with('\n') {
            merged.push_str("\n\n");
        }
        merged.push_str(text);
    }
    Some(merged)
}
