//! `rollup`: summarises a period by rules. It copies the sources' own lines, the same number of each, and says so.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::sentences::Language;

/// Maximum lines of a roll-up. A summary of a month is one page.
const LINES_MAX: usize = 12;

#[derive(Deserialize)]
pub(super) struct RollUpInputs {
    sources: Vec<Source>,
}

#[derive(Deserialize)]
struct Source {
    date: String,
    text: String,
}

#[derive(Serialize)]
pub(super) struct RollUp {
    bullets: Vec<String>,
}

/// Lines of every source in turn, in their order, up to a dozen; the first line says that no model selected them.
pub(super) fn roll_up(inputs: &RollUpInputs) -> RollUp {
    let sources: Vec<(&str, Vec<&str>)> = inputs
        .sources
        .iter()
        .map(|source| (source.date.as_str(), lines_without_marks(&source.text)))
        .collect();
    let mut chosen: BTreeSet<(usize, usize)> = BTreeSet::new();
    let longest = sources.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
    for round in 0..longest {
        for (place, (_, lines)) in sources.iter().enumerate() {
            if round < lines.len() && chosen.len() < LINES_MAX {
                chosen.insert((place, round));
            }
        }
    }
    let all: usize = sources.iter().map(|(_, lines)| lines.len()).sum();
    let summary: Vec<String> = chosen
        .iter()
        .map(|(place, line)| {
            let (date, lines) = &sources[*place];
            format!("{date}: {}", lines[*line])
        })
        .collect();
    let words = summary.join(" ");
    let said = match Language::from_text(&words).unwrap_or_default() {
        Language::Chinese => format!("（没有语言模型：从{all}条记录里按顺序抄下{}条）", summary.len()),
        _ => format!("(no language model: {} of {all} lines, copied in order)", summary.len()),
    };
    RollUp { bullets: std::iter::once(said).chain(summary).collect() }
}

/// The lines of a period or a day, without list marks and without the notice of an earlier roll-up.
pub(super) fn lines_without_marks(text: &str) -> Vec<&str> {
    let bullets = text.lines().map(|line| line.trim().trim_start_matches(['-', '*']).trim());
    bullets
        .filter(|line| {
            !line.is_empty()
                && !line.starts_with("(no language model")
                && !line.starts_with("（没有语言模型")
                && !line.starts_with("(没有语言模型")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_its_share_and_the_rule_is_named() {
        let source = |date: &str, text: &str| Source { date: date.to_owned(), text: text.to_owned() };
        let many: String = (0..20).map(|number| format!("- line {number} [via:home]\n")).collect();
        let summary = roll_up(&RollUpInputs {
            sources: vec![source("2026-03-09", &many), source("2026-03-10", "- rain")],
        });
        assert_eq!(summary.bullets.len(), LINES_MAX + 1);
        assert_eq!(summary.bullets[0], "(no language model: 12 of 21 lines, copied in order)");
        assert!(summary.bullets.contains(&"2026-03-10: rain".to_owned()));
        let chinese = roll_up(&RollUpInputs {
            sources: vec![source("2026-03-09", "- 下雨了,我们在家里看书")],
        });
        assert!(chinese.bullets[0].starts_with("（没有语言模型"), "{:?}", chinese.bullets);
    }
}
