//! The daily spend cap: the cost of model calls since midnight. At the cap, background work waits.

use std::sync::Arc;

use async_trait::async_trait;
use hub::Summariser;
use hub::ports::{SummaryError, SummaryRequest};
use jiff::Timestamp;
use memory::ports::StoreError;
use memory::{Scope, UserId};

use crate::core::RuntimeCore;
use crate::events::memory_bodies::WorkFailed;

/// State of spending against its caps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// US dollars since midnight in the daemon's zone, as far as prices are known.
    pub today_usd: f64,
    /// US dollars above which background work waits; `None` for no cap.
    pub cap_usd: Option<f64>,
    /// The next midnight, when the sum is reset.
    pub resumes_at: Timestamp,
}

impl Spending {
    /// True if background work waits. Replies go on.
    pub fn is_limit_reached(&self) -> bool {
        self.cap_usd.is_some_and(|cap| self.today_usd >= cap)
    }

    /// A notice for the user; `None` while no work waits.
    pub fn notice(&self) -> Option<String> {
        let cap = self.cap_usd.filter(|_| self.is_limit_reached())?;
        Some(format!(
            "{:.2} US dollars were spent today, and the cap is {cap:.2} (llm.daily_spend_cap): new memories \
             are written again from {}. Replies continue, and nothing is lost; raise the cap to continue now",
            self.today_usd, self.resumes_at
        ))
    }
}

impl RuntimeCore {
    /// Current spending, with the caps.
    pub(crate) async fn spending_today(&self) -> Result<Spending, StoreError> {
        let (midnight, resumes_at) = self.current_day();
        let today_usd = self.store().spent_since(midnight).await?;
        Ok(Spending { today_usd, cap_usd: self.settings().daily_spend_cap, resumes_at })
    }

    /// The last and the next midnight in the daemon's zone, at which daily limits are reset.
    pub(crate) fn current_day(&self) -> (Timestamp, Timestamp) {
        let now = self.clock().now();
        let today = now.to_zoned(self.settings().zone.clone());
        let midnight = today.start_of_day().map_or(now, |midnight| midnight.timestamp());
        let next = today.tomorrow().and_then(|tomorrow| tomorrow.start_of_day());
        (midnight, next.map_or(now, |midnight| midnight.timestamp()))
    }

    /// True if background work may spend. The first refusal of a day is published. Without a cap the store is not
    /// asked.
    pub(crate) async fn may_spend(&self) -> bool {
        if self.settings().daily_spend_cap.is_none() {
            return true;
        }
        let spending = match self.spending_today().await {
            Ok(spending) => spending,
            Err(error) => {
                tracing::warn!("today's spending is unknown, so background work is paused: {error}");
                return false;
            }
        };
        let Some(reason) = spending.notice() else { return true };
        let previous = self.cap_reported_until.lock().replace(spending.resumes_at);
        if previous != Some(spending.resumes_at) {
            tracing::warn!("{reason}");
            let scope = Scope::new(self.settings().persona.clone(), UserId::owner());
            self.publish(&scope, WorkFailed::paused(reason, spending.resumes_at));
        }
        false
    }
}

impl RuntimeCore {
    /// The writer of roll-ups: the model, while the day's spending cap allows it.
    pub fn summariser(self: &Arc<Self>) -> Arc<dyn Summariser> {
        Arc::new(CappedSummariser(self.clone()))
    }
}

/// Writes roll-ups with the model, while the day's spending cap allows it.
struct CappedSummariser(Arc<RuntimeCore>);

#[async_trait]
impl Summariser for CappedSummariser {
    async fn summarise(&self, request: SummaryRequest) -> Result<Vec<String>, SummaryError> {
        if !self.0.may_spend().await {
            let reason = "today's spending is unknown or has reached the cap (llm.daily_spend_cap)";
            return Err(SummaryError(reason.to_owned()));
        }
        self.0.mind().summarise(request).await
    }

    fn source_tokens_max(&self) -> u32 {
        self.0.mind().source_tokens_max()
    }
}
