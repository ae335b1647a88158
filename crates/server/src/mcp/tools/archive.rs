//! Tools for the whole hub in one file.

use hub::api::archive::EntityImport;

use super::of_hub;
use crate::mcp::tool::Tool;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        of_hub!(
            entity_export,
            Reads,
            "Export the hub's data of this persona and user as a zip archive in base64."
        )
        .long_running(),
        of_hub!(
            entity_import,
            Changes,
            EntityImport,
            "Import an archive completely or not at all. A document in the archive replaces the document of \
                the same name, whose text is kept as a version. Documents that the archive does not contain \
                are not changed."
        )
        .long_running(),
    ]
}
