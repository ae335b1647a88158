//! Personas and users.

use super::route::{Route, Tag};
use crate::admin::persona::{avatar, draft, facts, personas, profile, style, users, voice};

pub(super) fn routes() -> Vec<Route> {
    [personas(), voice(), users()].into_iter().flatten().collect()
}

fn personas() -> Vec<Route> {
    let tag = Tag("persona");
    vec![
        tag.get("/api/admin/personas", "List personas by id", personas::list),
        tag.post("/api/admin/personas", "Create a persona", personas::create).add_error_statuses(&[409]),
        tag.get("/api/admin/persona", "Get name, core blocks, facts and mood", profile::show),
        tag.post(
            "/api/admin/persona",
            "Update name and core blocks; an empty block is cleared",
            profile::edit,
        ),
        tag.post(
            "/api/admin/persona/onboarding",
            "Write a new persona's first core blocks",
            profile::onboard_persona,
        )
        .add_error_statuses(&[409]),
        tag.post("/api/admin/persona/style", "Set, extend or clear the style block", style::edit),
        tag.patch("/api/admin/persona/facts", "Update persona facts; null clears one", facts::edit),
        tag.get(avatar::PATH, "Get the avatar", avatar::show).returns_media("image/*"),
        tag.post(avatar::PATH, "Upload an avatar: png, jpg, webp or gif, at most 4 MiB", avatar::upload)
            .takes_file(),
        tag.delete(avatar::PATH, "Delete the avatar", avatar::remove),
        tag.post("/api/admin/persona/voice-toggle", "Toggle voice", voice::toggle),
        tag.post(
            "/api/admin/persona/extract-from-input",
            "Draft core blocks and facts from a description",
            draft::extract,
        )
        .add_error_statuses(&[400, 404, 409, 502, 504]),
        tag.post(
            "/api/admin/persona/bootstrap-from-material",
            "Draft core blocks from a text",
            draft::bootstrap,
        )
        .add_error_statuses(&[400, 404, 409, 502, 504]),
    ]
}

fn voice() -> Vec<Route> {
    let tag = Tag("voice");
    vec![
        tag.get(
            "/api/admin/voice",
            "Get speech and recognition providers, and installed programs",
            voice::show,
        ),
        tag.post(
            "/api/admin/voice/use",
            "Use an installed program for speech or recognition",
            voice::use_program,
        )
        .add_error_statuses(&[400, 404, 500]),
        tag.get(voice::SAMPLES_PATH, "List samples of a voice", voice::samples).add_error_statuses(&[500]),
        tag.post(voice::SAMPLES_PATH, "Upload a sample: WAV, 3 to 60 s, at most 50 MiB", voice::add_sample)
            .takes_file()
            .add_error_statuses(&[500]),
        tag.delete("/api/admin/voice/samples/{sample_id}", "Delete a sample", voice::remove_sample)
            .add_error_statuses(&[500]),
        tag.post("/api/admin/voice/clone", "Clone a voice from all samples", voice::clone_voice)
            .add_error_statuses(&[500, 502]),
        tag.post("/api/admin/voice/preview", "Speak a text with a voice", voice::preview)
            .returns_media("audio/wav")
            .add_error_statuses(&[500, 502]),
        tag.post("/api/admin/voice/activate", "Choose the persona's voice", voice::activate)
            .add_error_statuses(&[500]),
    ]
}

fn users() -> Vec<Route> {
    let tag = Tag("users");
    let identities = "/api/admin/users/{id}/identities";
    vec![
        tag.get("/api/admin/users", "List users by id", users::list),
        tag.post("/api/admin/users", "Create a user", users::create).add_error_statuses(&[409]),
        tag.get("/api/admin/users/{id}", "Get a user", users::show),
        tag.patch("/api/admin/users/{id}", "Rename a user", users::edit),
        tag.get(identities, "List a user's identities on channels", users::identities),
        tag.post(identities, "Add an identity to a user", users::bind).add_error_statuses(&[409]),
        tag.delete(identities, "Remove an identity from a user", users::unbind),
        tag.post("/api/admin/users/timezone", "Set a user's time zone", profile::set_timezone),
    ]
}
