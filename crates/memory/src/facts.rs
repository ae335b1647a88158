//! The fifteen biographic facts of a persona, written by people only.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident = $name:ident [$length:literal] $words:expr;)+) => {
        /// The stored facts; an unset one is `None`.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct Facts {
            $($(#[$doc])* pub $name: Option<String>,)+
        }

        /// The name of a fact about a persona.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Fact {
            $($(#[$doc])* $variant,)+
        }

        impl Fact {
            /// All fifteen facts, in the order of display.
            pub const ALL: [Self; 15] = [$(Self::$variant),+];

            /// The fact's name in the database and on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name)),+ }
            }

            /// Maximum length of the text, in characters.
            pub fn length_max(self) -> usize {
                match self { $(Self::$variant => $length),+ }
            }

            /// The allowed values; empty if any text is valid.
            pub fn words(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &$words),+ }
            }
        }

        impl Facts {
            pub fn get(&self, fact: Fact) -> Option<&str> {
                match fact { $(Fact::$variant => self.$name.as_deref()),+ }
            }

            /// Sets or clears one fact.
            pub fn set(&mut self, fact: Fact, value: Option<String>) {
                match fact { $(Fact::$variant => self.$name = value),+ }
            }
        }
    };
}

facts! {
    /// The full name of the persona.
    FullName = full_name [256] [];
    /// The gender of the persona.
    Gender = gender [32] ["female", "male", "non_binary"];
    /// Day of birth, as `1994-03-05`.
    BirthDate = birth_date [32] [];
    /// The ethnicity of the persona.
    Ethnicity = ethnicity [128] [];
    /// The nationality, as a country code.
    Nationality = nationality [8] [];
    /// The native language of the persona.
    NativeLanguage = native_language [32] [];
    /// Region whose customs the persona follows.
    LocaleRegion = locale_region [128] [];
    /// The highest level of education.
    EducationLevel = education_level [32] ["high_school", "bachelor", "master", "phd"];
    /// The occupation of the persona.
    Occupation = occupation [128] [];
    /// The field that the persona works in.
    OccupationField = occupation_field [128] [];
    /// The place where the persona lives.
    Location = location [128] [];
    /// IANA name of the persona's time zone.
    Timezone = timezone [64] [];
    /// The relationship status of the persona.
    RelationshipStatus = relationship_status [32] ["single", "married", "widowed", "divorced"];
    /// The persona's stage of life.
    LifeStage = life_stage [32] ["student", "working", "retired", "new_parent", "between_jobs"];
    /// The persona's state of health.
    HealthStatus = health_status [32] ["healthy", "chronic_illness", "recovering", "serious"];
}

impl Facts {
    /// True if nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Error: a text is not valid for the fact.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidFact {
    /// The text is too long.
    #[error("{fact}: must have at most {length_max} characters")]
    TooLong {
        fact: &'static str,
        /// The maximum, in characters.
        length_max: usize,
    },
    /// The day does not exist.
    #[error("birth_date: must be a date like 1994-03-05")]
    NoDay,
    /// The zone is not in the IANA database.
    #[error("timezone: unknown zone; use a name like Europe/Lisbon")]
    NoZone,
}

impl Fact {
    /// Parses a person's input. A blank clears the fact, and so does a word outside the vocabulary.
    ///
    /// # Errors
    ///
    /// [`InvalidFact`] for a text that is too long, an invalid day, or an unknown zone.
    pub fn parse_fact(self, text: &str) -> Result<Option<String>, InvalidFact> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if !self.words().is_empty() {
            let word = text.to_lowercase();
            return Ok(self.words().iter().find(|known| **known == word).map(|word| (*word).to_owned()));
        }
        if text.chars().count() > self.length_max() {
            return Err(InvalidFact::TooLong { fact: self.as_str(), length_max: self.length_max() });
        }
        match self {
            Self::BirthDate => {
                let day: Date = text.parse().map_err(|_| InvalidFact::NoDay)?;
                Ok(Some(day.to_string()))
            }
            Self::Timezone => known_zone(text).map(Some).ok_or(InvalidFact::NoZone),
            _ => Ok(Some(text.to_owned())),
        }
    }
}

/// The IANA name of a zone in its official spelling; `None` for an unknown zone.
pub fn known_zone(name: &str) -> Option<String> {
    // Zones are looked up in the system's folder, so anything that is not a name must not reach it.
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte));
    if !is_name || name.starts_with('/') {
        return None;
    }
    TimeZone::get(name).ok()?.iana_name().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_read_as_a_person_means_it() {
        let read = |fact: Fact, text: &str| fact.parse_fact(text).unwrap();
        assert_eq!(read(Fact::FullName, "  林小满 ").as_deref(), Some("林小满"));
        assert_eq!(read(Fact::FullName, "  "), None);
        assert_eq!(read(Fact::Gender, " Non_Binary "), Some("non_binary".to_owned()));
        assert_eq!(read(Fact::Gender, "dragon"), None);
        assert_eq!(read(Fact::BirthDate, "1994-03-05").as_deref(), Some("1994-03-05"));
        assert_eq!(read(Fact::Timezone, "asia/shanghai").as_deref(), Some("Asia/Shanghai"));
    }

    #[test]
    fn invalid_facts_are_refused() {
        assert_eq!(Fact::BirthDate.parse_fact("1994-02-30"), Err(InvalidFact::NoDay));
        assert_eq!(Fact::BirthDate.parse_fact("spring"), Err(InvalidFact::NoDay));
        for zone in ["Mars/Olympus", "/etc/passwd", "../../etc/passwd", "CET\u{0}"] {
            assert_eq!(Fact::Timezone.parse_fact(zone), Err(InvalidFact::NoZone), "{zone}");
        }
        let long = "字".repeat(9);
        assert_eq!(
            Fact::Nationality.parse_fact(&long),
            Err(InvalidFact::TooLong { fact: "nationality", length_max: 8 })
        );
    }

    #[test]
    fn the_names_on_the_wire_are_the_fields() {
        let wire = serde_json::to_value(Facts::default()).unwrap();
        let names: Vec<&str> = wire.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names.len(), Fact::ALL.len());
        for fact in Fact::ALL {
            let mut facts = Facts::default();
            facts.set(fact, Some("x".to_owned()));
            assert_eq!(facts.get(fact), Some("x"));
            assert!(names.contains(&fact.as_str()) && !facts.is_empty());
        }
    }
}
