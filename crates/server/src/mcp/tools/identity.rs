//! Who the persona is.

use hub::api::identity::{CustomFile, IdentityText, MetaQuery, MetaText, SectionText};

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            identity_get_all,
            Reads,
            "All identity documents by category (self, user, relationship, custom), each with its file name, text and \
             prompt label. Read this first."
        ),
        of_hub!(
            identity_write,
            Changes,
            IdentityText,
            "Writes an identity document whole. What was there stays as a version and a snapshot. persona.md, the user's \
             block and style.md are written by people alone."
        ),
        of_hub!(
            identity_append,
            Adds,
            IdentityText,
            "Adds a text at the end of an identity document; makes it if it is not there."
        ),
        of_hub!(
            identity_prepend,
            Adds,
            IdentityText,
            "Adds a text at the beginning of an identity document; makes it if it is not there."
        ),
        of_hub!(
            identity_update_section,
            Adds,
            SectionText,
            "Adds a text at the end of a section (`## NAME` or `### NAME`); a missing section is made at the end."
        ),
        of_hub!(
            identity_rewrite_section,
            Changes,
            SectionText,
            "Puts a text in the place of a section's text, up to the next heading of its level or above. What was there \
             stays as a version and a snapshot."
        ),
        of_hub!(
            identity_delete_custom,
            Destroys,
            CustomFile,
            "Deletes a document of the category custom. Its versions are kept."
        ),
        of_hub!(
            identity_get_meta,
            Reads,
            MetaQuery,
            "Prompt labels by `category/file`. With a category, of every file in it."
        ),
        of_hub!(identity_set_meta, Changes, MetaText, "Says how a prompt calls an identity document."),
    ]
}
