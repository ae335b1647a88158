//! Determines which periods need a roll-up, and its sources.

use std::collections::BTreeSet;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use memory::Scope;

use crate::documents::Document;
use crate::error::HubError;
use crate::memories::diary_name;
use crate::names::{DiaryDate, DiaryName, DocumentName, Granularity};
use crate::ports::DocumentFilter;
use crate::service::Hub;

/// The granularity of the sources of a roll-up.
pub(super) fn finer_granularity(granularity: Granularity) -> Granularity {
    match granularity {
        Granularity::Monthly => Granularity::Weekly,
        Granularity::Yearly => Granularity::Monthly,
        _ => Granularity::Daily,
    }
}

/// The roll-up of this granularity that includes a memory.
fn rollup_above(name: &DiaryName, granularity: Granularity) -> Option<DiaryName> {
    name.roll_ups_above().into_iter().find(|above| above.granularity() == granularity)
}

/// The last day of a period's last week.
pub(super) fn last_sunday(name: &DiaryName) -> Date {
    let last = match name.date() {
        DiaryDate::Month(first) => first.last_of_month(),
        DiaryDate::Year(first) => first.last_of_year(),
        date => return date.last_day(),
    };
    // The last week whose Thursday is in the month.
    let back = (last.weekday().to_monday_zero_offset() - 3).rem_euclid(7);
    let thursday = last.saturating_sub(jiff::Span::new().days(i64::from(back)));
    thursday.saturating_add(jiff::Span::new().days(3))
}

/// The Monday of a period's first week.
fn first_monday(name: &DiaryName) -> Date {
    match name.date() {
        DiaryDate::Month(first) | DiaryDate::Year(first) => {
            let ahead = (3 - first.weekday().to_monday_zero_offset()).rem_euclid(7);
            let thursday = first.saturating_add(jiff::Span::new().days(i64::from(ahead)));
            thursday.saturating_sub(jiff::Span::new().days(3))
        }
        date => date.first_day(),
    }
}

impl Hub {
    /// Finished periods of one granularity without an unfinished session, with complete sources, and whose roll-up is
    /// missing or outdated; the oldest first.
    pub(super) async fn due_periods(
        &self,
        scope: &Scope,
        granularity: Granularity,
    ) -> Result<Vec<DiaryName>, HubError> {
        let documents = self.all_memories(scope).await?;
        self.due_rollups_of_memories(&documents, scope, granularity).await
    }

    /// Reads all memories, including deleted ones, to find the periods that are due.
    pub(super) async fn all_memories(&self, scope: &Scope) -> Result<Vec<Document>, HubError> {
        let filter = DocumentFilter { deleted: true, ..DocumentFilter::all_memories() };
        Ok(self.shared_parts().parts.store.documents(scope, filter).await?)
    }

    /// The due roll-ups, given all memories.
    pub(super) async fn due_rollups_of_memories(
        &self,
        documents: &[Document],
        scope: &Scope,
        granularity: Granularity,
    ) -> Result<Vec<DiaryName>, HubError> {
        let zone = self.persona_zone(scope).await?;
        let today = self.now().to_zoned(zone.clone()).date();
        let mut due = Vec::new();
        for period in pending_periods(documents, granularity) {
            if last_sunday(&period) < today
                && is_lower_tier_written(documents, &period)
                && !self.has_open_session(scope, &period, &zone).await?
            {
                due.push(period);
            }
        }
        due.sort_by_key(DiaryName::date);
        Ok(due)
    }

    async fn has_open_session(
        &self,
        scope: &Scope,
        period: &DiaryName,
        zone: &TimeZone,
    ) -> Result<bool, HubError> {
        let start = first_monday(period).to_zoned(zone.clone());
        let end = last_sunday(period).saturating_add(jiff::Span::new().days(1)).to_datetime(Time::midnight());
        let end = end.to_zoned(zone.clone());
        let (Ok(start), Ok(end)) = (start, end) else { return Ok(false) };
        let store = &self.shared_parts().parts.store;
        Ok(store.has_unfinished_session(scope, start.timestamp(), end.timestamp()).await?)
    }

    /// Sources of a period's roll-up, the oldest first.
    pub(super) async fn rollup_sources(
        &self,
        scope: &Scope,
        period: &DiaryName,
    ) -> Result<Vec<Document>, HubError> {
        let granularities = vec![finer_granularity(period.granularity())];
        let filter = DocumentFilter { granularities, ..DocumentFilter::default() };
        let mut sources = self.shared_parts().parts.store.documents(scope, filter).await?;
        sources.retain(|document| {
            diary_name(&document.name)
                .and_then(|name| rollup_above(name, period.granularity()))
                .is_some_and(|above| above == *period)
        });
        sources.sort_by_key(|document| diary_name(&document.name).map(DiaryName::date));
        Ok(sources)
    }
}

/// Periods with sources whose roll-up is missing or outdated, finished or not.
pub(super) fn pending_periods(documents: &[Document], granularity: Granularity) -> BTreeSet<DiaryName> {
    let of = |granularity: Granularity| {
        documents.iter().filter(move |document| {
            diary_name(&document.name).is_some_and(|name| name.granularity() == granularity)
        })
    };
    let is_there = |document: &&Document| document.content().is_some();
    // A deleted roll-up stays deleted, unless it was removed because something in it was erased.
    let settled: BTreeSet<&DiaryName> =
        of(granularity).filter(|document| !document.stale).filter_map(|d| diary_name(&d.name)).collect();
    let stale = of(granularity).filter(|document| document.stale).filter_map(|d| diary_name(&d.name));
    let sources = of(finer_granularity(granularity)).filter(is_there).filter_map(|d| diary_name(&d.name));
    let mut periods: BTreeSet<DiaryName> =
        sources.filter_map(|source| rollup_above(source, granularity)).collect();
    periods.extend(stale.cloned());
    periods.retain(|period| !settled.contains(period));
    periods
}

/// True if the finer granularity is complete for this period: every part of it with memories has a current roll-up.
fn is_lower_tier_written(documents: &[Document], period: &DiaryName) -> bool {
    let tier = finer_granularity(period.granularity());
    if tier == Granularity::Daily {
        return true;
    }
    let lives: BTreeSet<&DiaryName> = documents
        .iter()
        .filter(|document| document.content().is_some())
        .filter_map(|document| diary_name(&document.name))
        .collect();
    let wanted = lives
        .iter()
        .filter(|name| name.granularity() < tier)
        .filter(|name| rollup_above(name, period.granularity()).as_ref() == Some(period))
        .filter_map(|name| rollup_above(name, tier));
    let known = |name: &DiaryName| {
        let name = DocumentName::Diary(name.clone());
        documents.iter().find(|document| document.name == name)
    };
    let mut wanted: BTreeSet<DiaryName> = wanted.collect();
    let own_tier = lives.iter().filter(|name| name.granularity() == tier);
    let in_period = own_tier.filter(|name| rollup_above(name, period.granularity()).as_ref() == Some(period));
    wanted.extend(in_period.map(|name| (**name).clone()));
    wanted.iter().all(|name| known(name).is_some_and(|document| !document.stale))
}
