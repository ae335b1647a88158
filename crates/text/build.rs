//! Compiles the lexicon: each `[section]` of `lexicon/LANGUAGE/SUBJECT.txt` becomes a constant of the module
//! `SUBJECT`.
//!
//! Phrases are separated by bars and line breaks; lines that begin with `#` are comments. Quotes preserve a blank at
//! the end of a phrase. A section of Chinese and one of English with the same name are one constant.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

/// The folders of the lexicon; the lists of `other` belong to one further language each.
const LANGUAGES: [&str; 3] = ["zh", "en", "other"];

/// The phrases of a section in each folder of [`LANGUAGES`], and the comments above it.
#[derive(Default)]
struct Section {
    comments: Vec<String>,
    phrases: [Vec<String>; 3],
}

type Subjects = BTreeMap<String, BTreeMap<String, Section>>;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=lexicon");
    let mut subjects = Subjects::new();
    for (language, folder) in LANGUAGES.into_iter().enumerate() {
        for entry in fs::read_dir(Path::new("lexicon").join(folder))? {
            let path = entry?.path();
            let subject = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let text = fs::read_to_string(&path)?;
            read_sections(&text, language, subjects.entry(subject).or_default())
                .map_err(|problem| io::Error::other(format!("{}: {problem}", path.display())))?;
        }
    }
    let folder = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&folder).join("lexicon.rs"), rust_code(&subjects).map_err(io::Error::other)?)
}

fn read_sections(
    text: &str,
    language: usize,
    sections: &mut BTreeMap<String, Section>,
) -> Result<(), String> {
    let mut comments = Vec::new();
    let mut current: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            comments.clear();
        } else if let Some(comment) = line.strip_prefix('#') {
            comments.push(comment.trim().to_owned());
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let section = sections.entry(name.to_owned()).or_default();
            if !section.phrases[language].is_empty() {
                return Err(format!("there are two sections named [{name}]"));
            }
            if section.comments.is_empty() {
                section.comments.append(&mut comments);
            }
            current = Some(name.to_owned());
        } else {
            let name = current.as_ref().ok_or_else(|| format!("before the first [section]: {line}"))?;
            let phrases = line.split('|').map(str::trim).filter(|phrase| !phrase.is_empty());
            let known = &mut sections.entry(name.clone()).or_default().phrases[language];
            for phrase in phrases.map(|phrase| phrase.trim_matches('"').to_owned()) {
                if known.contains(&phrase) {
                    return Err(format!("{phrase} is twice in [{name}]"));
                }
                known.push(phrase);
            }
        }
    }
    let is_empty = |section: &Section| section.phrases.iter().all(Vec::is_empty);
    match sections.iter().find(|(_, section)| is_empty(section)) {
        Some((name, _)) => Err(format!("[{name}] has no phrases")),
        None => Ok(()),
    }
}

fn rust_code(subjects: &Subjects) -> Result<String, std::fmt::Error> {
    let mut code = String::new();
    for (subject, sections) in subjects {
        writeln!(code, "pub mod {subject} {{\n    use super::{{WordList, Words}};\n")?;
        for (name, Section { comments, phrases: [chinese, english, other] }) in sections {
            for comment in comments {
                writeln!(code, "    /// {comment}")?;
            }
            let name = name.to_uppercase();
            if other.is_empty() {
                writeln!(
                    code,
                    "    pub const {name}: WordList = WordList {{ chinese: Words(&{chinese:?}), english: Words(&{english:?}) }};"
                )?;
            } else {
                writeln!(code, "    pub const {name}: Words = Words(&{other:?});")?;
            }
        }
        writeln!(code, "}}\n")?;
    }
    Ok(code)
}
