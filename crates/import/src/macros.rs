//! Placeholders in cards and in conversations of role-play programs.

/// Replaces `{{char}}`, `{{user}}`, `<BOT>`, `<USER>` by names, in any case, and removes comments (`{{// …}}`). Other
/// macros stay.
pub fn resolve_macros(text: &str, persona_name: &str, user_name: &str) -> String {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '<']) {
        resolved.push_str(&rest[..at]);
        rest = &rest[at..];
        match macro_at(rest) {
            Some((length, Macro::Persona)) => {
                resolved.push_str(persona_name);
                rest = &rest[length..];
            }
            Some((length, Macro::User)) => {
                resolved.push_str(user_name);
                rest = &rest[length..];
            }
            Some((length, Macro::Comment)) => rest = &rest[length..],
            None => {
                resolved.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    resolved.push_str(rest);
    resolved
}

enum Macro {
    Persona,
    User,
    Comment,
}

/// Maximum bytes of a name macro with its braces, which bounds the search for the closing ones.
const NAME_MACRO_BYTES_MAX: usize = 16;

/// The macro at the start of `text` and its length in bytes.
fn macro_at(text: &str) -> Option<(usize, Macro)> {
    if let Some(body) = text.strip_prefix("{{") {
        if body.starts_with("//") {
            return body.find("}}").map(|end| (end + 4, Macro::Comment));
        }
        let window = truncate_bytes(body, NAME_MACRO_BYTES_MAX);
        let end = window.find("}}")?;
        let kind = macro_from_name(window[..end].trim())?;
        return Some((end + 4, kind));
    }
    let body = truncate_bytes(text.strip_prefix('<')?, NAME_MACRO_BYTES_MAX);
    let end = body.find('>')?;
    let kind = match &body[..end] {
        "BOT" | "CHAR" | "bot" | "char" => Macro::Persona,
        "USER" | "user" => Macro::User,
        _ => return None,
    };
    Some((end + 2, kind))
}

fn macro_from_name(name: &str) -> Option<Macro> {
    match name.to_ascii_lowercase().as_str() {
        "char" | "bot" => Some(Macro::Persona),
        "user" => Some(Macro::User),
        _ => None,
    }
}

/// The first `bytes` bytes, or fewer if a character would be cut.
fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_replace_macros_in_any_case_and_other_macros_stay() {
        let text = "{{char}} greets {{ User }}. <BOT> & <USER> {{random:a,b}} {{// hidden}}{{char} 好{{";
        assert_eq!(
            resolve_macros(text, "Mira", "Ann"),
            "Mira greets Ann. Mira & Ann {{random:a,b}} {{char} 好{{"
        );
    }
}
