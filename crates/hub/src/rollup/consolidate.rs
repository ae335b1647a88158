//! Roll-ups on request.

use std::collections::BTreeSet;

use memory::Scope;

use super::due::{finer_granularity, pending_periods};
use crate::api::memories::{Consolidation, Consolidations, MemoryConsolidate, PendingPeriod};
use crate::error::HubError;
use crate::memories::diary_name;
use crate::names::{DiaryDate, DiaryName, DocumentName, Granularity};
use crate::service::{Caller, Hub};

const ROLLUP_TIERS: [Granularity; 3] = [Granularity::Weekly, Granularity::Monthly, Granularity::Yearly];

/// The result of a request to summarise one period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollupOutcome {
    Written,
    /// The roll-up exists, and none of its sources has changed since.
    Current,
    /// There are no sources of this granularity.
    NoSources(Granularity),
    /// The roll-up could not be written, for this reason; it will be tried again.
    Failed(String),
}

impl Hub {
    /// Periods with sources whose roll-up is missing or outdated, the oldest first, the finer before the coarser.
    pub async fn pending_periods(&self, scope: &Scope) -> Result<Vec<PendingPeriod>, HubError> {
        let documents = self.all_memories(scope).await?;
        let stale = documents.iter().filter(|document| document.stale);
        let stale: BTreeSet<&DiaryName> = stale.filter_map(|document| diary_name(&document.name)).collect();
        let mut periods = Vec::new();
        for granularity in ROLLUP_TIERS {
            let due = self.due_rollups_of_memories(&documents, scope, granularity).await?;
            let mut untold: Vec<DiaryName> = pending_periods(&documents, granularity).into_iter().collect();
            untold.sort_by_key(DiaryName::date);
            periods.extend(untold.into_iter().map(|name| PendingPeriod {
                kind: granularity.as_str().to_owned(),
                filename: format!("{}.md", name.stem()),
                due: due.contains(&name),
                stale: stale.contains(&name),
            }));
        }
        Ok(periods)
    }

    /// Writes one roll-up now, whether or not its period has ended.
    pub async fn rewrite_rollup(&self, scope: &Scope, name: &DiaryName) -> Result<RollupOutcome, HubError> {
        if !ROLLUP_TIERS.contains(&name.granularity()) {
            let word = name.granularity().as_str();
            return Err(HubError::Invalid(format!("a {word} memory is not a roll-up; nothing was written")));
        }
        let document = self.document(scope, &DocumentName::Diary(name.clone())).await?;
        if document.is_some_and(|document| document.content().is_some() && !document.stale) {
            return Ok(RollupOutcome::Current);
        }
        if self.rollup_sources(scope, name).await?.is_empty() {
            return Ok(RollupOutcome::NoSources(finer_granularity(name.granularity())));
        }
        Ok(self
            .write_rollup(scope, name)
            .await?
            .map_or_else(RollupOutcome::Failed, |()| RollupOutcome::Written))
    }

    /// Writes roll-ups now: of one period, of one granularity, or all that are due.
    pub async fn memory_consolidate(
        &self,
        caller: &Caller,
        input: MemoryConsolidate,
    ) -> Result<Consolidations, HubError> {
        let scope = &caller.scope;
        let mut consolidations = Vec::new();
        match (input.all, input.granularity, input.target_date) {
            (true, _, _) => {
                for granularity in ROLLUP_TIERS {
                    self.consolidate_due(scope, granularity, &mut consolidations).await?;
                }
            }
            (false, Some(granularity), None) if ROLLUP_TIERS.contains(&granularity) => {
                self.consolidate_due(scope, granularity, &mut consolidations).await?;
            }
            (false, Some(granularity), Some(date)) if ROLLUP_TIERS.contains(&granularity) => {
                let name = containing_period(granularity, date)?;
                consolidations.push(self.consolidate_one(scope, name).await?);
            }
            _ => {
                return Ok(Consolidations {
                    success: false,
                    consolidations,
                    message: "send `all: true`, or a `granularity` of weekly, monthly or yearly".to_owned(),
                });
            }
        }
        let failed = consolidations.iter().filter(|consolidation| !consolidation.success).count();
        let written = consolidations.len() - failed;
        let message = match (written, failed) {
            (0, 0) => "all roll-ups are up to date".to_owned(),
            (written, 0) => format!("wrote {written}"),
            (written, failed) => format!("wrote {written}, {failed} failed"),
        };
        Ok(Consolidations { success: failed == 0, consolidations, message })
    }

    async fn consolidate_due(
        &self,
        scope: &Scope,
        granularity: Granularity,
        consolidations: &mut Vec<Consolidation>,
    ) -> Result<(), HubError> {
        for name in self.due_periods(scope, granularity).await? {
            let summary_result = self.write_rollup(scope, &name).await?;
            consolidations.push(consolidation(&name, summary_result.err()));
        }
        Ok(())
    }

    async fn consolidate_one(&self, scope: &Scope, name: DiaryName) -> Result<Consolidation, HubError> {
        let error = match self.rewrite_rollup(scope, &name).await? {
            RollupOutcome::Written => None,
            RollupOutcome::Current => Some("Already consolidated".to_owned()),
            RollupOutcome::NoSources(tier) => {
                Some(format!("No {} source files found for this period", tier.as_str()))
            }
            RollupOutcome::Failed(error) => Some(error),
        };
        Ok(consolidation(&name, error))
    }
}

fn consolidation(name: &DiaryName, error: Option<String>) -> Consolidation {
    Consolidation {
        granularity: name.granularity(),
        date_str: name.date().to_string(),
        success: error.is_none(),
        error,
    }
}

/// The period with this name or containing this date.
fn containing_period(granularity: Granularity, date: DiaryDate) -> Result<DiaryName, HubError> {
    if date.matches_granularity(granularity) {
        return Ok(DiaryName::new(granularity, date, None, None)?);
    }
    let date = match (granularity, date) {
        (Granularity::Weekly, DiaryDate::Day(day)) => DiaryDate::containing_week(day),
        (Granularity::Monthly, DiaryDate::Week(week)) => DiaryDate::month_of_week(week),
        (Granularity::Monthly, DiaryDate::Day(day)) => DiaryDate::Month(day.first_of_month()),
        (Granularity::Yearly, DiaryDate::Day(day) | DiaryDate::Month(day)) => {
            DiaryDate::Year(day.first_of_year())
        }
        (Granularity::Yearly, DiaryDate::Week(week)) => match DiaryDate::month_of_week(week) {
            DiaryDate::Month(first) => DiaryDate::Year(first.first_of_year()),
            other => other,
        },
        (granularity, date) => {
            let word = granularity.as_str();
            return Err(HubError::Invalid(format!("`{date}` contains several {word} periods: choose one")));
        }
    };
    Ok(DiaryName::new(granularity, date, None, None)?)
}
