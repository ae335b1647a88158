//! Parses the benches' figures: rows of a table with `p50 ms` and `aim ms`, or lines of a name, a value and an aim.

/// A figure that a bench printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) measured: f64,
    /// `ms`, `MB` or `/s`.
    pub(super) unit: &'static str,
    pub(super) budget: Option<f64>,
}

impl Figure {
    /// Used share of the budget; for a rate, the missing share above 1.
    pub(super) fn share(&self, budget: f64) -> f64 {
        if self.unit == "/s" { budget / self.measured } else { self.measured / budget }
    }
}

const UNITS: [&str; 3] = ["ms", "MB", "/s"];

/// All figures of a text, in order.
pub(super) fn figures(text: &str) -> Vec<Figure> {
    let mut heading: Vec<String> = Vec::new();
    let mut figures = Vec::new();
    for line in text.lines() {
        if line.starts_with('|') {
            let cells: Vec<String> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            match of_row(&heading, &cells) {
                Some(figure) => figures.push(figure),
                None if cells.iter().any(|cell| cell == "p50 ms") => heading = cells,
                None => {}
            }
        } else {
            figures.extend(of_line(line));
        }
    }
    figures
}

fn of_row(heading: &[String], cells: &[String]) -> Option<Figure> {
    let cell = |name: &str| cells.get(heading.iter().position(|known| known == name)?);
    let measured = cell("p50 ms")?.parse().ok()?;
    let budget = cell("aim ms").and_then(|aim| aim.parse().ok());
    Some(Figure { what: cells.first()?.clone(), measured, unit: "ms", budget })
}

/// A name, then a value, then an aim in the same unit, parted by two blanks or more.
fn of_line(line: &str) -> Option<Figure> {
    let parts: Vec<&str> = line.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    let [what, measured, aim] = parts[..] else { return None };
    let (measured, unit) = value(measured)?;
    let budget = value(aim).filter(|(_, of)| *of == unit).map(|(budget, _)| budget);
    Some(Figure { what: what.to_owned(), measured, unit, budget })
}

fn value(text: &str) -> Option<(f64, &'static str)> {
    let unit = UNITS.into_iter().find(|unit| text.ends_with(unit))?;
    let number = text.strip_suffix(unit)?.trim().parse().ok()?;
    Some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
| what                | p50 ms | p95 ms | aim ms |
|---------------------|--------|--------|--------|
| recall, 1000 nodes  |   0.80 |   1.20 |      1 |
| by words, 1000 nodes |   0.40 |   0.60 |        |
resident memory after opening            17 MB   60 MB
fsync of 4 KiB on this disk, p50          0.190 ms   (the floor of a capture)
capture, 64 callers, 12 commits for 99968      2500/s   5000/s
a line of no interest";

    #[test]
    fn tables_and_lines_are_read() {
        let figures = figures(PRINTED);
        let read: Vec<(&str, f64, &str, Option<f64>)> = figures
            .iter()
            .map(|figure| (figure.what.as_str(), figure.measured, figure.unit, figure.budget))
            .collect();
        assert_eq!(
            read,
            [
                ("recall, 1000 nodes", 0.8, "ms", Some(1.0)),
                ("by words, 1000 nodes", 0.4, "ms", None),
                ("resident memory after opening", 17.0, "MB", Some(60.0)),
                ("fsync of 4 KiB on this disk, p50", 0.19, "ms", None),
                ("capture, 64 callers, 12 commits for 99968", 2500.0, "/s", Some(5000.0)),
            ]
        );
        let shares: Vec<f64> =
            figures.iter().filter_map(|f| f.budget.map(|budget| f.share(budget))).collect();
        assert_eq!(shares, [0.8, 17.0 / 60.0, 2.0]);
    }
}
