//! The daily spend cap: what the models have cost since midnight, and whether work behind the talk waits.

use jiff::Timestamp;
use memory::ports::StoreError;
use memory::{Scope, UserId};

use crate::events::Event;
use crate::life::Life;

/// Whom the owner's watchers are told as about.
const OWNER: &str = "self";

/// How the spending stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// US dollars since midnight in the daemon's zone, as far as prices are known.
    pub today_usd: f64,
    /// US dollars from which work behind the talk waits; none is no cap.
    pub cap_usd: Option<f64>,
    /// The next midnight, when the count begins anew.
    pub resumes_at: Timestamp,
}

impl Spending {
    /// Whether work behind the talk waits. Replies go on.
    pub fn is_reached(&self) -> bool {
        self.cap_usd.is_some_and(|cap| self.today_usd >= cap)
    }

    /// What a person should know about it; none while nothing waits.
    pub fn notice(&self) -> Option<String> {
        let cap = self.cap_usd.filter(|_| self.is_reached())?;
        Some(format!(
            "{:.2} US dollars were spent today, and the cap is {cap:.2} (llm.daily_spend_cap): talk becomes memory \
             again at {}. Replies go on, and nothing is lost; raise the cap to go on now",
            self.today_usd, self.resumes_at
        ))
    }
}

impl Life {
    /// How the spending stands now.
    pub(crate) async fn spending(&self) -> Result<Spending, StoreError> {
        let now = self.clock().now();
        let today = now.to_zoned(self.settings.zone.clone());
        let midnight = today.start_of_day().map_or(now, |midnight| midnight.timestamp());
        let next = today.tomorrow().and_then(|tomorrow| tomorrow.start_of_day());
        Ok(Spending {
            today_usd: self.store().spent_since(midnight).await?,
            cap_usd: self.settings.daily_spend_cap,
            resumes_at: next.map_or(now, |midnight| midnight.timestamp()),
        })
    }

    /// Whether work behind the talk may spend. The first refusal of a day is told. Without a cap nobody is asked.
    pub(crate) async fn may_spend(&self, told_until: &mut Option<Timestamp>) -> bool {
        if self.settings.daily_spend_cap.is_none() {
            return true;
        }
        let spending = match self.spending().await {
            Ok(spending) => spending,
            Err(error) => {
                tracing::warn!("what was spent today is not known, so work behind the talk waits: {error}");
                return false;
            }
        };
        let Some(reason) = spending.notice() else { return true };
        if *told_until != Some(spending.resumes_at) {
            *told_until = Some(spending.resumes_at);
            tracing::warn!("{reason}");
            if let Ok(owner) = UserId::new(OWNER) {
                let scope = Scope::new(self.settings.persona.clone(), owner);
                self.tell(&scope, Event::WorkPaused { reason, resumes_at: spending.resumes_at });
            }
        }
        false
    }
}
