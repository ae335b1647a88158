//! Discord's rate limits: remembers what the platform reported about each route, so that no call is made that it
//! would refuse.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use reqwest::header::HeaderMap;

/// Number of stored limits from which expired ones are dropped: each conversation has its own, and most are used
/// once.
const STORED_LIMITS_MAX: usize = 1_000;

/// The limit of a call: routes that share a bucket share it, each for one channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    /// The method and path without ids.
    pub(super) template: &'static str,
    /// Id of the channel; empty for routes that have none.
    pub(super) channel: String,
}

/// Times at which each route may be called again.
#[derive(Default)]
pub(super) struct Limits {
    /// Shared by the calls of a bot: one answer closes a route for all of them.
    known: Mutex<KnownLimit>,
}

#[derive(Default)]
struct KnownLimit {
    buckets: HashMap<&'static str, String>,
    closed_until: HashMap<(String, String), Timestamp>,
    all_closed_until: Option<Timestamp>,
}

impl Limits {
    /// Time until the route may be called; `None` if it may be called now.
    pub(super) fn time_until_allowed(&self, route: &Route, now: Timestamp) -> Option<Duration> {
        let known = self.known.lock();
        let own = known.closed_until.get(&known.limit_key(route)).copied();
        let until = own.into_iter().chain(known.all_closed_until).max()?;
        Duration::try_from(until.duration_since(now)).ok().filter(|wait| !wait.is_zero())
    }

    /// Updates the limit of a route from the headers of an answer.
    pub(super) fn note_limits(&self, route: &Route, headers: &HeaderMap, now: Timestamp) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut known = self.known.lock();
        if let Some(bucket) = text("x-ratelimit-bucket") {
            known.buckets.insert(route.template, bucket.to_owned());
        }
        if text("x-ratelimit-remaining") == Some("0")
            && let Some(wait) = text("x-ratelimit-reset-after").and_then(parse_seconds)
        {
            known.close(route, now, wait);
        }
    }

    /// Notes that a call was refused: its route, or all of them, have to wait.
    pub(super) fn note_refusal(&self, route: &Route, is_global: bool, wait: Duration, now: Timestamp) {
        let mut known = self.known.lock();
        if is_global {
            known.all_closed_until = Some(add_wait(now, wait));
        } else {
            known.close(route, now, wait);
        }
    }
}

impl KnownLimit {
    fn limit_key(&self, route: &Route) -> (String, String) {
        let bucket = self.buckets.get(route.template).map_or(route.template, String::as_str);
        (bucket.to_owned(), route.channel.clone())
    }

    fn close(&mut self, route: &Route, now: Timestamp, wait: Duration) {
        if self.closed_until.len() >= STORED_LIMITS_MAX {
            self.closed_until.retain(|_, until| *until > now);
        }
        self.closed_until.insert(self.limit_key(route), add_wait(now, wait));
    }
}

fn add_wait(now: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(now)
}

/// Parses seconds with a fraction, as the platform writes waits.
pub(super) fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: &str = "POST /channels/messages";
    const READ: &str = "GET /channels/messages";

    fn route(template: &'static str, channel: &str) -> Route {
        Route { template, channel: channel.to_owned() }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn an_emptied_bucket_closes_its_routes_for_one_channel_until_it_is_filled() {
        let (limits, now) = (Limits::default(), Timestamp::UNIX_EPOCH);
        let said = [("x-ratelimit-bucket", "b"), ("x-ratelimit-remaining", "1")];
        limits.note_limits(&route(READ, "1"), &headers(&said), now);
        assert_eq!(limits.time_until_allowed(&route(READ, "1"), now), None);
        let said =
            [("x-ratelimit-bucket", "b"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset-after", "1.5")];
        limits.note_limits(&route(SEND, "1"), &headers(&said), now);
        let wait = Some(Duration::from_millis(1_500));
        assert_eq!(limits.time_until_allowed(&route(SEND, "1"), now), wait);
        assert_eq!(limits.time_until_allowed(&route(READ, "1"), now), wait, "the bucket is shared");
        assert_eq!(limits.time_until_allowed(&route(SEND, "2"), now), None);
        assert_eq!(limits.time_until_allowed(&route(SEND, "1"), now + SignedDuration::from_secs(2)), None);
    }

    #[test]
    fn a_global_refusal_closes_every_route() {
        let (limits, now) = (Limits::default(), Timestamp::UNIX_EPOCH);
        limits.note_refusal(&route(SEND, "1"), true, Duration::from_secs(3), now);
        assert_eq!(limits.time_until_allowed(&route(READ, "2"), now), Some(Duration::from_secs(3)));
    }
}
