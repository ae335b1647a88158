//! The temporary home of a case: a runtime with a clock that only moves when it is set.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use jiff::{SignedDuration, Timestamp};
use memory::messages::Role;
use memory::nodes::{Node, NodeKind};
use memory::ports::Clock;
use memory::{Scope, UserId};
use runtime::{Delivery, IncomingMessage, Runtime, Subscription, TurnEvent};
use tokio::sync::watch;

use super::{CaseSession, Expectation};

/// Newest events that are read. A session makes three at most, and a case has a few sessions.
const EVENTS_MAX: u32 = 50;
/// Time between two messages of a conversation. People answer about as fast, and no session ends meanwhile.
const LINE_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// Time from the last conversation to the questions. By then all sessions have ended and are consolidated.
const QUESTION_DELAY: SignedDuration = SignedDuration::from_hours(24);

/// Real time without progress after which the clock is advanced.
const NUDGE_AFTER: Duration = Duration::from_secs(10);
/// Step by which the clock is advanced.
const CLOCK_STEP: SignedDuration = SignedDuration::from_secs(5);
/// Maximum number of times that the clock is advanced for one session. A case that needs more will never end.
const NUDGES_MAX: u32 = 200;
/// Waits shorter than this only yield to other tasks, since they pace work rather than measure time.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// A clock that stands still until it is set. A sleeper wakes when the clock passes its time; very short sleeps only
/// yield.
#[derive(Debug)]
pub struct StoryClock(watch::Sender<Timestamp>);

impl StoryClock {
    pub fn new(start: Timestamp) -> Self {
        Self(watch::Sender::new(start))
    }

    fn set(&self, now: Timestamp) {
        self.0.send_replace(now);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if duration < SHORT_WAIT {
            return Box::pin(tokio::task::yield_now());
        }
        let mut now = self.0.subscribe();
        let end = self.now().checked_add(duration).unwrap_or(Timestamp::MAX);
        Box::pin(async move {
            // The clock lives as long as its sleepers.
            let _ = now.wait_for(|now| *now >= end).await;
        })
    }
}

/// A running persona without history.
pub struct Stage {
    runtime: Runtime,
    clock: Arc<StoryClock>,
    scope: Scope,
    events: Subscription,
}

impl Stage {
    /// Starts the runtime, which must use this clock.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn new(runtime: Runtime, clock: Arc<StoryClock>) -> anyhow::Result<Self> {
        runtime.start().await?;
        let scope = runtime.scope(None, UserId::owner());
        runtime.ensure_scope_exists(&scope).await?;
        let events = runtime.broadcast().subscribe();
        Ok(Self { runtime, clock, scope, events })
    }

    /// Stops the background work.
    pub async fn stop(self) {
        self.runtime.stop().await;
    }

    pub(super) async fn run_session(&mut self, talk: &CaseSession) -> anyhow::Result<()> {
        self.clock.set(talk.at);
        for line in &talk.says {
            self.send_line(line).await?;
            self.clock.set(self.clock.now() + LINE_INTERVAL);
        }
        let newest = self.runtime.store().messages_before(&self.scope, None, 1).await?;
        let session = newest.first().context("a talk without a line")?.session_id;
        self.runtime.sessions().close(session).await?;
        for _ in 0..NUDGES_MAX {
            match tokio::time::timeout(NUDGE_AFTER, self.events.next()).await {
                Ok(Some(Delivery::Event(_, wire_event))) => {
                    if wire_event.name == "chat.session.boundary"
                        && !wire_event.data["closed_session_id"].is_null()
                    {
                        return Ok(());
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                // A failed attempt is repeated after a wait, which needs the clock to move.
                Err(_) => self.clock.set(self.clock.now() + CLOCK_STEP),
            }
        }
        bail!("the session did not become memory; the model may not be answering as asked")
    }

    async fn send_line(&self, line: &str) -> anyhow::Result<String> {
        let incoming = IncomingMessage {
            scope: self.scope.clone(),
            channel_id: "eval".to_owned(),
            content: line.to_owned(),
            external_ref: None,
        };
        let (_, mut turn) = self.runtime.turns().accept_and_subscribe(incoming).await?;
        while let Some(event) = turn.recv().await {
            match event {
                TurnEvent::Done { message, .. } => return Ok(message.content),
                TurnEvent::Failed { reason, .. } | TurnEvent::Withdrawn { reason } => bail!(reason),
                TurnEvent::Started | TurnEvent::Delta(_) => {}
            }
        }
        bail!("the turn ended without a reply")
    }

    /// The parts of the expectation that fail.
    pub(super) async fn failed_expectations(
        &mut self,
        expected: &Expectation,
    ) -> anyhow::Result<Vec<String>> {
        match &expected.ask {
            Some(question) => self.check_answer(question, expected).await,
            None => self.check_events(expected).await,
        }
    }

    async fn check_events(&self, expected: &Expectation) -> anyhow::Result<Vec<String>> {
        let kinds = [NodeKind::Event, NodeKind::Intention];
        let events = self.runtime.store().nodes_before(&self.scope, &kinds, None, EVENTS_MAX).await?;
        let event_lines: Vec<String> = events
            .iter()
            .map(|event| format!("{:+} {}", event.emotional_impact, event.description))
            .collect();
        let mut failures = Vec::new();
        if !expected.holds.is_empty() {
            let fits = |event: &&Node| {
                expected.holds.iter().all(|word| contains_ignoring_case(&event.description, word))
            };
            let fitting: Vec<&Node> = events.iter().filter(fits).collect();
            if fitting.is_empty() {
                failures.push(format!("no event holds {:?}; there are {event_lines:?}", expected.holds));
            } else if !fitting.iter().any(|event| has_expected_impact_and_time(event, expected)) {
                failures.push(format!(
                    "no event that holds {:?} is as expected; there are {event_lines:?}",
                    expected.holds
                ));
            }
        }
        for word in &expected.lacks {
            if let Some(event) = events.iter().find(|event| contains_ignoring_case(&event.description, word))
            {
                failures.push(format!("an event holds {word:?}: {}", event.description));
            }
        }
        Ok(failures)
    }

    async fn check_answer(&mut self, question: &str, expected: &Expectation) -> anyhow::Result<Vec<String>> {
        self.clock.set(self.clock.now() + QUESTION_DELAY);
        let mut failures = Vec::new();
        let recalled =
            self.runtime.recall().candidates_for(self.scope.clone(), question.to_owned(), None).await?;
        if let Some(nothing) = expected.nothing_found.filter(|nothing| *nothing != recalled.nothing_found) {
            let (support, text) = (recalled.support, if nothing { "something" } else { "nothing" });
            failures.push(format!("{question:?} finds {text} (support {support:.2})"));
        }
        if let Some(words) = &expected.passage {
            let hit = recalled
                .passages
                .first()
                .and_then(|passage| passage.messages.iter().find(|message| message.seq == passage.hit_seq));
            let by = hit.map(|message| if message.role == Role::User { "them" } else { "me" });
            let right = hit.is_some_and(|message| contains_ignoring_case(&message.content, words))
                && expected
                    .day
                    .is_none_or(|day| hit.is_some_and(|message| day_of(message.created_at) == day))
                && expected.by.as_deref().is_none_or(|speaker| by == Some(speaker));
            if !right {
                let said = hit.map_or("nothing", |message| message.content.as_str());
                failures.push(format!("{question:?} brings {said:?} by {by:?}, not {words:?}"));
            }
        }
        let reply = self.send_line(question).await?;
        for word in expected.holds.iter().filter(|word| !contains_ignoring_case(&reply, word)) {
            failures.push(format!("the reply to {question:?} lacks {word:?}: {reply}"));
        }
        for word in expected.lacks.iter().filter(|word| contains_ignoring_case(&reply, word)) {
            failures.push(format!("the reply to {question:?} holds {word:?}: {reply}"));
        }
        Ok(failures)
    }
}

fn has_expected_impact_and_time(event: &Node, expected: &Expectation) -> bool {
    expected.impact_at_most.is_none_or(|most| event.emotional_impact <= most)
        && expected.impact_at_least.is_none_or(|least| event.emotional_impact >= least)
        && expected.day.is_none_or(|wanted| event.event_time.is_some_and(|time| day_of(time.start) == wanted))
}

fn day_of(at: Timestamp) -> jiff::civil::Date {
    at.to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleepers_wake_when_the_clock_is_set() {
        let clock = StoryClock::new(Timestamp::UNIX_EPOCH);
        let mut hour = clock.sleep(Duration::from_secs(3_600));
        assert!(futures_util::poll!(&mut hour).is_pending());
        clock.set(Timestamp::UNIX_EPOCH + SignedDuration::from_secs(3_599));
        assert!(futures_util::poll!(&mut hour).is_pending());
        clock.set(Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1));
        hour.await;
        clock.sleep(Duration::from_millis(20)).await;
    }
}
