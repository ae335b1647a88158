//! docs/limits.md must agree with the constants.

use super::Finding;
use super::project::ProjectFile;

const PATH: &str = "docs/limits.md";

/// Compares each row that names a constant with the constant's value.
pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    let Some(document) = files.iter().find(|file| file.path == PATH) else { return Vec::new() };
    let mut findings = Vec::new();
    for (number, line) in document.lines() {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, _, value, place, _] = columns[..] else { continue };
        for path in place.split('`').skip(1).step_by(2) {
            let Some((owner, name)) = constant(path) else { continue };
            let fix = "Correct the value, or the path of the constant.";
            match value_of(files, owner, name) {
                None => findings.push(Finding::at(PATH, number, format!("{path} is not a constant"), fix)),
                Some(actual) if !numbers(value).contains(&actual) => {
                    findings.push(Finding::at(PATH, number, format!("{path} is {actual}"), fix));
                }
                Some(_) => {}
            }
        }
    }
    findings
}

/// The first segment and the name, if the path names a constant.
fn constant(path: &str) -> Option<(&str, &str)> {
    let (owner, name) = (path.split("::").next()?, path.rsplit("::").next()?);
    let is_upper = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (owner != name && is_upper).then_some((owner, name))
}

/// The value of a constant of that crate; a crate that is not ours (`ports::X`) stands for all of them.
fn value_of(files: &[ProjectFile], owner: &str, name: &str) -> Option<u64> {
    let folder = format!("crates/{owner}/src/");
    let is_crate = files.iter().any(|file| file.path.starts_with(&folder));
    let declared = format!("const {name}:");
    let own = files.iter().filter(|file| {
        file.path.ends_with(".rs") && file.path.starts_with(if is_crate { &folder } else { "crates/" })
    });
    own.flat_map(ProjectFile::lines)
        .find(|(_, line)| line.contains(&declared))
        .and_then(|(_, line)| line.split_once('=').map(|(_, value)| value))
        .and_then(|value| evaluate(value.trim().trim_end_matches(';')))
}

/// A product of whole numbers, or a duration in seconds.
fn evaluate(text: &str) -> Option<u64> {
    for (call, seconds) in [("from_secs(", 1), ("from_mins(", 60), ("from_hours(", 3_600)] {
        if let Some((_, inner)) = text.split_once(call) {
            return Some(evaluate(inner.strip_suffix(')')?)? * seconds);
        }
    }
    text.split('*').map(|part| part.trim().replace('_', "").parse::<u64>().ok()).product()
}

/// The numbers of a value, each with its unit: `68 MiB, 4,096 events` has 71303168 and 4096.
fn numbers(value: &str) -> Vec<u64> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let number = |(index, word): (usize, &&str)| {
        let digits = word.trim_end_matches([',', ';']).replace(',', "");
        let unit = words.get(index + 1).map_or("", |unit| unit.trim_end_matches([',', ';', '.']));
        let factor = match unit {
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "min" => 60,
            "h" => 3_600,
            _ => 1,
        };
        digits.parse::<u64>().ok().map(|number| number * factor)
    };
    words.iter().enumerate().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(limits: &str, source: &str) -> Vec<String> {
        let file =
            |path: &str, text: &str| ProjectFile { path: path.to_owned(), text: Some(text.to_owned()) };
        let files = [file(PATH, limits), file("crates/hub/src/sizes.rs", source)];
        findings(&files).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_value_that_differs_from_its_constant_is_found() {
        let source =
            "pub const A_MAX: usize = 68 * 1024 * 1024;\nconst WITHIN: Duration = Duration::from_mins(10);\n";
        let right =
            "| size | 68 MiB, so that it fits | `hub::sizes::A_MAX` |\n| time | 10 min | `hub::WITHIN` |\n";
        assert_eq!(found(right, source), [""; 0]);
        assert_eq!(
            found("| size | 67 MiB | `hub::sizes::A_MAX` |\n", source),
            ["hub::sizes::A_MAX is 71303168"]
        );
        assert_eq!(found("| size | 1 | `hub::B_MAX` |\n", source), ["hub::B_MAX is not a constant"]);
        assert_eq!(found("| size | 1 MiB | `limits.body`, `hub::sizes` |\n", source), [""; 0]);
    }
}
