//! Triggers of proactive messages, the most important first. Nothing here reads or writes the store.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::nodes::{EventTime, Node, NodeKind};
use memory::proactive::{ProactiveQuery, ProactiveTrigger, ProactiveView, TriggerRef, TriggerUse};

use crate::settings::ProactiveSettings;

/// Maximum delay of a message about a promise or an expectation. "How was the interview?" is odd a week later.
const MENTIONED_WITHIN: SignedDuration = SignedDuration::from_hours(48);
/// Age of due promises and expectations that are still read, so that a missed one is explained.
const DUE_LOOKBACK: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A promise whose time was over by more than this when it was stored was never one to keep.
const DUE_BEFORE_REMEMBERED: SignedDuration = SignedDuration::from_hours(2);
/// Minimum length of an event that is mentioned in its last quarter: a whole day in its evening.
const LONG_EVENT_MIN: SignedDuration = SignedDuration::from_hours(2);
/// Minimum |impact| of a shock. Deaths and separations have it.
const SHOCK_IMPACT: u8 = 8;
/// Delay of a message about a shock, after the last message. The conversation itself offered comfort; this message
/// shows that the persona still thinks of it.
const SHOCK_AFTER: SignedDuration = SignedDuration::from_hours(3);
/// Period in which a message about a shock may be sent.
const SHOCK_MESSAGE_PERIOD: SignedDuration = SignedDuration::from_hours(36);
/// Minimum |impact| of an event with an anniversary. It is lower than for a shock, because weddings and births count
/// too.
const ANNIVERSARY_IMPACT: u8 = 7;
/// Minimum age of an event with an anniversary: a year less a day, because the local date may come earlier in another
/// time zone.
const ANNIVERSARY_AFTER: SignedDuration = SignedDuration::from_hours(364 * 24);
/// Failures after which a trigger is dropped. Its time has passed by then, and each attempt may cost money.
const FAILURES_MAX: u32 = 3;
/// Pause of a trigger after its first failure; each further one doubles it.
const PAUSE_AFTER_FAILURE: SignedDuration = SignedDuration::from_mins(15);

/// Something that may lead to a message.
#[derive(Clone, Debug)]
pub(super) struct MessageOccasion {
    pub(super) reference: TriggerRef,
    pub(super) node: Option<Node>,
    /// True if the time for a message about it has passed.
    pub(super) is_too_late: bool,
}

/// The query for a scope's view.
pub(super) fn view_query(now: Timestamp, settings: &ProactiveSettings) -> ProactiveQuery {
    let before = |duration| now.checked_sub(duration).unwrap_or(Timestamp::MIN);
    ProactiveQuery {
        now,
        sent: settings.cold_user_threshold.max(1),
        sent_since: before(SignedDuration::from_hours(24)),
        due_since: before(DUE_LOOKBACK),
        shock_impact: SHOCK_IMPACT,
        shock_since: before(SHOCK_MESSAGE_PERIOD),
        anniversary_impact: ANNIVERSARY_IMPACT,
        anniversary_before: before(ANNIVERSARY_AFTER),
    }
}

/// All occasions at this time, in the order of triggers; of one kind the earliest due, or the one with the highest
/// impact, first.
pub(super) fn find_occasions(
    view: &ProactiveView,
    now: Timestamp,
    zone: &TimeZone,
    settings: &ProactiveSettings,
) -> Vec<MessageOccasion> {
    let mut all: Vec<MessageOccasion> = view.due.iter().filter_map(|node| due_occasion(node, now)).collect();
    all.extend(shock_occasions(view, now));
    all.extend(view.weighty.iter().filter_map(|node| anniversary_occasion(node, now, zone)));
    all.extend(long_silence(view, now, settings));
    all.sort_by_key(|occasion| occasion.reference.trigger);
    all
}

/// Removes occasions that were used, or that failed too often or just now.
pub(super) fn retain_unused(
    occasions: Vec<MessageOccasion>,
    uses: &[TriggerUse],
    now: Timestamp,
) -> Vec<MessageOccasion> {
    let may_be_used = |occasion: &MessageOccasion| {
        let Some(tried) = uses.iter().find(|tried| tried.key == occasion.reference.key) else { return true };
        if tried.is_used {
            return false;
        }
        // A trigger that has failed permanently is finally reported as too late.
        occasion.is_too_late || (tried.failures < FAILURES_MAX && has_interval_passed(tried, now))
    };
    occasions.into_iter().filter(may_be_used).collect()
}

fn has_interval_passed(tried: &TriggerUse, now: Timestamp) -> bool {
    let Some(failed_at) = tried.failed_at else { return true };
    let rest = PAUSE_AFTER_FAILURE.saturating_mul(1 << tried.failures.saturating_sub(1).min(8));
    now.duration_since(failed_at) >= rest
}

/// Time at which a promise or an expectation is mentioned.
fn due_moment(time: EventTime) -> Timestamp {
    let length = time.end.map_or(SignedDuration::ZERO, |end| end.duration_since(time.start));
    if length < LONG_EVENT_MIN {
        return time.start;
    }
    time.start.checked_add(length / 4 * 3).unwrap_or(time.start)
}

fn due_occasion(node: &Node, now: Timestamp) -> Option<MessageOccasion> {
    let due = due_moment(node.event_time?);
    if due > now {
        return None;
    }
    let (trigger, name) = match node.kind {
        NodeKind::Intention => (ProactiveTrigger::PromiseDue, "promise"),
        NodeKind::Expectation => (ProactiveTrigger::ExpectationDue, "expectation"),
        NodeKind::Event | NodeKind::Thought => return None,
    };
    let was_over = node.created_at.duration_since(due) > DUE_BEFORE_REMEMBERED;
    let is_too_late = was_over || now.duration_since(due) > MENTIONED_WITHIN;
    Some(occasion_of(trigger, format!("{name}:{}", node.seq), node, is_too_late))
}

/// A shock is mentioned some hours after the last message, unless the user has written since it was stored.
fn shock_occasions(view: &ProactiveView, now: Timestamp) -> Vec<MessageOccasion> {
    let Some(last) = view.last_message_at else { return Vec::new() };
    if now.duration_since(last) < SHOCK_AFTER {
        return Vec::new();
    }
    let spoke_since = |node: &Node| view.last_user_message.is_some_and(|(_, at)| at > node.created_at);
    let shock =
        |node: &Node| occasion_of(ProactiveTrigger::Shock, format!("shock:{}", node.seq), node, false);
    view.shocks.iter().filter(|node| !spoke_since(node)).map(shock).collect()
}

fn anniversary_occasion(node: &Node, now: Timestamp, zone: &TimeZone) -> Option<MessageOccasion> {
    let today = now.to_zoned(zone.clone()).date();
    let then = node.event_time.map_or(node.created_at, |time| time.start).to_zoned(zone.clone()).date();
    // 29 February is remembered on the 28th in other years.
    let day = then.day().min(today.last_of_month().day());
    let is_today = then.year() < today.year() && then.month() == today.month() && day == today.day();
    let key = format!("anniversary:{}:{}", node.seq, today.year());
    is_today.then(|| occasion_of(ProactiveTrigger::Anniversary, key, node, false))
}

fn long_silence(
    view: &ProactiveView,
    now: Timestamp,
    settings: &ProactiveSettings,
) -> Option<MessageOccasion> {
    let (seq, at) = view.last_user_message?;
    let silence = SignedDuration::try_from(settings.long_silence).unwrap_or(SignedDuration::MAX);
    if now.duration_since(at) < silence {
        return None;
    }
    let key = format!("silence:{seq}");
    let reference = TriggerRef { trigger: ProactiveTrigger::LongSilence, key, node: None };
    Some(MessageOccasion { reference, node: None, is_too_late: false })
}

fn occasion_of(trigger: ProactiveTrigger, key: String, node: &Node, is_too_late: bool) -> MessageOccasion {
    let reference = TriggerRef { trigger, key, node: Some(node.id) };
    MessageOccasion { reference, node: Some(node.clone()), is_too_late }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_mentioned_at_once_and_a_day_in_its_evening() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let time = |start: &str, end: Option<&str>| EventTime { start: at(start), end: end.map(at) };
        let noon = "2026-03-05T12:00:00Z";
        assert_eq!(due_moment(time(noon, None)), at(noon));
        assert_eq!(due_moment(time(noon, Some("2026-03-05T13:00:00Z"))), at(noon));
        let day = time("2026-03-05T00:00:00Z", Some("2026-03-06T00:00:00Z"));
        assert_eq!(due_moment(day), at("2026-03-05T18:00:00Z"));
    }
}
