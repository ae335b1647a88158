//! Placeholders for files and deleted messages, in the languages that have different ones.

use crate::formats::building::{attachment_from_path, is_invisible_mark};
use crate::item::{Attachment, AttachmentKind};

/// Texts of messages whose file was omitted, in lower case without angle brackets and dots.
const OMITTED_TEXTS: &[(&str, AttachmentKind)] = &[
    ("media omitted", AttachmentKind::File),
    ("image omitted", AttachmentKind::Image),
    ("video omitted", AttachmentKind::Video),
    ("audio omitted", AttachmentKind::Audio),
    ("sticker omitted", AttachmentKind::Sticker),
    ("gif omitted", AttachmentKind::Video),
    ("document omitted", AttachmentKind::File),
    ("video note omitted", AttachmentKind::Video),
    ("contact card omitted", AttachmentKind::File),
    ("medien ausgeschlossen", AttachmentKind::File),
    ("bild weggelassen", AttachmentKind::Image),
    ("video weggelassen", AttachmentKind::Video),
    ("audio weggelassen", AttachmentKind::Audio),
    ("sticker weggelassen", AttachmentKind::Sticker),
    ("médias omis", AttachmentKind::File),
    ("image absente", AttachmentKind::Image),
    ("audio omis", AttachmentKind::Audio),
    ("multimedia omitido", AttachmentKind::File),
    ("imagen omitida", AttachmentKind::Image),
    ("video omitido", AttachmentKind::Video),
    ("audio omitido", AttachmentKind::Audio),
    ("mídia oculta", AttachmentKind::File),
    ("arquivo de mídia oculto", AttachmentKind::File),
    ("imagem ocultada", AttachmentKind::Image),
    ("media omessi", AttachmentKind::File),
    ("immagine omessa", AttachmentKind::Image),
    ("media weggelaten", AttachmentKind::File),
    ("afbeelding weggelaten", AttachmentKind::Image),
    ("без медиафайлов", AttachmentKind::File),
    ("изображение отсутствует", AttachmentKind::Image),
    ("medya dahil edilmedi", AttachmentKind::File),
    ("省略多媒体文件", AttachmentKind::File),
    ("媒體已略去", AttachmentKind::File),
    ("已忽略图片", AttachmentKind::Image),
    ("图像已忽略", AttachmentKind::Image),
    ("圖片已略去", AttachmentKind::Image),
    ("视频已忽略", AttachmentKind::Video),
    ("影片已略去", AttachmentKind::Video),
    ("音频已忽略", AttachmentKind::Audio),
    ("音訊已略去", AttachmentKind::Audio),
    ("メディアなし", AttachmentKind::File),
    ("画像は含まれていません", AttachmentKind::Image),
    ("미디어 파일을 제외한 내용", AttachmentKind::File),
    ("사진 생략됨", AttachmentKind::Image),
];

/// Texts of messages that their sender deleted.
const DELETED_TEXTS: &[&str] = &[
    "this message was deleted",
    "you deleted this message",
    "null",
    "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht",
    "ce message a été supprimé",
    "vous avez supprimé ce message",
    "se eliminó este mensaje",
    "eliminaste este mensaje",
    "mensagem apagada",
    "questo messaggio è stato eliminato",
    "dit bericht is verwijderd",
    "данное сообщение удалено",
    "此消息已删除",
    "这条消息已被删除",
    "此訊息已刪除",
    "你删除了这条消息",
    "このメッセージは削除されました",
    "삭제된 메시지입니다",
];

pub(super) fn is_deleted(text: &str) -> bool {
    let folded = fold_placeholder(text);
    DELETED_TEXTS.contains(&folded.as_str())
}

/// True if iOS wrote the text itself: "Messages and calls are end-to-end encrypted", "Missed voice call". Its own
/// texts begin with a mark of writing direction. Locations, contacts and polls have the mark too, but were sent by a
/// person.
pub(super) fn is_notice(text: &str) -> bool {
    let Some(words) = text.strip_prefix('\u{200E}') else { return false };
    !words.contains('\n') && !words.contains("://") && !words.contains(".vcf")
}

/// The text without the placeholder of a file, and the file.
pub(super) fn split_file(text: String) -> (String, Option<Attachment>) {
    let text = without_edit_mark(text);
    let (first, caption) =
        text.split_once('\n').map_or((text.as_str(), None), |(first, rest)| (first, Some(rest)));
    let Some(file) = placeholder_attachment(first) else { return (text, None) };
    (caption.unwrap_or_default().to_owned(), Some(file))
}

fn placeholder_attachment(line: &str) -> Option<Attachment> {
    let shown =
        line.trim_matches(|character: char| character.is_whitespace() || is_invisible_mark(character));
    // `<attached: 00000012-PHOTO-2024-01-05.jpg>`, with any word.
    if let Some(inner) = shown.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'))
        && let Some((_, name)) = inner.split_once(": ")
        && is_file_name(name.trim())
    {
        return Some(attachment_from_path(name.trim()));
    }
    // `IMG-20240105-WA0001.jpg (file attached)`, with any words.
    if let Some((name, words)) = shown.rsplit_once(" (")
        && words.ends_with(')')
        && is_file_name(name)
        && (is_phone_name(name) || line.starts_with(is_invisible_mark) || words.contains("attached"))
    {
        return Some(attachment_from_path(name));
    }
    let folded = fold_placeholder(shown);
    if let Some((_, kind)) = OMITTED_TEXTS.iter().find(|(words, _)| folded == *words) {
        return Some(Attachment { kind: *kind, name: None });
    }
    // `report.pdf • 3 pages document omitted`
    let is_document = line.contains('\u{200E}') && folded.ends_with("document omitted");
    is_document.then(|| Attachment {
        kind: AttachmentKind::File,
        name: shown.split(" • ").next().map(|name| name.trim().chars().take(256).collect()),
    })
}

fn is_file_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    name.len() <= 300
        && ending.is_some_and(|ending| {
            (1..=5).contains(&ending.len()) && ending.chars().all(char::is_alphanumeric)
        })
}

/// True for file names made by Android: `IMG-20240105-WA0001.jpg`.
fn is_phone_name(name: &str) -> bool {
    name.contains("-WA")
        && name.split('-').nth(1).is_some_and(|day| day.len() == 8 && day.bytes().all(|b| b.is_ascii_digit()))
}

/// The text in lower case, without invisible marks, brackets and the final dot.
fn fold_placeholder(text: &str) -> String {
    let shown = text.trim_matches(|character: char| {
        character.is_whitespace()
            || is_invisible_mark(character)
            || matches!(character, '<' | '>' | '.' | '。')
    });
    if shown.len() > 200 { String::new() } else { shown.to_lowercase() }
}

/// The text without a trailing `<This message was edited>`, which iOS and Android append after an invisible mark.
fn without_edit_mark(mut text: String) -> String {
    if let Some(at) = text.rfind('<')
        && text.ends_with('>')
        && text[..at].trim_end_matches(' ').ends_with(is_invisible_mark)
        && !text[at..].contains(": ")
    {
        let kept =
            text[..at].trim_end_matches(|character| character == ' ' || is_invisible_mark(character)).len();
        if kept > 0 {
            text.truncate(kept);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_removed_from_the_text() {
        for (line, name, kind, caption) in [
            ("<Media omitted>", None, AttachmentKind::File, ""),
            ("\u{200E}image omitted", None, AttachmentKind::Image, ""),
            (
                "\u{200E}<attached: 00000012-PHOTO-2024-01-05.jpg>",
                Some("00000012-PHOTO-2024-01-05.jpg"),
                AttachmentKind::Image,
                "",
            ),
            (
                "IMG-20240105-WA0001.jpg (Datei angehängt)\nlook",
                Some("IMG-20240105-WA0001.jpg"),
                AttachmentKind::Image,
                "look",
            ),
            ("<省略多媒体文件>", None, AttachmentKind::File, ""),
        ] {
            let (text, file) = split_file(line.to_owned());
            assert_eq!(
                (text.as_str(), file),
                (caption, Some(Attachment { kind, name: name.map(str::to_owned) })),
                "{line}"
            );
        }
    }

    #[test]
    fn text_that_resembles_a_placeholder_stays() {
        for text in ["I read notes.txt (the old one)", "a < b", "<3", "media omitted it"] {
            assert_eq!(split_file(text.to_owned()), (text.to_owned(), None));
        }
        assert_eq!(split_file("fine now \u{200E}<This message was edited>".to_owned()).0, "fine now");
        assert!(is_deleted("\u{200E}This message was deleted."));
    }
}
