//! Roll-ups that somebody asks for.

use std::collections::BTreeSet;

use memory::Scope;

use super::due::{below, untold};
use crate::door::memories::{Consolidation, Consolidations, MemoryConsolidate, UntoldPeriod};
use crate::error::HubError;
use crate::hub::{Caller, Hub};
use crate::memories::memory_of;
use crate::names::{DocumentName, Granularity, MemoryDate, MemoryName};

const TIERS: [Granularity; 3] = [Granularity::Weekly, Granularity::Monthly, Granularity::Yearly];

/// What came of asking for one period now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retold {
    /// It is written.
    Written,
    /// It was written before, and nothing of it has changed since.
    Current,
    /// There is nothing of this granularity to tell it from.
    NoSources(Granularity),
    /// It could not be written, and why; it is tried again by itself once it is over.
    Failed(String),
}

impl Hub {
    /// Periods that have something to tell and are unwritten or stale, the oldest first, the finer before the coarser.
    pub async fn untold_periods(&self, scope: &Scope) -> Result<Vec<UntoldPeriod>, HubError> {
        let documents = self.told_and_untold(scope).await?;
        let stale = documents.iter().filter(|document| document.stale);
        let stale: BTreeSet<&MemoryName> = stale.filter_map(|document| memory_of(&document.name)).collect();
        let mut periods = Vec::new();
        for granularity in TIERS {
            let due = self.due_among(&documents, scope, granularity).await?;
            let mut untold: Vec<MemoryName> = untold(&documents, granularity).into_iter().collect();
            untold.sort_by_key(MemoryName::date);
            periods.extend(untold.into_iter().map(|name| UntoldPeriod {
                kind: granularity.word().to_owned(),
                filename: format!("{}.md", name.stem()),
                due: due.contains(&name),
                stale: stale.contains(&name),
            }));
        }
        Ok(periods)
    }

    /// Writes one roll-up now, whether or not its period is over.
    pub async fn retell(&self, scope: &Scope, name: &MemoryName) -> Result<Retold, HubError> {
        if !TIERS.contains(&name.granularity()) {
            let word = name.granularity().word();
            return Err(HubError::Invalid(format!("a {word} memory is no roll-up; nothing was written")));
        }
        let document = self.document(scope, &DocumentName::Memory(name.clone())).await?;
        if document.is_some_and(|document| document.content().is_some() && !document.stale) {
            return Ok(Retold::Current);
        }
        if self.sources(scope, name).await?.is_empty() {
            return Ok(Retold::NoSources(below(name.granularity())));
        }
        Ok(self.tell(scope, name).await?.map_or_else(Retold::Failed, |()| Retold::Written))
    }

    /// Writes roll-ups now: one period, all that is behind at one level, or all that is behind.
    pub async fn memory_consolidate(
        &self,
        caller: &Caller,
        input: MemoryConsolidate,
    ) -> Result<Consolidations, HubError> {
        let scope = &caller.scope;
        let mut consolidations = Vec::new();
        match (input.all, input.granularity, input.target_date) {
            (true, _, _) => {
                for granularity in TIERS {
                    self.consolidate_due(scope, granularity, &mut consolidations).await?;
                }
            }
            (false, Some(granularity), None) if TIERS.contains(&granularity) => {
                self.consolidate_due(scope, granularity, &mut consolidations).await?;
            }
            (false, Some(granularity), Some(date)) if TIERS.contains(&granularity) => {
                let name = period(granularity, date)?;
                consolidations.push(self.consolidate_one(scope, name).await?);
            }
            _ => {
                return Ok(Consolidations {
                    success: false,
                    consolidations,
                    message: "say `all: true`, or a `granularity` of weekly, monthly or yearly".to_owned(),
                });
            }
        }
        let failed = consolidations.iter().filter(|consolidation| !consolidation.success).count();
        let written = consolidations.len() - failed;
        let message = match (written, failed) {
            (0, 0) => "nothing is behind".to_owned(),
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
        for name in self.due(scope, granularity).await? {
            let told = self.tell(scope, &name).await?;
            consolidations.push(consolidation(&name, told.err()));
        }
        Ok(())
    }

    async fn consolidate_one(&self, scope: &Scope, name: MemoryName) -> Result<Consolidation, HubError> {
        let error = match self.retell(scope, &name).await? {
            Retold::Written => None,
            Retold::Current => Some("Already consolidated".to_owned()),
            Retold::NoSources(tier) => Some(format!("No {} source files found for this period", tier.word())),
            Retold::Failed(error) => Some(error),
        };
        Ok(consolidation(&name, error))
    }
}

fn consolidation(name: &MemoryName, error: Option<String>) -> Consolidation {
    Consolidation {
        granularity: name.granularity(),
        date_str: name.date().to_string(),
        success: error.is_none(),
        error,
    }
}

/// The period that a date names or lies in.
fn period(granularity: Granularity, date: MemoryDate) -> Result<MemoryName, HubError> {
    if date.fits(granularity) {
        return Ok(MemoryName::new(granularity, date, None, None)?);
    }
    let date = match (granularity, date) {
        (Granularity::Weekly, MemoryDate::Day(day)) => MemoryDate::week_of(day),
        (Granularity::Monthly, MemoryDate::Week(week)) => MemoryDate::month_of_week(week),
        (Granularity::Monthly, MemoryDate::Day(day)) => MemoryDate::Month(day.first_of_month()),
        (Granularity::Yearly, MemoryDate::Day(day) | MemoryDate::Month(day)) => {
            MemoryDate::Year(day.first_of_year())
        }
        (Granularity::Yearly, MemoryDate::Week(week)) => match MemoryDate::month_of_week(week) {
            MemoryDate::Month(first) => MemoryDate::Year(first.first_of_year()),
            other => other,
        },
        (granularity, date) => {
            let word = granularity.word();
            return Err(HubError::Invalid(format!("`{date}` holds several {word} periods: name one")));
        }
    };
    Ok(MemoryName::new(granularity, date, None, None)?)
}
