//! Files that contain a character card.

use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::card::Picture;
use crate::formats::Png;

/// File format of an exported card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardContainer {
    /// The card alone, without a picture.
    Json,
    /// The picture, with the card in it. Older programs find a card of version 2 beside it.
    Png,
    /// An archive with the card and the picture.
    Charx,
}

/// Error: a PNG card needs a PNG picture of the persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the persona has no PNG picture")]
pub struct NoPicture;

/// The bytes of the file. `card` is of version 3.
///
/// # Errors
///
/// [`NoPicture`] if there is no picture for a PNG.
pub fn card_file(
    container: CardContainer,
    mut card: Value,
    picture: Option<&Picture>,
) -> Result<Vec<u8>, NoPicture> {
    match container {
        CardContainer::Json => Ok(format!("{card:#}\n").into_bytes()),
        CardContainer::Png => {
            let picture = picture.and_then(|picture| Png::read(&picture.bytes).ok()).ok_or(NoPicture)?;
            let newer = STANDARD.encode(card.to_string());
            card["spec"] = json!("chara_card_v2");
            card["spec_version"] = json!("2.0");
            Ok(picture.with_texts(&[("chara", &STANDARD.encode(card.to_string())), ("ccv3", &newer)]))
        }
        CardContainer::Charx => Ok(zip_archive(card, picture)),
    }
}

fn zip_archive(mut card: Value, picture: Option<&Picture>) -> Vec<u8> {
    let icon = picture.map(|picture| {
        let extension = match picture.media_type.as_str() {
            "image/jpeg" => "jpg",
            "image/webp" => "webp",
            "image/gif" => "gif",
            _ => "png",
        };
        (format!("assets/icon/image/main.{extension}"), extension, &picture.bytes)
    });
    if let Some((path, extension, _)) = &icon {
        let asset =
            json!({"type": "icon", "uri": format!("embeded://{path}"), "name": "main", "ext": extension});
        match card["data"].get_mut("assets").and_then(Value::as_array_mut) {
            Some(assets) => assets.insert(0, asset),
            None => card["data"]["assets"] = json!([asset]),
        }
    }
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let text = card.to_string();
    let files = std::iter::once(("card.json", text.as_bytes()))
        .chain(icon.iter().map(|(path, _, bytes)| (path.as_str(), bytes.as_slice())));
    for (path, bytes) in files {
        // Writing to memory fails only for names and sizes that do not occur here.
        let _started = archive.start_file(path, SimpleFileOptions::default());
        let _written = archive.write_all(bytes);
    }
    archive.finish().map(Cursor::into_inner).unwrap_or_default()
}
