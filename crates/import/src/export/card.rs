use serde_json::{Value, json};

use crate::card::Card;

/// The card as JSON of version 2, which every program of its kind reads. The picture is not in it.
pub fn card_json(card: &Card) -> Value {
    let book = card.lorebook.as_ref().map(|book| {
        let entries = book.entries.iter().enumerate().map(|(order, entry)| {
            json!({
                "id": order,
                "name": entry.name,
                "keys": entry.keys,
                "secondary_keys": entry.secondary_keys,
                "selective": !entry.secondary_keys.is_empty(),
                "content": entry.content,
                "constant": entry.is_constant,
                "enabled": entry.is_enabled,
                "insertion_order": order,
                "extensions": {},
            })
        });
        json!({"name": book.name, "entries": entries.collect::<Vec<_>>(), "extensions": {}})
    });
    let mut data = json!({
        "name": card.name,
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "first_mes": card.first_message,
        "mes_example": card.example_talk,
        "alternate_greetings": card.alternate_greetings,
        "system_prompt": card.system_prompt,
        "post_history_instructions": card.post_history_instructions,
        "creator_notes": card.creator_notes,
        "creator": card.creator,
        "character_version": card.version,
        "tags": card.tags,
        "extensions": {},
    });
    if let Some(book) = book {
        data["character_book"] = book;
    }
    json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})
}
