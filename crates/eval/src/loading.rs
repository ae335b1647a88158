//! Reads data sets in their published forms.

use std::path::Path;

use anyhow::bail;
use memory::messages::MESSAGE_LENGTH_MAX;

use crate::data::DataSet;
use crate::{jsonl, locomo, longmemeval};

/// Reads a data set: `locomo` (a file or a folder of files), `madial`, `realmem`, `lifebench` and `jsonl` (a folder
/// with `units.jsonl` and `queries.jsonl`), `longmemeval` (a file). A unit longer than the maximum of a message is
/// cut and counted.
///
/// # Errors
///
/// If a file can't be read or is not in that format. The message names the file and the position.
pub fn read_data_set(set: &str, path: &Path) -> anyhow::Result<DataSet> {
    let mut data = match set {
        "locomo" => locomo::read(path)?,
        "madial" | "realmem" | "lifebench" | "jsonl" => jsonl::read(path)?,
        "longmemeval" => longmemeval::read(path)?,
        other => bail!("there is no data set format `{other}`"),
    };
    for unit in data.conversations.iter_mut().flat_map(|conversation| &mut conversation.units) {
        if let Some((end, _)) = unit.text.char_indices().nth(MESSAGE_LENGTH_MAX) {
            unit.text.truncate(end);
            data.cut += 1;
        }
    }
    for conversation in &mut data.conversations {
        let known: std::collections::HashSet<String> =
            conversation.units.iter().map(|unit| unit.id.clone()).collect();
        for question in &mut conversation.questions {
            let named = question.gold.len();
            question.gold.retain(|id| known.contains(id));
            data.dangling += named - question.gold.len();
        }
        conversation
            .questions
            .retain(|question| !question.gold.is_empty() || !question.gold_sessions.is_empty());
    }
    Ok(data)
}
