//! The rules that prevent a proactive message, in a fixed order. Nothing here reads or writes the store.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::proactive::{ProactiveGate, ProactiveOutcome, ProactiveView, SentMessage};

use crate::settings::ProactiveSettings;

/// Minimum time between two proactive messages without an answer between them.
const OWN_MESSAGE_INTERVAL_MIN: SignedDuration = SignedDuration::from_hours(1);
/// Minimum time after the last message of a conversation. An earlier message would look as if the persona had
/// forgotten something in its reply.
const PAUSE_AFTER_REPLY_MIN: SignedDuration = SignedDuration::from_secs(60);

/// The facts that gates check.
pub(super) struct GateFacts<'a> {
    pub(super) now: Timestamp,
    pub(super) zone: &'a TimeZone,
    pub(super) settings: &'a ProactiveSettings,
    pub(super) view: &'a ProactiveView,
    /// True if a message waits or a turn runs, on any channel of the user.
    pub(super) is_in_conversation: bool,
}

impl GateFacts<'_> {
    /// The first gate that prevents the message.
    pub(super) fn closed_gate(&self) -> Option<ProactiveGate> {
        if self.view.muted_until.is_some_and(|until| self.now < until) {
            return Some(ProactiveGate::Muted);
        }
        if self.is_quiet_hour() {
            return Some(ProactiveGate::QuietHours);
        }
        if self.is_user_unresponsive() {
            return Some(ProactiveGate::ColdUser);
        }
        if self.view.sent_lately >= self.settings.max_per_24h || self.has_just_written() {
            return Some(ProactiveGate::RateLimit);
        }
        (self.is_in_conversation || self.was_active_recently()).then_some(ProactiveGate::TurnInFlight)
    }

    /// True if the last proactive message is recent and unanswered: two in a row are annoying.
    fn has_just_written(&self) -> bool {
        let last = self.view.sent.first().filter(|last| last.answered_at.is_none());
        last.is_some_and(|last| self.now.duration_since(last.at) < OWN_MESSAGE_INTERVAL_MIN)
    }

    /// True if the last message is very recent: the user may still be reading the reply.
    fn was_active_recently(&self) -> bool {
        self.view
            .last_message_at
            .is_some_and(|last| self.now.duration_since(last).abs() < PAUSE_AFTER_REPLY_MIN)
    }

    /// True from the start hour, inclusive, to the end hour, exclusive; past midnight if the start is the later one.
    fn is_quiet_hour(&self) -> bool {
        let hour = self.now.to_zoned(self.zone.clone()).hour();
        let (start, end) = (self.settings.quiet_hours_start, self.settings.quiet_hours_end);
        if start <= end { (start..end).contains(&hour) } else { hour >= start || hour < end }
    }

    /// True if the last proactive messages were not answered, or not in time, and the user has not written since.
    fn is_user_unresponsive(&self) -> bool {
        let threshold = self.settings.cold_user_threshold as usize;
        let Some(last) = self.view.sent.first() else { return false };
        if threshold == 0 || last.answered_at.is_some() {
            return false;
        }
        let newest = &self.view.sent[..self.view.sent.len().min(threshold)];
        newest.len() == threshold && newest.iter().all(|sent| self.is_unanswered(sent))
    }

    fn is_unanswered(&self, sent: &SentMessage) -> bool {
        let window = SignedDuration::try_from(self.settings.cold_user_response_window);
        let until = window.ok().and_then(|window| sent.at.checked_add(window).ok());
        let until = until.unwrap_or(Timestamp::MAX);
        match sent.answered_at {
            Some(answered) => answered > until,
            None => true,
        }
    }
}

/// The outcome for a gate: the message is dropped or deferred.
pub(super) fn outcome_of(gate: ProactiveGate) -> ProactiveOutcome {
    match gate {
        ProactiveGate::TurnInFlight | ProactiveGate::SpendCap => ProactiveOutcome::Deferred,
        ProactiveGate::NoTrigger => ProactiveOutcome::NothingToSay,
        ProactiveGate::Muted
        | ProactiveGate::QuietHours
        | ProactiveGate::ColdUser
        | ProactiveGate::RateLimit
        | ProactiveGate::TooLate => ProactiveOutcome::Dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn gate_at(
        now: &str,
        zone: &str,
        settings: &ProactiveSettings,
        view: &ProactiveView,
    ) -> Option<ProactiveGate> {
        let zone = TimeZone::get(zone).unwrap();
        GateFacts { now: at(now), zone: &zone, settings, view, is_in_conversation: false }.closed_gate()
    }

    #[test]
    fn quiet_hours_include_their_start_exclude_their_end_and_wrap() {
        let (settings, view) = (ProactiveSettings::default(), ProactiveView::default());
        let quiet =
            |now: &str| gate_at(now, "Europe/Oslo", &settings, &view) == Some(ProactiveGate::QuietHours);
        assert!(!quiet("2026-01-10T21:59:59Z"), "22:59:59 in Oslo");
        assert!(quiet("2026-01-10T22:00:00Z"), "23:00 in Oslo");
        assert!(quiet("2026-01-11T05:59:59Z"), "06:59:59 in Oslo");
        assert!(!quiet("2026-01-11T06:00:00Z"), "07:00 in Oslo");
        // Daylight saving begins at 01:00 UTC on 29 March, so 07:00 is an hour earlier.
        assert!(quiet("2026-03-29T04:59:59Z") && !quiet("2026-03-29T05:00:00Z"));
        let by_day = ProactiveSettings { quiet_hours_start: 9, quiet_hours_end: 17, ..settings.clone() };
        assert_eq!(gate_at("2026-01-10T12:00:00Z", "UTC", &by_day, &view), Some(ProactiveGate::QuietHours));
        assert_eq!(gate_at("2026-01-10T17:00:00Z", "UTC", &by_day, &view), None);
        let never = ProactiveSettings { quiet_hours_start: 7, quiet_hours_end: 7, ..settings.clone() };
        assert_eq!(gate_at("2026-01-10T07:00:00Z", "UTC", &never, &view), None);
    }

    #[test]
    fn a_user_is_unresponsive_until_the_next_message() {
        let settings = ProactiveSettings::default();
        let sent =
            |at_: &str, answered: Option<&str>| SentMessage { at: at(at_), answered_at: answered.map(at) };
        let cold = |now: &str, sent: Vec<SentMessage>| {
            let view = ProactiveView { sent, ..ProactiveView::default() };
            gate_at(now, "UTC", &settings, &view) == Some(ProactiveGate::ColdUser)
        };
        let two = || vec![sent("2026-01-10T12:00:00Z", None), sent("2026-01-09T12:00:00Z", None)];
        assert!(cold("2026-01-10T12:00:01Z", two()), "two without an answer are enough");
        assert!(!cold("2026-01-20T12:00:00Z", two()[..1].to_vec()), "one is not two");
        let spoke = vec![
            sent("2026-01-10T12:00:00Z", Some("2026-01-14T12:00:00Z")),
            sent("2026-01-09T12:00:00Z", Some("2026-01-14T12:00:00Z")),
        ];
        assert!(!cold("2026-01-14T13:00:00Z", spoke), "the user has written since");
        let late = vec![
            sent("2026-01-10T12:00:00Z", None),
            sent("2026-01-09T12:00:00Z", Some("2026-01-09T23:00:00Z")),
        ];
        assert!(cold("2026-01-11T12:00:00Z", late), "an answer after the window is none to the message");
        let prompt = vec![
            sent("2026-01-10T12:00:00Z", None),
            sent("2026-01-09T12:00:00Z", Some("2026-01-09T13:00:00Z")),
        ];
        assert!(!cold("2026-01-11T12:00:00Z", prompt));
    }

    #[test]
    fn gates_are_checked_in_order() {
        let settings = ProactiveSettings { max_per_24h: 0, ..ProactiveSettings::default() };
        let (night, day) = (at("2026-01-10T23:30:00Z"), at("2026-01-11T12:00:00Z"));
        let sent = |hours| SentMessage { at: day - SignedDuration::from_hours(hours), answered_at: None };
        let mut view = ProactiveView {
            muted_until: Some(at("2026-01-11T13:00:00Z")),
            sent: vec![sent(20), sent(30)],
            ..ProactiveView::default()
        };
        let gate = |now, view: &ProactiveView, settings: &ProactiveSettings| {
            GateFacts { now, zone: &TimeZone::UTC, settings, view, is_in_conversation: true }.closed_gate()
        };
        assert_eq!(gate(night, &view, &settings), Some(ProactiveGate::Muted));
        view.muted_until = Some(night);
        assert_eq!(gate(night, &view, &settings), Some(ProactiveGate::QuietHours));
        assert_eq!(gate(day, &view, &settings), Some(ProactiveGate::ColdUser));
        view.sent.clear();
        assert_eq!(gate(day, &view, &settings), Some(ProactiveGate::RateLimit));
        let settings = ProactiveSettings::default();
        assert_eq!(gate(day, &view, &settings), Some(ProactiveGate::TurnInFlight));
    }

    #[test]
    fn messages_of_its_own_keep_an_hour_apart_and_a_minute_from_the_talk() {
        let settings = ProactiveSettings::default();
        let gate = |now: &str, view: &ProactiveView| gate_at(now, "UTC", &settings, view);
        let sent = SentMessage { at: at("2026-01-10T12:00:00Z"), answered_at: None };
        let mut view = ProactiveView { sent: vec![sent], ..ProactiveView::default() };
        assert_eq!(gate("2026-01-10T12:59:59Z", &view), Some(ProactiveGate::RateLimit));
        assert_eq!(gate("2026-01-10T13:00:00Z", &view), None);
        view.sent[0].answered_at = Some(at("2026-01-10T12:10:00Z"));
        view.last_message_at = view.sent[0].answered_at;
        assert_eq!(gate("2026-01-10T12:10:59Z", &view), Some(ProactiveGate::TurnInFlight));
        assert_eq!(gate("2026-01-10T12:11:00Z", &view), None, "an answer ends the hour");
    }
}
