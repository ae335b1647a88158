//! A tool for forgetting, with a preview.

use std::sync::Arc;

use hub::Caller;
use memory::forget::{CONFIRMATION_TIMEOUT, EraseError, ErasureRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin::memory::erase::{self, EraseRequest, ErasureReceiptBody};
use crate::mcp::context::ToolContext;
use crate::mcp::tool::{Effect, Tool, ToolError, tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "forget_preview",
            Effect::Reads,
            "Preview what forget would erase: messages and everything derived from them. Changes nothing. \
                Its id confirms the same call of forget for ten minutes.",
            preview,
        ),
        tool(
            "forget",
            Effect::Destroys,
            "Erase permanently, with a receipt: messages, memories, vectors, indexes and everything derived \
                from them. Erasing by text needs confirm, the id of a preview. Ask the user first.",
            forget,
        ),
    ]
}

/// Arguments of the tool `forget`. At least one of the first five is required.
#[derive(Deserialize, JsonSchema)]
struct ForgetArgs {
    /// The ids of messages.
    message_ids: Option<Vec<String>>,
    /// The ids of events, thoughts, intentions and expectations.
    event_ids: Option<Vec<String>>,
    /// The ids of sessions, with all their messages.
    session_ids: Option<Vec<String>>,
    /// The ids of people, places and other entities, with the memories about them.
    entity_ids: Option<Vec<String>>,
    /// Everything that contains this text, ignoring case and width.
    text: Option<String>,
    /// Also the messages that the memories quote, or that name the entities.
    #[serde(default)]
    include_messages: bool,
    /// Keep thoughts that depend on it, with their evidence marked as erased.
    #[serde(default)]
    keep_thoughts: bool,
    /// The id of a preview.
    confirm: Option<String>,
}

impl ForgetArgs {
    /// Builds the request to erase. A caller for one user never erases shared data.
    fn into_request(self, caller: Caller) -> Result<ErasureRequest, ToolError> {
        let mut request = erase::request(caller.scope, self.into_body()?).map_err(ToolError::Invalid)?;
        request.selection.spares_shared = caller.is_of_one_user;
        Ok(request)
    }

    fn into_body(self) -> Result<EraseRequest, ToolError> {
        let choice = if self.keep_thoughts { "orphan" } else { "cascade" };
        let mut asked = json!({"include_messages": self.include_messages, "choice": choice});
        for (name, value) in [
            ("message_ids", json!(self.message_ids)),
            ("event_ids", json!(self.event_ids)),
            ("session_ids", json!(self.session_ids)),
            ("entity_ids", json!(self.entity_ids)),
            ("text", json!(self.text)),
            ("confirm", json!(self.confirm)),
        ] {
            if !value.is_null() {
                asked[name] = value;
            }
        }
        serde_json::from_value(asked).map_err(|error| ToolError::Invalid(error.to_string()))
    }
}

async fn preview(context: Arc<ToolContext>, caller: Caller, pointed: ForgetArgs) -> Result<Value, ToolError> {
    let request = pointed.into_request(caller)?;
    let receipt = context.runtime.changes().erase_dry_run(request).await?;
    let until = receipt.created_at.checked_add(CONFIRMATION_TIMEOUT).ok();
    let mut answer = json!(ErasureReceiptBody::from(receipt));
    answer["success"] = json!(true);
    answer["dry_run"] = json!(true);
    answer["confirm_until"] = json!(until);
    Ok(answer)
}

async fn forget(context: Arc<ToolContext>, caller: Caller, pointed: ForgetArgs) -> Result<Value, ToolError> {
    let request = pointed.into_request(caller)?;
    let receipt = context.runtime.changes().erase(request).await?;
    let mut answer = json!(ErasureReceiptBody::from(receipt));
    answer["success"] = json!(true);
    answer["dry_run"] = json!(false);
    Ok(answer)
}

impl From<EraseError> for ToolError {
    fn from(error: EraseError) -> Self {
        match error {
            EraseError::Store(error) => error.into(),
            other => Self::Refused(other.to_string()),
        }
    }
}
