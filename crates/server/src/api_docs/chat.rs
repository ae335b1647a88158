//! Talk, and the OpenAI protocol.

use memory::ledger::ReplyReceipt;

use super::operation::{Operation, operation};
use crate::admin::forget::ForgetModeQuery;
use crate::chat::{edit, events, history, send};
use crate::openai::request::CompletionRequest;

const TAG: &str = "chat";
const OPENAI: &str = "openai";

const COMPLETION: &str = "{id: text, object: 'chat.completion', created: int, model: text, choices: [{index: int, \
    message: {role: 'assistant', content: text, refusal: null}, logprobs: null, finish_reason: 'stop'|'length'}], \
    usage: {prompt_tokens: int, completion_tokens: int, total_tokens: int, prompt_tokens_details: object}}";

pub(super) fn operations() -> Vec<Operation> {
    let chat = |method, path, summary| operation(TAG, method, path, summary);
    let openai = |method, path, summary| operation(OPENAI, method, path, summary);
    vec![
        chat("post", "/api/chat/send", "Takes a line; the reply comes by the event stream")
            .takes::<send::SendRequest>()
            .answers_with::<send::SendResponse>(202)
            .refuses(&[404, 429]),
        chat("get", "/api/chat/events", "Everything that happens, as it happens; resumable by Last-Event-ID")
            .asks::<events::Resume>()
            .answers_media("text/event-stream"),
        chat("get", "/api/chat/history", "What was said, newest first")
            .asks::<history::HistoryQuery>()
            .in_scope()
            .answers::<history::ChatHistory>(),
        chat("patch", "/api/chat/messages/{id}", "Gives the user's own message new words")
            .takes::<edit::EditMessageRequest>()
            .answers::<edit::EditMessageResponse>()
            .refuses(&[409]),
        chat("delete", "/api/chat/messages/{id}", "Forgets words and what only they proved")
            .asks::<ForgetModeQuery>()
            .answers_shape(200, "{deleted: bool, message_id: id, taken: @Taken}"),
        chat("post", "/api/chat/regenerate", "Has the last reply said anew")
            .may_take::<edit::RegenerateRequest>()
            .answers_shape(202, "{ok: bool, turn_id: id}")
            .refuses(&[404, 409]),
        chat("post", "/api/chat/stop", "Stops a reply; what was said so far is kept")
            .takes::<edit::StopRequest>()
            .answers_shape(202, "{ok: bool, turn_id: id}")
            .refuses(&[404, 409]),
        chat("get", "/api/chat/turns/{id}/receipt", "What a reply rested on").answers::<ReplyReceipt>(),
        chat("post", "/api/chat/turns/{id}/retry", "Asks again for the reply of a failed turn")
            .answers_shape(202, "{ok: bool, turn_id: id}")
            .refuses(&[409]),
        openai("get", "/v1/models", "The personas, as models").answers_shape(
            200,
            "{object: 'list', data: [{id: text, object: 'model', created: int, owned_by: text, name: text}]}",
        ),
        openai("get", "/v1/models/{id}", "One persona, as a model")
            .answers_shape(200, "{id: text, object: 'model', created: int, owned_by: text, name: text}"),
        openai("post", "/v1/chat/completions", "The last user message enters an ordinary turn")
            .takes::<CompletionRequest>()
            .answers_shape(200, COMPLETION)
            .answers_media("text/event-stream")
            .refuses(&[404, 429, 502]),
    ]
}
