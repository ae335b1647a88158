//! Names from which paths are built. Each is checked on creation, so that nothing else reaches the file system.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization as _;

/// Maximum length of a slug or an instance id, in characters. Slugs become file names in archives, together with a
/// date.
pub const NAME_LENGTH_MAX: usize = 64;
/// Maximum length of the stem of an identity document's file name, in bytes: file systems allow 255 with `.md` and a
/// suffix.
pub const STEM_BYTES_MAX: usize = 200;
/// The only folder within a category, for entries of lorebooks in `custom`.
pub const LORE_FOLDER: &str = "lore/";

/// An invalid name, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}. Nothing was written")]
pub struct InvalidName(pub String);

fn invalid_name<T>(reason: impl Into<String>) -> Result<T, InvalidName> {
    Err(InvalidName(reason.into()))
}

macro_rules! string_form {
    ($name:ident, $pattern:literal) => {
        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.to_string()
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern})
            }

            fn inline_schema() -> bool {
                true
            }
        }
    };
}

macro_rules! text_name {
    ($name:ident) => {
        impl $name {
            /// The name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

mod date;
mod label;

pub use date::DiaryDate;
pub use label::{PROMPT_HEADINGS, PROMPT_LABEL_LENGTH_MAX, check_label};

/// The category of an identity document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Category {
    /// Documents about the persona.
    #[serde(rename = "self")]
    Own,
    /// Documents about the user.
    User,
    /// Documents about their relationship.
    Relationship,
    /// Anything else that a prompt needs.
    Custom,
}

impl Category {
    /// All categories, in the order of the prompt.
    pub const ALL: [Self; 4] = [Self::Own, Self::User, Self::Relationship, Self::Custom];

    /// The category's name on the wire, in paths and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::User => "user",
            Self::Relationship => "relationship",
            Self::Custom => "custom",
        }
    }

    /// True if documents of this category belong to one user; those of the others belong to the persona.
    pub fn is_of_user(self) -> bool {
        matches!(self, Self::User | Self::Relationship)
    }
}

impl FromStr for Category {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let found = Self::ALL.into_iter().find(|category| category.as_str() == text);
        found.ok_or_else(|| {
            InvalidName(format!("category: `{text}` is not one of self, user, relationship, custom"))
        })
    }
}

/// The length of the period that a memory covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Granularity {
    /// One day of one instance.
    Daily,
    /// A period of one ISO week.
    Weekly,
    /// The weeks whose Thursday is in one month.
    Monthly,
    /// A period of one year.
    Yearly,
    /// One event, remembered permanently.
    Significant,
}

impl Granularity {
    /// All granularities, finest first.
    pub const ALL: [Self; 5] = [Self::Daily, Self::Weekly, Self::Monthly, Self::Yearly, Self::Significant];

    /// The granularity's name on the wire, in paths and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
            Self::Significant => "significant",
        }
    }
}

impl FromStr for Granularity {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let found = Self::ALL.into_iter().find(|granularity| granularity.as_str() == text);
        let refuse = || {
            InvalidName(format!(
                "granularity: `{text}` is not one of daily, weekly, monthly, yearly, \
                significant"
            ))
        };
        found.ok_or_else(refuse)
    }
}

/// True if a text has only letters and digits of any script, `_` and `-`.
fn is_plain(text: &str) -> bool {
    let is_allowed = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    !text.is_empty() && text.chars().all(is_allowed)
}

/// The name of an identity document with its `.md`. Entries of lorebooks have `lore/` before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

text_name!(FileName);
string_form!(FileName, r"^(lore/)?[\p{L}\p{N}_-]+\.md$");

impl FileName {
    /// The name without `.md`.
    pub fn stem(&self) -> &str {
        self.0.strip_suffix(".md").unwrap_or(&self.0)
    }

    /// True if the file is in the folder of lorebooks.
    pub fn is_in_lore(&self) -> bool {
        self.0.starts_with(LORE_FOLDER)
    }

    /// The name of the core block of a user. Characters of the user's id other than letters and digits are replaced
    /// by their numbers.
    pub fn for_user(user: &memory::UserId) -> Self {
        let mut stem = String::new();
        for character in user.as_str().nfc() {
            if character.is_alphanumeric() || character == '-' {
                stem.push(character);
            } else {
                stem.push_str(&format!("_{:x}_", u32::from(character)));
            }
        }
        if stem.len() > STEM_BYTES_MAX {
            stem = hex::encode(Sha256::digest(stem.as_bytes()));
        }
        Self(format!("{stem}.md"))
    }
}

impl FromStr for FileName {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let text: String = text.nfc().collect();
        match text.strip_suffix(".md") {
            Some(stem)
                if is_plain(stem.strip_prefix(LORE_FOLDER).unwrap_or(stem))
                    && stem.len() <= STEM_BYTES_MAX =>
            {
                Ok(Self(text))
            }
            _ => invalid_name(format!(
                "a file name is 1 to {STEM_BYTES_MAX} letters, digits, `_` or `-` and `.md`; `{text}` is not"
            )),
        }
    }
}

/// The slug of a significant memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

text_name!(Slug);
string_form!(Slug, r"^[\p{L}\p{N}_-]{1,64}$");

impl FromStr for Slug {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let text: String = text.nfc().collect();
        match is_plain(&text) && text.chars().count() <= NAME_LENGTH_MAX {
            true => Ok(Self(text)),
            false => invalid_name(format!(
                "a slug is 1 to {NAME_LENGTH_MAX} letters, digits, `_` or `-`; `{text}` is not"
            )),
        }
    }
}

/// Id of an instance, one embodiment of the persona.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct InstanceId(String);

text_name!(InstanceId);
string_form!(InstanceId, r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$");

impl InstanceId {
    /// Makes an instance id from any text, such as a host name; `home` if no character is valid.
    pub fn made_safe(text: &str) -> Self {
        let kept = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
        let safe: String = text.chars().map(kept).take(NAME_LENGTH_MAX).collect();
        let safe = safe.trim_matches('-');
        Self(if safe.is_empty() { "home".to_owned() } else { safe.to_ascii_lowercase() })
    }

    /// The author for a part of this instance: `laptop.file`, `laptop.3fa2c1`. If it is too long, the instance is
    /// cut.
    pub fn for_part(&self, part: &str) -> Self {
        let room = NAME_LENGTH_MAX.saturating_sub(part.len() + 1);
        Self(format!("{}.{part}", &self.0[..self.0.len().min(room)]))
    }

    /// True if this author is the instance or one of its parts.
    pub fn is_part_of(&self, instance: &Self) -> bool {
        self.0.strip_prefix(&instance.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl FromStr for InstanceId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let valid = (1..=NAME_LENGTH_MAX).contains(&text.len())
            && text.bytes().all(is_allowed)
            && !text.starts_with('.');
        match valid {
            true => Ok(Self(text.to_owned())),
            false => invalid_name(format!(
                "an instance id is 1 to {NAME_LENGTH_MAX} ASCII letters, digits, `_`, `-` or `.`; `{text}` is not"
            )),
        }
    }
}

/// Name of a memory: its granularity, its date, and a slug or instance that distinguishes those of one date.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiaryName {
    /// A day of one instance.
    Daily(Date, InstanceId),
    /// A week, month or year.
    RollUp(Granularity, DiaryDate),
    Significant(Date, Slug),
}

impl DiaryName {
    /// Builds a name; `instance` is for dailies, `slug` for significant memories.
    pub fn new(
        granularity: Granularity,
        date: DiaryDate,
        instance: Option<InstanceId>,
        slug: Option<Slug>,
    ) -> Result<Self, InvalidName> {
        if !date.matches_granularity(granularity) {
            return invalid_name(format!(
                "`{date}` is not a valid date for a {} memory",
                granularity.as_str()
            ));
        }
        match (granularity, date) {
            (Granularity::Daily, DiaryDate::Day(day)) => match instance {
                Some(instance) => Ok(Self::Daily(day, instance)),
                None => invalid_name("a daily memory belongs to an instance: name it in `instanceId`"),
            },
            (Granularity::Significant, DiaryDate::Day(day)) => match slug {
                Some(slug) => Ok(Self::Significant(day, slug)),
                None => invalid_name("a significant memory needs a `slug`"),
            },
            (granularity, date) => Ok(Self::RollUp(granularity, date)),
        }
    }

    pub fn granularity(&self) -> Granularity {
        match self {
            Self::Daily(..) => Granularity::Daily,
            Self::RollUp(granularity, _) => *granularity,
            Self::Significant(..) => Granularity::Significant,
        }
    }

    pub fn date(&self) -> DiaryDate {
        match self {
            Self::Daily(day, _) | Self::Significant(day, _) => DiaryDate::Day(*day),
            Self::RollUp(_, date) => *date,
        }
    }

    /// The instance of a daily.
    pub fn instance(&self) -> Option<&InstanceId> {
        match self {
            Self::Daily(_, instance) => Some(instance),
            _ => None,
        }
    }

    /// The slug of a significant memory.
    pub fn slug(&self) -> Option<&Slug> {
        match self {
            Self::Significant(_, slug) => Some(slug),
            _ => None,
        }
    }

    /// The file name without `.md`.
    pub fn stem(&self) -> String {
        match self {
            Self::Daily(day, instance) => format!("{day}_{instance}"),
            Self::RollUp(_, date) => date.to_string(),
            Self::Significant(day, slug) => format!("{day}_{slug}"),
        }
    }

    /// The roll-ups that include the memory, the nearest first; empty for a year or a significant memory.
    pub fn roll_ups_above(&self) -> Vec<Self> {
        let week = match self {
            Self::Daily(day, _) => match DiaryDate::containing_week(*day) {
                DiaryDate::Week(week) => Some(week),
                _ => None,
            },
            Self::RollUp(_, DiaryDate::Week(week)) => Some(*week),
            _ => None,
        };
        let month = match (self, week) {
            (_, Some(week)) => Some(DiaryDate::month_of_week(week)),
            (Self::RollUp(Granularity::Monthly, month), None) => Some(*month),
            _ => None,
        };
        let year = month.map(|month| DiaryDate::Year(month.first_day().first_of_year()));
        [
            (Granularity::Weekly, week.map(DiaryDate::Week)),
            (Granularity::Monthly, month),
            (Granularity::Yearly, year),
        ]
        .into_iter()
        .filter(|(granularity, _)| *granularity > self.granularity())
        .filter_map(|(granularity, date)| Some(Self::RollUp(granularity, date?)))
        .collect()
    }

    /// The id on the wire: granularity and stem, unique within a persona and user.
    pub fn id(&self) -> String {
        format!("{}-{}", self.granularity().as_str(), self.stem())
    }

    /// Parses a stem as it is written in file names and in the database.
    pub fn parse(granularity: Granularity, stem: &str) -> Result<Self, InvalidName> {
        let (date, rest) = match stem.split_once('_') {
            Some((date, rest)) => (date, Some(rest)),
            None => (stem, None),
        };
        let instance = match (granularity, rest) {
            (Granularity::Daily, Some(rest)) => Some(rest.parse()?),
            _ => None,
        };
        let slug = match (granularity, rest) {
            (Granularity::Significant, Some(rest)) => Some(rest.parse()?),
            (Granularity::Daily | Granularity::Significant, _) | (_, None) => None,
            _ => return invalid_name(format!("`{stem}` is not a {} memory", granularity.as_str())),
        };
        Self::new(granularity, date.parse()?, instance, slug)
    }
}

/// Name of a document of the hub.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocumentName {
    /// A document about a person.
    Identity(Category, FileName),
    /// A document about past events.
    Diary(DiaryName),
}

impl DocumentName {
    /// Category or granularity, as stored.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Identity(category, _) => category.as_str(),
            Self::Diary(name) => name.granularity().as_str(),
        }
    }

    /// The file name without `.md`.
    pub fn stem(&self) -> String {
        match self {
            Self::Identity(_, name) => name.stem().to_owned(),
            Self::Diary(name) => name.stem(),
        }
    }

    /// Parses a kind and a stem.
    pub fn parse(kind: &str, stem: &str) -> Result<Self, InvalidName> {
        match kind.parse::<Category>() {
            Ok(category) => {
                let name = Self::Identity(category, format!("{stem}.md").parse()?);
                name.check_folder()?;
                Ok(name)
            }
            Err(_) => {
                let granularity = kind.parse().map_err(|_| {
                    let categories = Category::ALL.map(Category::as_str);
                    let kinds = [&categories[..], &Granularity::ALL.map(Granularity::as_str)].concat();
                    InvalidName(format!(
                        "unknown document kind `{kind}`: must be one of {}",
                        kinds.join(", ")
                    ))
                })?;
                Ok(Self::Diary(DiaryName::parse(granularity, stem)?))
            }
        }
    }

    /// True if the document belongs to one user; others belong to the persona.
    pub fn is_of_user(&self) -> bool {
        match self {
            Self::Identity(category, _) => category.is_of_user(),
            Self::Diary(_) => true,
        }
    }

    /// The document's path below the home of the default persona and user, such as `identity/self/persona.md`.
    pub fn path(&self) -> String {
        match self {
            Self::Identity(category, name) => format!("identity/{}/{name}", category.as_str()),
            Self::Diary(name) => format!("memories/{}/{}.md", name.granularity().as_str(), name.stem()),
        }
    }
}

impl fmt::Display for DocumentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}.md", self.kind(), self.stem())
    }
}

impl From<DiaryName> for DocumentName {
    fn from(name: DiaryName) -> Self {
        Self::Diary(name)
    }
}
