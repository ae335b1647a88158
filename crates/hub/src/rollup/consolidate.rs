//! Roll-ups that somebody asks for.

use memory::Scope;

use super::due::below;
use crate::door::memories::{Consolidation, Consolidations, MemoryConsolidate};
use crate::error::HubError;
use crate::hub::{Caller, Hub};
use crate::names::{DocumentName, Granularity, MemoryDate, MemoryName};

const TIERS: [Granularity; 3] = [Granularity::Weekly, Granularity::Monthly, Granularity::Yearly];

impl Hub {
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
        let document = self.document(scope, &DocumentName::Memory(name.clone())).await?;
        if document.is_some_and(|document| document.content().is_some() && !document.stale) {
            return Ok(consolidation(&name, Some("Already consolidated".to_owned())));
        }
        if self.sources(scope, &name).await?.is_empty() {
            let tier = below(name.granularity()).word();
            let error = format!("No {tier} source files found for this period");
            return Ok(consolidation(&name, Some(error)));
        }
        let told = self.tell(scope, &name).await?;
        Ok(consolidation(&name, told.err()))
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
