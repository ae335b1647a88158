//! What was said elsewhere and is remembered here: no turn answers it.

use memory::Scope;
use memory::capture::{CaptureError, MessageInput};
use memory::messages::{Message, Role};

use crate::runtime::Runtime;

impl Runtime {
    /// Keeps a line verbatim, in the channel's session; returns when it is durable. It becomes memory when the talk
    /// ends.
    pub async fn remember(
        &self,
        scope: Scope,
        channel_id: &str,
        role: Role,
        content: String,
    ) -> Result<Message, CaptureError> {
        let line = MessageInput {
            scope,
            channel_id: channel_id.to_owned(),
            turn_id: None,
            role,
            content,
            incomplete: false,
            external_ref: None,
        };
        Ok(self.runtime().record(line, None).await?.message)
    }
}
