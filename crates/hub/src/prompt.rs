//! What a reply's prompt takes from the shared self.

use jiff::civil::Date;
use memory::Scope;

use crate::documents::core_block_of;
use crate::error::HubError;
use crate::hub::Hub;
use crate::identity::labelled;
use crate::memories::memory_of;
use crate::names::{Granularity, MemoryDate};
use crate::port::DocumentFilter;

/// A span of so many days or more is asked of the years, the months, the weeks.
const DAYS_OF_YEARS: i32 = 300;
const DAYS_OF_MONTHS: i32 = 25;
const DAYS_OF_WEEKS: i32 = 6;
/// Most periods of one span.
const PERIODS_MAX: usize = 4;

impl Hub {
    /// Identity documents beyond the core blocks, each with what it is called, in the order of the prompt.
    pub async fn documents_for_prompt(&self, scope: &Scope) -> Result<Vec<(String, String)>, HubError> {
        let documents = self.identity_documents(scope).await?;
        let others = documents.iter().filter(|document| core_block_of(&document.name, scope).is_none());
        Ok(others.filter_map(labelled).collect())
    }

    /// The roll-ups that tell a span of days, the coarsest that it can fill; none for less than a week.
    pub async fn periods_for_prompt(
        &self,
        scope: &Scope,
        first: Date,
        last: Date,
    ) -> Result<Vec<(String, String)>, HubError> {
        let days = (last - first).get_days() + 1;
        let granularity = match days {
            DAYS_OF_YEARS.. => Granularity::Yearly,
            DAYS_OF_MONTHS.. => Granularity::Monthly,
            DAYS_OF_WEEKS.. => Granularity::Weekly,
            _ => return Ok(Vec::new()),
        };
        let filter = DocumentFilter { granularities: vec![granularity], ..DocumentFilter::default() };
        let documents = self.inner().parts.store.documents(scope, filter).await?;
        let mut told: Vec<(MemoryDate, String)> = documents
            .iter()
            .filter_map(|document| Some((memory_of(&document.name)?.date(), document.content()?)))
            .filter(|(date, _)| is_mostly_within(*date, first, last))
            .map(|(date, text)| (date, without_title(text)))
            .collect();
        told.sort();
        told.truncate(PERIODS_MAX);
        Ok(told.into_iter().map(|(date, text)| (date.to_string(), text)).collect())
    }
}

/// Whether the middle of a period lies in the span: a month's weeks reach into its neighbours.
fn is_mostly_within(date: MemoryDate, first: Date, last: Date) -> bool {
    let length = (date.last_day() - date.first_day()).get_days();
    let middle = date.first_day().saturating_add(jiff::Span::new().days(length / 2));
    (first..=last).contains(&middle)
}

fn without_title(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
    lines.join("\n").trim().to_owned()
}
