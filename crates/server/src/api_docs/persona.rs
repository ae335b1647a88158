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
            .asks::<personas::PersonaQuery>()
            .in_scope()
            .answers::<personas::PersonaList>(),
        on("post", "/api/admin/personas", "Makes a persona")
            .in_scope()
            .takes::<personas::NewPersonaRequest>()
            .answers_with::<persona::PersonaBody>(201)
            .refuses(&[409]),
        on("get", "/api/admin/persona", "Name, core blocks, facts and mood")
            .in_scope()
            .answers::<persona::PersonaBody>(),
        on("post", "/api/admin/persona", "Replaces what is given; an empty block clears it")
            .in_scope()
            .takes::<persona::PersonaEdit>()
            .answers_shape(200, "{ok: bool}"),
        on("post", "/api/admin/persona/onboarding", "The first words about a persona")
            .in_scope()
            .takes::<persona::Onboarding>()
            .answers_shape(200, "{ok: bool, persona_id: text}")
            .refuses(&[409]),
        on("post", "/api/admin/persona/style", "Sets the style block, adds a line, or clears it")
            .in_scope()
            .takes::<style::StyleEdit>()
            .answers_shape(200, "{ok: bool, action: 'set'|'append'|'clear'}"),
        on("patch", "/api/admin/persona/facts", "Writes the facts that are sent; null clears one")
            .in_scope()
            .takes::<facts::FactsEdit>()
            .answers::<facts::FactsResponse>(),
        on("get", avatar::PATH, "The picture").in_scope().answers_media("image/*"),
        on("post", avatar::PATH, "Takes a picture: png, jpg, webp or gif, at most 4 MiB")
            .in_scope()
            .takes_file()
            .answers::<avatar::AvatarUploaded>(),
        on("delete", avatar::PATH, "Takes the picture away").in_scope().answers::<Deleted>(),
        on("post", "/api/admin/persona/voice-toggle", "Whether the persona is to be heard")
            .in_scope()
            .takes::<voice::VoiceRequest>()
            .answers::<voice::VoiceResponse>(),
        on("post", "/api/admin/persona/extract-from-input", "Drafts blocks and facts from a description")
            .in_scope()
            .takes::<draft::ExtractRequest>()
            .answers::<draft::ExtractResponse>()
            .refuses(&[409, 501, 502]),
        on("post", "/api/admin/persona/bootstrap-from-material", "Drafts blocks from a text")
            .in_scope()
            .takes::<draft::BootstrapRequest>()
            .answers::<draft::BootstrapResponse>()
            .refuses(&[409, 501, 502]),
    ]
}

fn people() -> Vec<Operation> {
    let on = |method, path, summary| operation(USERS, method, path, summary);
    let identities = "/api/admin/users/{id}/identities";
    vec![
        on("get", "/api/admin/users", "All users, by id")
            .asks::<users::UserQuery>()
            .answers::<users::UserList>(),
        on("post", "/api/admin/users", "Makes a user")
            .takes::<users::NewUserRequest>()
            .answers_with::<users::UserBody>(201)
            .refuses(&[409]),
        on("get", "/api/admin/users/{id}", "One user").answers::<users::UserBody>(),
        on("patch", "/api/admin/users/{id}", "Names a user")
            .takes::<users::UserEdit>()
            .answers::<users::UserBody>(),
        on("get", identities, "Who the user is on other channels").answers::<users::IdentityList>(),
        on("post", identities, "Says who the user is on a channel")
            .takes::<users::ExternalIdentityBody>()
            .answers::<users::IdentityBound>()
            .refuses(&[409]),
        on("delete", identities, "Takes an identity from the user")
            .asks::<users::ExternalIdentityBody>()
            .answers::<Deleted>(),
        on("post", "/api/admin/users/timezone", "Where the user lives")
            .in_scope()
            .takes::<persona::ZoneRequest>()
            .answers_shape(200, "{ok: bool, timezone: text, written: bool}"),
    ]
}
