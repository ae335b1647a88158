//! Chat and the OpenAI-compatible endpoint.

use super::route::{Route, Tag};
use crate::chat::events::EventStream;
use crate::chat::{edit, events, history, send, turns, typing, versions, voice};
use crate::openai::chunks::CompletionChunk;
use crate::openai::completions::{self, ChatCompletion};
use crate::openai::models;

pub(super) fn routes() -> Vec<Route> {
    let chat = Tag("chat");
    let openai = Tag("openai");
    vec![
        chat.post("/api/chat/send", "Send a message; the reply arrives in the event stream", send::send)
            .add_error_statuses(&[404, 429]),
        chat.post("/api/chat/typing", "Report that the user is typing", typing::typing)
            .add_error_statuses(&[404]),
        chat.get(events::PATH, "Stream server events; resumable by Last-Event-ID", events::events)
            .returns_events::<EventStream>(),
        chat.get("/api/chat/history", "List messages, newest first", history::history),
        chat.patch("/api/chat/messages/{id}", "Edit a user message", edit::edit).add_error_statuses(&[409]),
        chat.get("/api/chat/messages/{id}/versions", "List other versions of a message", versions::list),
        chat.delete("/api/chat/messages/{id}", "Delete a message and what only it supports", edit::delete),
        chat.post("/api/chat/regenerate", "Regenerate the last reply", edit::regenerate)
            .add_error_statuses(&[404, 409]),
        chat.post("/api/chat/stop", "Stop a reply and keep the part written so far", edit::stop)
            .add_error_statuses(&[404, 409]),
        chat.get("/api/chat/turns/{id}/receipt", "Get a reply's receipt", turns::receipt),
        chat.post("/api/chat/turns/{id}/retry", "Retry a failed turn", turns::retry)
            .add_error_statuses(&[409]),
        chat.get(
            "/api/chat/voice/{file}",
            "Get a message's sound, MESSAGE_ID.mp3; ranges work",
            voice::sound,
        )
        .returns_media(voice::WAV)
        .returns_partial(voice::WAV)
        .add_error_statuses(&[416, 500, 503]),
        chat.post("/api/chat/voice/{file}", "Speak a reply", voice::speak)
            .add_error_statuses(&[400, 500, 502]),
        chat.get(
            "/api/chat/voice/live/{turn_id}/{index}",
            "Get a sentence of a reply that is being written",
            voice::sentence,
        )
        .returns_media(voice::WAV),
        chat.post(
            voice::TRANSCRIBE_PATH,
            "Transcribe a recording (WAV, 10 minutes at most)",
            voice::transcribe,
        )
        .takes_file()
        .add_error_statuses(&[500, 502]),
        openai.get("/v1/models", "List personas as models", models::list),
        openai.get("/v1/models/{id}", "Get a persona as a model", models::show),
        openai
            .post(
                completions::PATH,
                "Create a chat completion from the last user message",
                completions::complete,
            )
            .add_response::<ChatCompletion>(200)
            .returns_events::<CompletionChunk>()
            .add_error_statuses(&[404, 429, 502]),
    ]
}
