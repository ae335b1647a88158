//! Character cards V1, V2 and V3 as JSON, in a PNG picture or in a CHARX archive.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{alphabet, engine::DecodePaddingMode};
use serde_json::Value;

use super::card_json::{parse, skipping_reader};
use super::listed::string_field;
use super::{Format, Reader, ReaderContext, lorebook, png, single_item_reader};
use crate::card::{Card, Picture};
use crate::error::ImportError;
use crate::item::Item;
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::lines::clean_text;

pub(super) const FORMAT: Format =
    Format { id: "card", name: "character card (V1, V2, V3)", detect: is_card, open };

/// Decoder for cards in pictures, which occur with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

fn is_card(context: &ReaderContext<'_>) -> bool {
    let head = context.head;
    let is_named = head.text.contains("chara_card_v");
    head.bytes.starts_with(png::SIGNATURE)
        || is_named && (head.is_object_with(&["spec"]) || head.is_object_with(&["data"]))
        || head.is_object_with(&["name", "description", "first_mes"])
        || head.is_object_with(&["name", "personality", "first_mes"])
        || head.is_object_with(&["char_name", "char_persona"])
}

fn open(context: &ReaderContext<'_>) -> Result<Reader, ImportError> {
    let name = context.source.name();
    let Some(bytes) = context.source.read_whole(DOCUMENT_BYTES_MAX)? else {
        return Ok(skipping_reader(name, format!("it is longer than {DOCUMENT_BYTES_MAX} bytes")));
    };
    let card = if bytes.starts_with(png::SIGNATURE) {
        from_png(&bytes, name)
    } else {
        parse(&clean_text(bytes).0).and_then(|json| {
            let mut card = from_json(&json, name)?;
            card.picture = read_icon(context, &json);
            Ok(card)
        })
    };
    Ok(match card {
        Ok(card) => single_item_reader(Item::Card(Box::new(card))),
        Err(reason) => skipping_reader(name, reason),
    })
}

fn from_png(bytes: &[u8], name: &str) -> Result<Card, String> {
    let picture = png::Png::read(bytes)?;
    // A file with a V3 card also has a V2 card, for older programs.
    let text = picture.chunk_text("ccv3").or_else(|| picture.chunk_text("chara"));
    let text = text.ok_or("it is a picture without a card; the message that contains it mentions it")?;
    let trimmed: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    let json = match BASE64.decode(&trimmed) {
        Ok(json) => clean_text(json).0,
        // Some programs write the JSON without encoding.
        Err(_) if text.trim_start().starts_with('{') => text.clone(),
        Err(error) => return Err(format!("the card in the picture is not valid base64: {error}")),
    };
    let mut card = from_json(&parse(&json)?, name)?;
    card.picture = Some(Picture {
        media_type: "image/png".to_owned(),
        bytes: picture.without_texts(&["chara", "ccv3"]),
        place: name.to_owned(),
    });
    Ok(card)
}

pub(crate) fn from_json(json: &Value, name: &str) -> Result<Card, String> {
    let spec_version = match string_field(json, "spec") {
        Some("chara_card_v3") => "3.0",
        Some(_) => "2.0",
        None if json.get("data").is_some() => "2.0",
        None => "1.0",
    };
    let data = json.get("data").filter(|data| data.is_object()).unwrap_or(json);
    let text = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| string_field(data, key).or_else(|| string_field(json, key)))
            .unwrap_or_default()
            .to_owned()
    };
    let texts = |key: &str| {
        let list = data.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let card_name = text(&["name", "char_name"]);
    if card_name.trim().is_empty() {
        return Err("the card has no name".to_owned());
    }
    let book = data.get("character_book").filter(|book| book.is_object());
    Ok(Card {
        spec_version: spec_version.to_owned(),
        nickname: Some(text(&["nickname"])).filter(|nickname| !nickname.is_empty()),
        description: text(&["description", "char_persona"]),
        personality: text(&["personality"]),
        scenario: text(&["scenario", "world_scenario"]),
        first_message: text(&["first_mes", "char_greeting"]),
        alternate_greetings: texts("alternate_greetings"),
        example_talk: text(&["mes_example", "example_dialogue"]),
        system_prompt: text(&["system_prompt"]),
        post_history_instructions: text(&["post_history_instructions"]),
        creator_notes: text(&["creator_notes", "creatorcomment"]),
        creator: text(&["creator"]),
        version: text(&["character_version"]),
        tags: texts("tags"),
        picture: None,
        lorebook: book.map(|book| lorebook::read(book, &card_name, name)).transpose()?,
        place: name.to_owned(),
        json: json.clone(),
        name: card_name,
    })
}

/// Reads the icon from the archive of the card.
fn read_icon(context: &ReaderContext<'_>, json: &Value) -> Option<Picture> {
    let assets = json.get("data").unwrap_or(json).get("assets")?.as_array()?;
    let icons = || assets.iter().filter(|asset| string_field(asset, "type") == Some("icon"));
    let icon =
        icons().find(|asset| string_field(asset, "name") == Some("main")).or_else(|| icons().next())?;
    let path = ["embeded://", "embedded://"]
        .iter()
        .find_map(|scheme| string_field(icon, "uri")?.strip_prefix(scheme))?;
    let source = context.sources.find_sibling(context.source, path)?;
    let bytes = source.read_whole(DOCUMENT_BYTES_MAX).ok()??;
    let media_type = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return None,
    };
    Some(Picture { media_type: media_type.to_owned(), bytes, place: source.name().to_owned() })
}
