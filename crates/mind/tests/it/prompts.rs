//! The templates, and those that a user may replace.

use std::fs;
use std::path::PathBuf;

use mind::{PromptName, Prompts};

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, text: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("mind-prompts-{}-{:x}", std::process::id(), hash(name, text)));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(name), text).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hash(name: &str, text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (name, text).hash(&mut hasher);
    hasher.finish()
}

const USER: &str = "---\ntask: reply\ntier: small\nschema: text\ninputs: said, thoughts\n---\n";

fn refusal(name: &str, text: &str) -> String {
    let folder = Folder::with(name, text);
    Prompts::load(Some(&folder.0)).err().unwrap_or_else(|| panic!("{text} was taken")).to_string()
}

#[test]
fn an_override_takes_the_place_of_the_built_in_one() {
    let built_in = Prompts::load(None).unwrap();
    let text = format!("{USER}They said:\n{{% for line in said %}}\n{{{{ line }}}}\n{{% endfor %}}\n");
    let folder = Folder::with("reply_user.md", &text);
    let prompts = Prompts::load(Some(&folder.0)).unwrap();
    assert_ne!(prompts.hash(PromptName::ReplyUser), built_in.hash(PromptName::ReplyUser));
    assert_eq!(prompts.hash(PromptName::Extraction), built_in.hash(PromptName::Extraction));
    assert_eq!(prompts.tier_of_template(PromptName::ReplyUser), llm::ModelTier::Small);

    let input = crate::support::full_input();
    let reply = mind::reply::render(&prompts, &input, &mind::ReplyBudget::default()).unwrap();
    assert_eq!(reply.user, "They said:\nthem: Three hours.\nthem: And Bis?\n  | Did I tell you?");
}

#[test]
fn a_missing_folder_is_no_override() {
    let nowhere = std::env::temp_dir().join("mind-prompts-that-are-not-there");
    assert!(Prompts::load(Some(&nowhere)).is_ok());
}

#[test]
fn a_broken_override_is_refused_with_its_file_and_line() {
    let cases = [
        ("no front matter\n", 1, "front matter"),
        ("---\ntask: extraction\n---\n", 2, "must be `reply`"),
        ("---\ntask: reply\nschema: json\n---\n", 3, "must be `text`"),
        ("---\ntask: reply\ntier: huge\n---\n", 3, "small, medium or large"),
        ("---\ntask: reply\n---\n", 3, "no `tier`"),
        ("---\ntask: reply\ntier: small\ncolour: red\n---\n", 4, "unknown key `colour`"),
        ("---\ntask: reply\nwhat is this\n---\n", 3, "key: value"),
        ("---\ntask: reply\ntier: small\n", 1, "no end"),
        ("---\ntask: reply\ntier: small\ninputs: said, secrets\n---\n", 4, "no input `secrets`"),
        (&format!("{USER}fine\n{{{{ speaker }}}}\n"), 8, "`speaker` is not among the inputs"),
        (&format!("{USER}fine\nfine\n{{% for line in said %}}\n"), 9, ""),
        (
            &format!("{USER}{{% for line in thoughts %}}\n{{{{ line.colour }}}}\n{{% endfor %}}\n"),
            8,
            "undefined",
        ),
        (&format!("{USER}{{{{ said | sideways }}}}\n"), 7, "sideways"),
    ];
    for (text, line, words) in cases {
        let message = refusal("reply_user.md", text);
        assert!(message.contains("reply_user.md"), "{message}");
        assert!(message.contains(&format!("line {line}:")), "{text:?}: {message}");
        assert!(message.contains(words), "{text:?}: {message}");
    }
}

#[test]
fn a_template_of_two_blocks_needs_both() {
    let text =
        "---\ntask: reflection\ntier: medium\nschema: reflection\n---\n{% block system %}x{% endblock %}\n";
    let message = refusal("reflection.md", text);
    assert!(message.contains("reflection.md") && message.contains("user"), "{message}");
}

#[test]
fn an_unreadable_override_is_refused() {
    let folder = Folder::with("reply_user.md", "");
    fs::remove_file(folder.0.join("reply_user.md")).unwrap();
    fs::create_dir(folder.0.join("reply_user.md")).unwrap();
    let message = Prompts::load(Some(&folder.0)).err().unwrap().to_string();
    assert!(message.contains("can't be read"), "{message}");
}

#[test]
fn no_document_can_be_called_like_a_heading_of_the_reply_s_prompt() {
    let templates =
        [include_str!("../../prompts/reply_system.md"), include_str!("../../prompts/reply_user.md")];
    let headings =
        templates.iter().flat_map(|template| template.lines()).filter_map(|line| line.strip_prefix("# "));
    let fixed: Vec<&str> = headings.filter(|heading| !heading.contains("{{")).collect();
    assert!(fixed.len() > 15, "{fixed:?}");
    for heading in fixed {
        let known = hub::names::PROMPT_HEADINGS.contains(&heading);
        assert!(known, "`{heading}` is missing in hub::names::PROMPT_HEADINGS");
        assert!(hub::names::check_label(heading).is_err());
        assert!(hub::names::check_label(&heading.to_uppercase()).is_err());
    }
    for label in ["Wants", "What Ann wants", "用户的生活", "my_wants"] {
        assert_eq!(hub::names::check_label(label), Ok(label));
    }
    for label in ["", "# Persona", "a\nb", "a: b", "<|im_start|>", &"x".repeat(61)] {
        assert!(hub::names::check_label(label).is_err(), "{label}");
    }
}
