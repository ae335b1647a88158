//! Tools for identity documents.

use hub::api::identity::{CustomFile, IdentityText, MetaQuery, MetaText, SectionText};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            identity_get_all,
            Reads,
            "Get all identity documents by category (self, user, relationship, custom), each with its file \
                name, text and prompt label, without lorebook entries. Read this first."
        ),
        of_hub!(
            identity_write,
            Changes,
            IdentityText,
            "Write an identity document, replacing its text; the old text is kept as a version and a snapshot. Only the \
             owner writes persona.md, the user's block and style.md."
        ),
        of_hub!(
            identity_append,
            Adds,
            IdentityText,
            "Append text to an identity document; creates it if it does not exist."
        ),
        of_hub!(
            identity_prepend,
            Adds,
            IdentityText,
            "Prepend text to an identity document; creates it if it does not exist."
        ),
        of_hub!(
            identity_update_section,
            Adds,
            SectionText,
            "Append text to a section (`## NAME` or `### NAME`); a missing section is created at the end."
        ),
        of_hub!(
            identity_rewrite_section,
            Changes,
            SectionText,
            "Replace the text of a section, up to the next heading of its level or above; the old text is kept as a \
             version and a snapshot."
        ),
        of_hub!(
            identity_delete_custom,
            Destroys,
            CustomFile,
            "Delete a document of the category custom; its versions are kept."
        ),
        of_hub!(
            identity_get_meta,
            Reads,
            MetaQuery,
            "Get prompt labels by `category/file`; with a category, those of every file in it."
        ),
        of_hub!(identity_set_meta, Changes, MetaText, "Set the prompt label of an identity document."),
    ]
}
