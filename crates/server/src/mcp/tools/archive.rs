//! Tools for the whole hub in one file.

use hub::api::archive::EntityImport;

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            entity_export,
            Reads,
            "Export the hub's data of this persona and user as one zip archive in base64."
        )
        .long_running(),
        of_hub!(
            entity_import,
            Changes,
            EntityImport,
            "Import an archive, all of it or nothing. A document in the archive replaces the one of its name, whose text is kept as \
             a version; documents that the archive does not hold are kept as they are."
        )
        .long_running(),
    ]
}
