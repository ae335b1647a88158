//! Personas and users.

use super::operation::{Operation, operation};
use crate::admin::{avatar, draft, facts, persona, personas, style, users, voice};
use crate::extract::Deleted;

const TAG: &str = "persona";
const USERS: &str = "users";

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = personas();
    operations.extend(people());
    operations
}

fn personas() -> Vec<Operation> {
    let on = |method, path, summary| operation(TAG, method, path, summary);
    vec![
        on("get", "/api/admin/personas", "All personas, by id")
            .asks::<personas::Page>()
            .in_scope()
            .answers::<personas::List>(),
        on("post", "/api/admin/personas", "Makes a persona")
            .in_scope()
            .takes::<personas::New>()
            .answers_with::<persona::Persona>(201)
            .refuses(&[409]),
        on("get", "/api/admin/persona", "Name, core blocks, facts and mood")
            .in_scope()
            .answers::<persona::Persona>(),
        on("post", "/api/admin/persona", "Replaces what is given; an empty block clears it")
            .in_scope()
            .takes::<persona::Edit>()
            .answers_shape(200, "{ok: bool}"),
        on("post", "/api/admin/persona/onboarding", "The first words about a persona")
            .in_scope()
            .takes::<persona::Onboarding>()
            .answers_shape(200, "{ok: bool, persona_id: text}")
            .refuses(&[409]),
        on("post", "/api/admin/persona/style", "Sets the style block, adds a line, or clears it")
            .in_scope()
            .takes::<style::Edit>()
            .answers_shape(200, "{ok: bool, action: 'set'|'append'|'clear'}"),
        on("patch", "/api/admin/persona/facts", "Writes the facts that are sent; null clears one")
            .in_scope()
            .takes::<facts::Edit>()
            .answers::<facts::Written>(),
        on("get", avatar::PATH, "The picture").in_scope().answers_media("image/*"),
        on("post", avatar::PATH, "Takes a picture: png, jpg, webp or gif, at most 4 MiB")
            .in_scope()
            .takes_file()
            .answers::<avatar::Taken>(),
        on("delete", avatar::PATH, "Takes the picture away").in_scope().answers::<Deleted>(),
        on("post", "/api/admin/persona/voice-toggle", "Whether the persona is to be heard")
            .in_scope()
            .takes::<voice::Wish>()
            .answers::<voice::Set>(),
        on("post", "/api/admin/persona/extract-from-input", "Drafts blocks and facts from a description")
            .in_scope()
            .takes::<draft::Asked>()
            .answers::<draft::Extracted>()
            .refuses(&[409, 501, 502]),
        on("post", "/api/admin/persona/bootstrap-from-material", "Drafts blocks from a text")
            .in_scope()
            .takes::<draft::Material>()
            .answers::<draft::Bootstrapped>()
            .refuses(&[409, 501, 502]),
    ]
}

fn people() -> Vec<Operation> {
    let on = |method, path, summary| operation(USERS, method, path, summary);
    let identities = "/api/admin/users/{id}/identities";
    vec![
        on("get", "/api/admin/users", "All users, by id").asks::<users::Page>().answers::<users::List>(),
        on("post", "/api/admin/users", "Makes a user")
            .takes::<users::New>()
            .answers_with::<users::User>(201)
            .refuses(&[409]),
        on("get", "/api/admin/users/{id}", "One user").answers::<users::User>(),
        on("patch", "/api/admin/users/{id}", "Names a user").takes::<users::Edit>().answers::<users::User>(),
        on("get", identities, "Who the user is on other channels").answers::<users::Identities>(),
        on("post", identities, "Says who the user is on a channel")
            .takes::<users::Named>()
            .answers::<users::BoundTo>()
            .refuses(&[409]),
        on("delete", identities, "Takes an identity from the user")
            .asks::<users::Named>()
            .answers::<Deleted>(),
        on("post", "/api/admin/users/timezone", "Where the user lives")
            .in_scope()
            .takes::<persona::Zone>()
            .answers_shape(200, "{ok: bool, timezone: text, written: bool}"),
    ]
}
