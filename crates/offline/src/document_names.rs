//! Names in lines of documents. Relations are left to a model, because guesses by rules would often be wrong.

use serde::{Deserialize, Serialize};

use super::entities::{Kind, named_things};
use super::sentences::{sentences_with_words, split_clauses};

#[derive(Deserialize)]
pub(super) struct DocumentLines {
    events: Vec<DocumentLine>,
}

#[derive(Deserialize)]
struct DocumentLine {
    text: String,
}

#[derive(Serialize)]
pub(super) struct DocumentNames {
    entities: Vec<DocumentName>,
    relationships: [(); 0],
}

#[derive(Serialize)]
struct DocumentName {
    name: String,
    #[serde(rename = "type")]
    kind: Kind,
}

/// The names in all lines, each once.
pub(super) fn names_in_lines(inputs: &DocumentLines) -> DocumentNames {
    let mut entities: Vec<DocumentName> = Vec::new();
    for sentence in inputs.events.iter().flat_map(|line| sentences_with_words(&line.text)) {
        for named in named_things(sentence, &split_clauses(sentence)) {
            if !entities.iter().any(|known| known.name == named.name) {
                entities.push(DocumentName { name: named.name, kind: named.kind });
            }
        }
    }
    DocumentNames { entities, relationships: [] }
}
