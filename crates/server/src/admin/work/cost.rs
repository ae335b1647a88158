//! Costs of the language models.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};
use memory::identifiers::{SessionId, TurnId};
use memory::ledger::{CallSum, ModelCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::Admin;
use crate::cursor::{Cursor, page_of};
use crate::extract::{Query, page_size};
use crate::legacy::names::{feature_of, tier_name};
use crate::problem::Problem;
use crate::state::App;

const PAGE_DEFAULT: u32 = 50;

/// Period of a cost summary, until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
enum CostRange {
    #[serde(rename = "today")]
    Today,
    #[serde(rename = "7d")]
    Week,
    #[default]
    #[serde(rename = "30d")]
    Month,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CostQuery {
    #[serde(default)]
    range: CostRange,
}

/// The costs of one task.
#[derive(Default, Serialize, JsonSchema)]
struct FeatureCost {
    calls: u64,
    tokens_in: u64,
    tokens_out: u64,
    cost_usd: f64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
}

#[derive(Serialize, JsonSchema)]
struct DayCost {
    #[schemars(with = "String")]
    date: Date,
    usd: f64,
    tokens: u64,
    calls: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CostSummary {
    range: CostRange,
    since: Timestamp,
    total_usd: f64,
    total_tokens: u64,
    total_tokens_in: u64,
    total_tokens_out: u64,
    total_cache_read_input_tokens: u64,
    /// Always 0: no provider reports it.
    total_cache_creation_input_tokens: u64,
    by_feature: BTreeMap<String, FeatureCost>,
    by_day: Vec<DayCost>,
    /// Calls of models without a known price.
    unpriced_calls: u64,
    today_usd: f64,
    daily_spend_cap_usd: Option<f64>,
    notice: Option<String>,
}

/// Handler of `GET /api/admin/cost/summary`. Days are in the daemon's zone and include today.
pub(crate) async fn summary(
    State(app): State<App>,
    Admin(_): Admin,
    Query(span): Query<CostQuery>,
) -> Result<Json<CostSummary>, Problem> {
    let runtime = app.runtime();
    let zone = runtime.settings().zone.clone();
    let back = match span.range {
        CostRange::Today => 0,
        CostRange::Week => 6,
        CostRange::Month => 29,
    };
    let first = app.now().to_zoned(zone.clone()).start_of_day().and_then(|day| day.checked_sub(back.days()));
    let since = first.map_err(|error| Problem::internal(&error))?.timestamp();
    let sums = runtime.store().call_sums_since(since).await?;
    let spending = runtime.spending_today().await?;
    let mut by_feature: BTreeMap<String, FeatureCost> = BTreeMap::new();
    let mut by_day: BTreeMap<Date, DayCost> = BTreeMap::new();
    for sum in &sums {
        by_feature.entry(feature_of(&sum.task).to_owned()).or_default().add(sum);
        let date = sum.quarter.to_zoned(zone.clone()).date();
        let day = by_day.entry(date).or_insert(DayCost { date, usd: 0.0, tokens: 0, calls: 0 });
        day.usd += sum.cost_usd;
        day.tokens += sum.usage.input_tokens.saturating_add(sum.usage.output_tokens);
        day.calls += sum.calls;
    }
    let total = |of: fn(&CallSum) -> u64| sums.iter().map(of).fold(0_u64, u64::saturating_add);
    let (sent, received) = (total(|sum| sum.usage.input_tokens), total(|sum| sum.usage.output_tokens));
    Ok(Json(CostSummary {
        range: span.range,
        since,
        total_usd: sums.iter().map(|sum| sum.cost_usd).fold(0.0, |total, cost| total + cost),
        total_tokens: sent.saturating_add(received),
        total_tokens_in: sent,
        total_tokens_out: received,
        total_cache_read_input_tokens: total(|sum| sum.usage.cached_tokens),
        total_cache_creation_input_tokens: 0,
        by_feature,
        by_day: by_day.into_values().collect(),
        unpriced_calls: total(|sum| sum.unpriced_calls),
        today_usd: spending.today_usd,
        daily_spend_cap_usd: spending.cap_usd,
        notice: spending.notice(),
    }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct RecentCallsQuery {
    limit: Option<u32>,
    /// The `next_cursor` of the preceding page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct CallList {
    limit: u32,
    items: Vec<CallBody>,
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct CallBody {
    /// Number of the call, from 1.
    id: i64,
    timestamp: Timestamp,
    provider: String,
    model: String,
    feature: String,
    tier: String,
    tokens_in: u64,
    tokens_out: u64,
    /// Cost in US dollars; 0 if the price is unknown.
    cost_usd: f64,
    priced: bool,
    cache_read_input_tokens: u64,
    /// Always 0: no provider reports it.
    cache_creation_input_tokens: u64,
    turn_id: Option<TurnId>,
    session_id: Option<SessionId>,
    latency_ms: u64,
    /// `ok`, or the kind of the error.
    outcome: String,
    prompt_hash: String,
}

/// A call in the trace of a session.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionCallBody {
    task: String,
    at: Timestamp,
    model: String,
    /// `ok`, or the kind of the error.
    outcome: String,
    tokens_in: u64,
    tokens_out: u64,
    cost_usd: Option<f64>,
    latency_ms: u64,
    prompt_hash: String,
}

/// Handler of `GET /api/admin/cost/recent`, newest first.
pub(crate) async fn recent(
    State(app): State<App>,
    Admin(_): Admin,
    Query(page): Query<RecentCallsQuery>,
) -> Result<Json<CallList>, Problem> {
    let limit = page_size(page.limit, PAGE_DEFAULT)?;
    let last = page.cursor.as_deref().map(Cursor::<i64>::read).transpose()?;
    let calls = app.runtime().store().recent_calls(last.map(|Cursor(number)| number), limit + 1).await?;
    let (calls, next_cursor) = page_of(calls, limit, |(number, _)| Cursor(*number).encode());
    Ok(Json(CallList { limit, items: calls.into_iter().map(CallBody::from).collect(), next_cursor }))
}

impl From<(i64, ModelCall)> for CallBody {
    fn from((number, call): (i64, ModelCall)) -> Self {
        Self {
            id: number,
            timestamp: call.at,
            provider: call.provider,
            model: call.model,
            feature: feature_of(&call.task).to_owned(),
            tier: tier_name(&call.tier).to_owned(),
            tokens_in: call.input_tokens,
            tokens_out: call.output_tokens,
            cost_usd: call.cost_usd.unwrap_or(0.0),
            priced: call.cost_usd.is_some(),
            cache_read_input_tokens: call.cached_tokens,
            cache_creation_input_tokens: 0,
            turn_id: call.turn_id,
            session_id: call.session_id,
            latency_ms: call.latency_ms,
            outcome: call.outcome,
            prompt_hash: call.prompt_hash,
        }
    }
}

impl From<ModelCall> for SessionCallBody {
    fn from(call: ModelCall) -> Self {
        Self {
            task: call.task,
            at: call.at,
            model: call.model,
            outcome: call.outcome,
            tokens_in: call.input_tokens,
            tokens_out: call.output_tokens,
            cost_usd: call.cost_usd,
            latency_ms: call.latency_ms,
            prompt_hash: call.prompt_hash,
        }
    }
}

impl FeatureCost {
    fn add(&mut self, sum: &CallSum) {
        self.calls += sum.calls;
        self.tokens_in = self.tokens_in.saturating_add(sum.usage.input_tokens);
        self.tokens_out = self.tokens_out.saturating_add(sum.usage.output_tokens);
        self.cost_usd += sum.cost_usd;
        self.cache_read_input_tokens = self.cache_read_input_tokens.saturating_add(sum.usage.cached_tokens);
    }
}
