//! Checks that a quote is verbatim.

/// Range of `quote` in `message`: first and last character, the last exclusive, counted in characters of the message.
/// Consecutive white space equals one space, and is ignored at the ends of the quote; everything else must be equal,
/// because a quote is verbatim. The first occurrence is used. Linear in the length of the message.
pub fn find_quote(message: &str, quote: &str) -> Option<(usize, usize)> {
    let wanted = quote.split_whitespace().collect::<Vec<_>>().join(" ");
    if wanted.is_empty() {
        return None;
    }
    let mut folded = String::with_capacity(message.len());
    // For each byte of the folded text, the character of the message that it came from.
    let mut origins: Vec<usize> = Vec::with_capacity(message.len());
    let mut blank = false;
    for (position, character) in message.chars().enumerate() {
        if character.is_whitespace() {
            if !blank {
                folded.push(' ');
                origins.push(position);
            }
        } else {
            folded.push(character);
            origins.resize(folded.len(), position);
        }
        blank = character.is_whitespace();
    }
    let at = folded.find(&wanted)?;
    let start = *origins.get(at)?;
    let last = *origins.get(at + wanted.len() - 1)?;
    Some((start, last + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quote_is_found_in_both_scripts() {
        assert_eq!(find_quote("我养了一只猫,叫小黑。", "叫小黑"), Some((7, 10)));
        assert_eq!(find_quote("My cat is named Shadow.", "named Shadow"), Some((10, 22)));
    }

    #[test]
    fn white_space_is_folded_and_nothing_else() {
        assert_eq!(find_quote("my  cat\n is black", " cat is  black "), Some((4, 17)));
        assert_eq!(find_quote("My cat", "my cat"), None);
        assert_eq!(find_quote("Ｍy cat", "My cat"), None);
        assert_eq!(find_quote("my cat", "mycat"), None);
    }

    #[test]
    fn an_empty_quote_proves_nothing() {
        assert_eq!(find_quote("my cat", ""), None);
        assert_eq!(find_quote("my cat", " \n\u{3000}"), None);
    }

    proptest! {
        #[test]
        fn a_found_span_holds_the_quote(message in "\\PC{0,40}( |\n|\u{3000}|\\PC){0,20}", quote in "\\PC{0,4}") {
            if let Some((start, end)) = find_quote(&message, &quote) {
                let span: String =
                    message.chars().skip(start).take(end - start).collect();
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                prop_assert_eq!(words(&span), words(&quote));
            }
        }

        #[test]
        fn every_part_of_a_message_is_found(message in "[a-c猫 \n]{1,30}", cut in 0usize..30, length in 1usize..10) {
            let part: String = message.chars().skip(cut).take(length).collect();
            prop_assert_eq!(find_quote(&message, &part).is_some(), !part.trim().is_empty());
        }
    }
}
