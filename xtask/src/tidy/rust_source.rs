//! The part of Rust's grammar needed for counting lines and finding names.

/// Each line with its comments taken out and the inside of its literals blanked by `"`, so that what is left is
/// code; a line that holds nothing but comment is empty.
pub(super) fn code_lines(source: &str) -> Vec<String> {
    let characters: Vec<char> = source.chars().collect();
    let mut lines = vec![String::new()];
    let mut state = State::Code;
    let mut index = 0;
    while let Some(&character) = characters.get(index) {
        if character == '\n' {
            lines.push(String::new());
            if matches!(state, State::LineComment) {
                state = State::Code;
            }
            index += 1;
            continue;
        }
        let (next, kept, consumed) = state.step(&characters, index);
        if let (Some(kept), Some(line)) = (kept, lines.last_mut()) {
            line.push(kept);
        }
        state = next;
        index += consumed;
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

/// [`code_lines`] that are not empty, without modules for tests.
pub(super) fn lines_without_tests(source: &str) -> Vec<String> {
    let lines = code_lines(source);
    let mut kept = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        if let Some(after) = end_of_test_module(&lines, index) {
            index = after;
            continue;
        }
        if !lines[index].trim().is_empty() {
            kept.push(lines[index].clone());
        }
        index += 1;
    }
    kept
}

/// Number of lines with code, without modules for tests.
pub(super) fn count_code(source: &str) -> usize {
    lines_without_tests(source).len()
}

/// The line after the module that `#[cfg(test)]` at `start` introduces; none if there is no such module.
fn end_of_test_module(lines: &[String], start: usize) -> Option<usize> {
    if lines[start].trim() != "#[cfg(test)]" {
        return None;
    }
    let is_passed_over = |line: &&String| line.trim().is_empty() || line.trim().starts_with("#[");
    let introduced = start + lines[start..].iter().take_while(is_passed_over).count();
    let first = lines.get(introduced)?.trim();
    if !first.split(' ').take(2).any(|word| word == "mod") {
        return None;
    }
    let mut depth = 0_usize;
    for (offset, line) in lines[introduced..].iter().enumerate() {
        depth += line.matches('{').count();
        depth = depth.saturating_sub(line.matches('}').count());
        if depth == 0 {
            return Some(introduced + offset + 1);
        }
    }
    Some(lines.len())
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    /// With the depth of nesting.
    BlockComment(usize),
    Text,
    /// With the number of `#`.
    RawText(usize),
}

impl State {
    /// From the character at `index`: the state after it, what to keep of it, how many characters were read.
    fn step(self, characters: &[char], index: usize) -> (State, Option<char>, usize) {
        let at = |offset: usize| characters.get(index + offset).copied().unwrap_or('\0');
        let blank = |character: char| if character.is_whitespace() { ' ' } else { '"' };
        match self {
            State::Code => match (at(0), at(1)) {
                ('/', '/') => (State::LineComment, None, 2),
                ('/', '*') => (State::BlockComment(1), None, 2),
                ('"', _) => (State::Text, Some('"'), 1),
                ('\'', '\\') => (State::Code, Some('"'), escaped_character_length(&characters[index..])),
                ('\'', _) if at(2) == '\'' => (State::Code, Some('"'), 3),
                ('r', '"' | '#') if !continues_a_name(characters, index) => {
                    let hashes = characters[index + 1..].iter().take_while(|&&c| c == '#').count();
                    if at(1 + hashes) == '"' {
                        (State::RawText(hashes), Some('"'), 2 + hashes)
                    } else {
                        (State::Code, Some('r'), 1)
                    }
                }
                (character, _) => (State::Code, Some(character), 1),
            },
            State::LineComment => (State::LineComment, None, 1),
            State::BlockComment(depth) => match (at(0), at(1)) {
                ('*', '/') if depth == 1 => (State::Code, None, 2),
                ('*', '/') => (State::BlockComment(depth - 1), None, 2),
                ('/', '*') => (State::BlockComment(depth + 1), None, 2),
                _ => (self, None, 1),
            },
            State::Text => match (at(0), at(1)) {
                ('\\', '\n') => (State::Text, Some('"'), 1),
                ('\\', _) => (State::Text, Some('"'), 2),
                ('"', _) => (State::Code, Some('"'), 1),
                (character, _) => (State::Text, Some(blank(character)), 1),
            },
            State::RawText(hashes) => {
                let closes = at(0) == '"' && (1..=hashes).all(|offset| at(offset) == '#');
                if closes { (State::Code, Some('"'), 1 + hashes) } else { (self, Some(blank(at(0))), 1) }
            }
        }
    }
}

/// True if the `r` at `index` is part of a name; `br` and `cr` are not names here.
fn continues_a_name(characters: &[char], index: usize) -> bool {
    let is_name = |offset: usize| {
        index.checked_sub(offset).is_some_and(|at| characters[at].is_alphanumeric() || characters[at] == '_')
    };
    let is_prefix = index > 0 && matches!(characters[index - 1], 'b' | 'c');
    is_name(1) && (!is_prefix || is_name(2))
}

/// Of a literal like `'\n'` or `'\u{1f600}'`, quotes included.
fn escaped_character_length(rest: &[char]) -> usize {
    3 + rest[3.min(rest.len())..]
        .iter()
        .take_while(|&&character| character != '\'' && character != '\n')
        .count()
        + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_not_code() {
        let source = "//! What it is.\n\n/// A thing.\nstruct Thing; // really\n/* a\n /* nested */\n b */\nfn f() {}\n";
        assert_eq!(count_code(source), 2);
        assert_eq!(code_lines(source)[3], "struct Thing;");
    }

    #[test]
    fn literals_hide_what_looks_like_code() {
        let source = "let a = \"// no comment { \\\" }\";\nlet b = r#\"/* \" */\"#; // gone\nlet c = '\"';\nlet d = '\\'';\n";
        let lines = code_lines(source);
        assert_eq!(count_code(source), 4);
        assert!(!lines.concat().contains(['/', '{', '}', '*']), "{lines:?}");
        assert!(lines[1].ends_with(';') && lines[3].ends_with(';'), "{lines:?}");
    }

    #[test]
    fn lifetimes_and_raw_names_are_no_literals() {
        let source = "fn f<'a>(text: &'a str, r#type: u8) -> &'a str { text } // end\n";
        assert!(code_lines(source)[0].ends_with("{ text }"));
        assert_eq!(count_code("let r = br\"{\"; let bar\n= 1;\n"), 2);
    }

    #[test]
    fn text_over_several_lines_counts() {
        assert_eq!(count_code("let a = \"one\ntwo \\\nthree\";\n"), 3);
    }

    #[test]
    fn test_modules_do_not_count() {
        let source = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    const A: &str = \"}\";\n    fn g() {}\n}\n\nfn h() {}\n";
        assert_eq!(count_code(source), 2);
        assert_eq!(count_code("#[cfg(test)]\nmod tests;\nfn f() {}\n"), 1);
        assert_eq!(count_code("#[cfg(test)]\nfn only_in_tests() {}\n"), 2);
    }
}
