//! Personas and users.

use super::route::{Route, Tag};
use crate::admin::{avatar, draft, facts, persona, personas, style, users, voice};

pub(super) fn routes() -> Vec<Route> {
    [personas(), users()].into_iter().flatten().collect()
}

fn personas() -> Vec<Route> {
    let tag = Tag("persona");
    vec![
        tag.get("/api/admin/personas", "List personas by id", personas::list),
        tag.post("/api/admin/personas", "Create a persona", personas::create).fails_with(&[409]),
        tag.get("/api/admin/persona", "Get name, core blocks, facts and mood", persona::show),
        tag.post(
            "/api/admin/persona",
            "Update name and core blocks; an empty block is cleared",
            persona::edit,
        ),
        tag.post(
            "/api/admin/persona/onboarding",
            "Write a new persona's first core blocks",
            persona::onboard,
        )
        .fails_with(&[409]),
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
        .fails_with(&[409, 501, 502]),
        tag.post(
            "/api/admin/persona/bootstrap-from-material",
            "Draft core blocks from a text",
            draft::bootstrap,
        )
        .fails_with(&[409, 501, 502]),
    ]
}

fn users() -> Vec<Route> {
    let tag = Tag("users");
    let identities = "/api/admin/users/{id}/identities";
    vec![
        tag.get("/api/admin/users", "List users by id", users::list),
        tag.post("/api/admin/users", "Create a user", users::create).fails_with(&[409]),
        tag.get("/api/admin/users/{id}", "Get a user", users::show),
        tag.patch("/api/admin/users/{id}", "Rename a user", users::edit),
        tag.get(identities, "List a user's identities on channels", users::identities),
        tag.post(identities, "Add an identity to a user", users::bind).fails_with(&[409]),
        tag.delete(identities, "Remove an identity from a user", users::unbind),
        tag.post("/api/admin/users/timezone", "Set a user's time zone", persona::set_timezone),
    ]
}
