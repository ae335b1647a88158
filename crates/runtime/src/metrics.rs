//! Metrics of the program, for its operator. They contain numbers and names of tasks, never text of users.

use std::sync::Arc;
use std::time::Duration;

use memory::ledger::ModelCall;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the histogram's buckets, in seconds: from a recall to the time limit of a turn.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];

/// Outcomes of a turn.
const TURN_OUTCOMES: [&str; 3] = ["answered", "incomplete", "failed"];

type Label = (&'static str, String);
type CounterByLabel<T> = Family<[Label; 1], T>;
type Histograms = Family<[Label; 1], Histogram, fn() -> Histogram>;

/// Counters of one run of the program. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    counted: Arc<Counters>,
}

struct Counters {
    registry: Registry,
    turns: CounterByLabel<Counter>,
    turn_phases: Histograms,
    calls: Family<[Label; 3], Counter>,
    call_seconds: Histograms,
    tokens: Family<[Label; 3], Counter>,
    sessions_formed: CounterByLabel<Counter>,
    requests: Family<[Label; 2], Counter>,
    request_seconds: Histograms,
    refused: CounterByLabel<Counter>,
    levels: CounterByLabel<Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { counted: Arc::new(Counters::new()) }
    }
}

fn histograms() -> Histograms {
    let make: fn() -> Histogram = || Histogram::new(SECONDS);
    Family::new_with_constructor(make)
}

impl Counters {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("echovessel");
        let (turns, turn_phases) = (CounterByLabel::<Counter>::default(), histograms());
        let (calls, call_seconds, tokens) = (Family::default(), histograms(), Family::default());
        let sessions_formed = CounterByLabel::<Counter>::default();
        let (requests, request_seconds, refused) =
            (Family::default(), histograms(), CounterByLabel::<Counter>::default());
        let levels = CounterByLabel::<Gauge>::default();
        registry.register("turns", "Turns by outcome", turns.clone());
        registry.register("turn_seconds", "Seconds of a turn by phase", turn_phases.clone());
        registry.register("model_calls", "Calls to language models", calls.clone());
        registry.register("model_call_seconds", "Seconds of a call by task", call_seconds.clone());
        registry.register("model_tokens", "Tokens by task, model and direction", tokens.clone());
        registry.register(
            "sessions_settled",
            "Sessions by outcome of consolidation",
            sessions_formed.clone(),
        );
        registry.register("http_requests", "HTTP requests by method and status", requests.clone());
        registry.register(
            "http_request_seconds",
            "Seconds until the headers of a response",
            request_seconds.clone(),
        );
        registry.register("http_refused", "Rejected requests by reason", refused.clone());
        registry.register("live", "Work in progress", levels.clone());
        Self {
            registry,
            turns,
            turn_phases,
            calls,
            call_seconds,
            tokens,
            sessions_formed,
            requests,
            request_seconds,
            refused,
            levels,
        }
    }
}

impl Metrics {
    /// Counts a turn that ended as `answered`, `incomplete` or `failed`.
    pub fn count_turn(&self, outcome: &'static str) {
        self.counted.turns.get_or_create(&[("outcome", outcome.to_owned())]).inc();
    }

    /// Number of turns that ended.
    pub fn turns(&self) -> u64 {
        let count =
            |outcome: &str| self.counted.turns.get_or_create(&[("outcome", outcome.to_owned())]).get();
        TURN_OUTCOMES.into_iter().map(count).sum()
    }

    /// Records the duration of a phase of a turn: `prepare`, `embed`, `fetch`, `score`, `first_token`, `speak`,
    /// `store`, `whole`.
    pub fn turn_phase(&self, phase: &'static str, took: Duration) {
        let histogram = self.counted.turn_phases.get_or_create(&[("phase", phase.to_owned())]);
        histogram.observe(took.as_secs_f64());
    }

    /// Records a call to a language model.
    pub fn call(&self, call: &ModelCall) {
        let task = || ("task", call.task.clone());
        let provider = ("provider", call.provider.clone());
        self.counted.calls.get_or_create(&[task(), provider, ("outcome", call.outcome.clone())]).inc();
        let seconds = Duration::from_millis(call.latency_ms).as_secs_f64();
        self.counted.call_seconds.get_or_create(&[task()]).observe(seconds);
        let directions =
            [("input", call.input_tokens), ("output", call.output_tokens), ("cached", call.cached_tokens)];
        for (direction, tokens) in directions {
            let labels = [task(), ("model", call.model.clone()), ("direction", direction.to_owned())];
            self.counted.tokens.get_or_create(&labels).inc_by(tokens);
        }
    }

    /// Counts the end of a session's consolidation: `closed`, or `failed` permanently.
    pub fn session(&self, outcome: &'static str) {
        self.counted.sessions_formed.get_or_create(&[("outcome", outcome.to_owned())]).inc();
    }

    /// Records an answered HTTP request.
    pub fn request(&self, method: &str, status: u16, took: Duration) {
        let labels = [("method", method.to_owned()), ("status", status.to_string())];
        self.counted.requests.get_or_create(&labels).inc();
        let histogram = self.counted.request_seconds.get_or_create(&[("method", method.to_owned())]);
        histogram.observe(took.as_secs_f64());
    }

    /// Counts a request that was refused before it was handled: `token`, `scope`, `host`, `origin`, `rate`.
    pub fn count_refusal(&self, reason: &'static str) {
        self.counted.refused.get_or_create(&[("reason", reason.to_owned())]).inc();
    }

    /// Sets a gauge to a value.
    pub fn set_gauge(&self, what: &'static str, value: i64) {
        self.counted.levels.get_or_create(&[("what", what.to_owned())]).set(value);
    }

    /// Counts an operation as running until the guard is dropped.
    pub fn count_until_dropped(&self, what: &'static str) -> GaugeGuard {
        self.counted.levels.get_or_create(&[("what", what.to_owned())]).inc();
        GaugeGuard { metrics: self.clone(), what }
    }

    /// All metrics in the text format of Prometheus (OpenMetrics 1.0).
    pub fn to_prometheus_text(&self) -> Result<String, std::fmt::Error> {
        let mut written = String::new();
        text::encode(&mut written, &self.counted.registry)?;
        Ok(written)
    }
}

/// Counts a running operation until it is dropped.
pub struct GaugeGuard {
    metrics: Metrics,
    what: &'static str,
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.metrics.counted.levels.get_or_create(&[("what", self.what.to_owned())]).dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exported() {
        let metrics = Metrics::default();
        metrics.count_turn("answered");
        metrics.turn_phase("embed", Duration::from_millis(7));
        metrics.request("GET", 200, Duration::from_millis(1));
        let watching = metrics.count_until_dropped("sse_subscribers");
        assert_eq!(metrics.turns(), 1);
        let exported = metrics.to_prometheus_text().unwrap();
        for line in [
            r#"echovessel_turns_total{outcome="answered"} 1"#,
            r#"echovessel_turn_seconds_bucket{le="0.01",phase="embed"} 1"#,
            r#"echovessel_turn_seconds_bucket{le="0.005",phase="embed"} 0"#,
            r#"echovessel_http_requests_total{method="GET",status="200"} 1"#,
            r#"echovessel_live{what="sse_subscribers"} 1"#,
        ] {
            assert!(exported.contains(line), "{line} is not in\n{exported}");
        }
        drop(watching);
        assert!(
            metrics.to_prometheus_text().unwrap().contains(r#"echovessel_live{what="sse_subscribers"} 0"#)
        );
    }
}
