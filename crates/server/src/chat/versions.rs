//! Other versions of a message.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use memory::identifiers::MessageId;
use memory::messages::{MessageVersion, Role, VersionPlace};
use schemars::JsonSchema;
use serde::Serialize;

use super::edit::visible_message;
use crate::auth::Principal;
use crate::extract::Id;
use crate::problem::Problem;
use crate::state::App;

#[derive(Serialize, JsonSchema)]
pub(crate) struct MessageVersionList {
    /// Versions, the oldest first.
    versions: Vec<MessageVersionBody>,
}

/// A text that was not shown in the program that the message was imported from, or the text before an edit.
#[derive(Serialize, JsonSchema)]
struct MessageVersionBody {
    role: Role,
    /// The speaker's name, with the role `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<String>,
    content: String,
    /// Time of the version, if known.
    said_at: Option<Timestamp>,
    /// The language model that wrote the version, if known.
    model: Option<String>,
    /// Time at which another message replaced this version.
    replaced_at: Timestamp,
    /// True if the version belongs to another branch, after the message or another of its versions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    branch: bool,
}

/// Handler of `GET /api/chat/messages/{id}/versions`.
pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    Id(id): Id<MessageId>,
) -> Result<Json<MessageVersionList>, Problem> {
    let message = visible_message(&app, &principal, id).await?;
    let mut versions = app.runtime().store().message_versions(message.session_id).await?;
    let versions = versions.remove(&id).unwrap_or_default().into_iter().map(MessageVersionBody::from);
    Ok(Json(MessageVersionList { versions: versions.collect() }))
}

impl From<MessageVersion> for MessageVersionBody {
    fn from(version: MessageVersion) -> Self {
        let MessageVersion { role, speaker, content, said_at, model, replaced_at, place } = version;
        Self {
            role,
            speaker,
            content,
            said_at,
            model,
            replaced_at,
            branch: place != VersionPlace::Alternative,
        }
    }
}
