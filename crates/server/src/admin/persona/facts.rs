//! The persona's fifteen facts.

use axum::Json;
use axum::extract::State;
use memory::facts::{Fact, Facts, InvalidFact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::Admin;
use crate::extract::{self, ScopeParam, run_detached};
use crate::problem::Problem;
use crate::state::App;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FactsEdit {
    /// The facts to write, by name; null clears a fact. Other facts do not change.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>", required)]
    facts: Value,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct FactsResponse {
    ok: bool,
    facts: Facts,
}

/// Handler of `PATCH /api/admin/persona/facts`: writes only the given facts; null clears one.
pub(crate) async fn edit(
    State(app): State<App>,
    Admin(_): Admin,
    ScopeParam(scope): ScopeParam,
    extract::Json(edit): extract::Json<FactsEdit>,
) -> Result<Json<FactsResponse>, Problem> {
    let Value::Object(sent) = edit.facts else {
        return Err(Problem::bad_request("facts: must be an object; nothing was saved"));
    };
    let changes: Vec<(Fact, Option<String>)> =
        read(Some(&sent))?.into_iter().filter(|(fact, _)| sent.contains_key(fact.as_str())).collect();
    let written = run_detached({
        let (app, scope) = (app.clone(), scope.clone());
        async move { Ok(app.runtime().personas().write_facts(&scope, changes).await?) }
    })
    .await?;
    if !written {
        return Err(Problem::not_found("persona not found"));
    }
    Ok(Json(FactsResponse { ok: true, facts: app.runtime().store().persona_facts(&scope.persona).await? }))
}

/// Reads all fifteen facts; missing ones are `None`. Unknown names are ignored.
pub(super) fn read(sent: Option<&Map<String, Value>>) -> Result<Vec<(Fact, Option<String>)>, Problem> {
    let of = |fact: Fact| match sent.and_then(|sent| sent.get(fact.as_str())) {
        None | Some(Value::Null) => Ok((fact, None)),
        Some(Value::String(text)) => Ok((fact, fact.parse_fact(text)?)),
        Some(_) => {
            Err(Problem::unprocessable(format!("{}: must be text or null; nothing was saved", fact.as_str())))
        }
    };
    Fact::ALL.into_iter().map(of).collect()
}

impl From<InvalidFact> for Problem {
    fn from(error: InvalidFact) -> Self {
        Self::unprocessable(format!("{error}; nothing was written"))
    }
}
