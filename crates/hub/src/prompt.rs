//! Documents for a reply's prompt.

use std::collections::BTreeSet;

use jiff::ToSpan as _;
use jiff::civil::Date;
use memory::Scope;

use crate::daily::without_tags;
use crate::documents::core_block_of;
use crate::error::HubError;
use crate::identity::{in_order_of_the_prompt, label_or_stem};
use crate::lore::NamedLore;
use crate::names::{DiaryDate, DiaryName, DocumentName, Granularity};
use crate::search::RelatedMemory;
use crate::service::Hub;

/// Minimum days of a time span that yearly, monthly or weekly roll-ups describe.
const DAYS_OF_YEARS: i32 = 300;
const DAYS_OF_MONTHS: i32 = 25;
const DAYS_OF_WEEKS: i32 = 6;
/// Maximum periods for one time span. Each is a summary of up to a page.
const PERIODS_MAX: usize = 12;
/// Maximum time spans to look up for one text, in the order of their mention: a sentence names one or two.
const NAMED_SPANS_MAX: usize = 4;
/// Characters of a text to read: more than any prompt has room for.
const LENGTH_MAX: u32 = 20_000;

/// Texts for a prompt, each with its label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptDocuments {
    /// Identity documents other than the core blocks, in the order of the prompt.
    pub documents: Vec<(String, String)>,
    /// Roll-ups of the time spans, the oldest first.
    pub periods: Vec<(String, String)>,
    /// Texts of other programs about the message, the most relevant first.
    pub related: Vec<RelatedMemory>,
    /// Entries of lorebooks whose keys are named, the most important first.
    pub lore: Vec<NamedLore>,
}

impl Hub {
    /// Reads the identity documents other than the core blocks, and for each time span (first and last day) the
    /// coarsest roll-ups that cover it; none for less than a week. It is one read, independent of the length of the
    /// past.
    pub async fn for_prompt(
        &self,
        scope: &Scope,
        spans: &[(Date, Date)],
    ) -> Result<PromptDocuments, HubError> {
        let spans: Vec<Vec<Vec<DiaryName>>> =
            spans.iter().take(NAMED_SPANS_MAX).map(|(first, last)| rollups_of_span(*first, *last)).collect();
        let wanted: BTreeSet<DiaryName> = spans.iter().flatten().flatten().cloned().collect();
        let store = &self.shared_parts().parts.store;
        let texts = store.shown_texts(scope, wanted.into_iter().collect(), LENGTH_MAX).await?;
        let mut documents = Vec::new();
        let mut summaries: Vec<(DiaryName, String)> = Vec::new();
        for shown in texts {
            let text = without_tags(&shown.text).trim().to_owned();
            match shown.name {
                DocumentName::Diary(name) => summaries.push((name, without_title(&text))),
                name if text.is_empty() || core_block_of(&name, scope).is_some() => {}
                name => documents.push((name, shown.prompt_label, text)),
            }
        }
        documents.sort_by(|(one, ..), (other, ..)| in_order_of_the_prompt(one, other));
        let was_mentioned =
            |name: &DiaryName| summaries.iter().any(|(known, text)| known == name && !text.is_empty());
        let chosen: BTreeSet<&DiaryName> = spans
            .iter()
            .filter_map(|tiers| tiers.iter().find(|names| names.iter().any(was_mentioned)))
            .flatten()
            .collect();
        summaries.retain(|(name, text)| chosen.contains(name) && !text.is_empty());
        summaries.sort_by_key(|(name, _)| name.date());
        Ok(PromptDocuments {
            documents: documents
                .into_iter()
                .map(|(name, label, text)| (label_or_stem(label.as_deref(), &name), text))
                .collect(),
            periods: summaries.into_iter().map(|(name, text)| (name.date().to_string(), text)).collect(),
            related: Vec::new(),
            lore: Vec::new(),
        })
    }
}

/// The roll-ups that can cover a time span, the coarsest granularity first.
fn rollups_of_span(first: Date, last: Date) -> Vec<Vec<DiaryName>> {
    let days = (last - first).get_days() + 1;
    let fitting = [
        (DAYS_OF_YEARS, Granularity::Yearly),
        (DAYS_OF_MONTHS, Granularity::Monthly),
        (DAYS_OF_WEEKS, Granularity::Weekly),
    ];
    let fitting = fitting.into_iter().filter(|(least, _)| days >= *least);
    let names = fitting.map(|(_, granularity)| periods_within(granularity, first, last));
    names.filter(|names| (1..=PERIODS_MAX).contains(&names.len())).collect()
}

/// The periods with most of their days in the span, oldest first. At most one more than [`PERIODS_MAX`], so that the
/// caller notices when there are too many.
fn periods_within(granularity: Granularity, first: Date, last: Date) -> Vec<DiaryName> {
    let mut names = Vec::new();
    let mut day = first;
    while names.len() <= PERIODS_MAX {
        let date = match granularity {
            Granularity::Yearly => DiaryDate::Year(day.first_of_year()),
            Granularity::Monthly => DiaryDate::Month(day.first_of_month()),
            _ => DiaryDate::containing_week(day),
        };
        if is_mostly_within(date, first, last) {
            names.extend(DiaryName::new(granularity, date, None, None));
        }
        match date.last_day().checked_add(1.day()) {
            Ok(next) if next <= last => day = next,
            _ => break,
        }
    }
    names
}

/// True if the middle of a period is in the span, because the weeks of a month reach into its neighbours.
fn is_mostly_within(date: DiaryDate, first: Date, last: Date) -> bool {
    let length = (date.last_day() - date.first_day()).get_days();
    let middle = date.first_day().saturating_add((length / 2).days());
    (first..=last).contains(&middle)
}

/// A roll-up without its title and without comments of programs.
fn without_title(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.starts_with("# ") && !line.starts_with("<!--")).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn periods_of_span(first: &str, last: &str) -> Vec<String> {
        let tiers = rollups_of_span(first.parse().unwrap(), last.parse().unwrap());
        let names = |names: Vec<DiaryName>| names.iter().map(DiaryName::stem).collect::<Vec<_>>().join(" ");
        tiers.into_iter().map(names).collect()
    }

    #[test]
    fn a_span_is_described_by_the_periods_that_lie_mostly_in_it() {
        assert_eq!(periods_of_span("2026-03-09", "2026-03-14"), ["2026-W11"]);
        assert_eq!(periods_of_span("2026-03-09", "2026-03-12"), Vec::<String>::new());
        assert_eq!(
            periods_of_span("2025-06-01", "2025-08-31"),
            ["2025-06 2025-07 2025-08"],
            "thirteen weeks are more than a prompt has room for"
        );
        assert_eq!(
            periods_of_span("2026-02-01", "2026-02-28"),
            ["2026-02", "2026-W06 2026-W07 2026-W08 2026-W09"]
        );
        assert_eq!(periods_of_span("2024-12-01", "2025-02-28"), ["2024-12 2025-01 2025-02"]);
        let year = periods_of_span("2025-01-01", "2025-12-31");
        assert_eq!(year[0], "2025");
        assert_eq!(year[1].split(' ').count(), 12);
        assert_eq!(periods_of_span("1900-01-01", "2100-12-31"), Vec::<String>::new());
    }
}
