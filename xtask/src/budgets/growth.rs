//! Draws how recall grows with the past: both axes are logarithmic, so that a cost proportional to the past would
//! rise by one decade per decade.

use std::fmt::Write;

use super::figures::Figure;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 56.0;
/// Decades that the axes show: rows from a thousand to a million, milliseconds from a tenth to a hundred.
const ROWS: (f64, f64) = (3.0, 6.0);
const MILLISECONDS: (f64, f64) = (-1.0, 2.0);
/// Lines of the plot: prefix of the figures' names, the rows they count, colour.
const LINES: [(&str, &str, &str); 2] =
    [("recall, ", " nodes", "#2563eb"), ("recall, ", " messages", "#d97706")];

/// The drawing; none where there are not two points of any line.
pub(super) fn plot(figures: &[Figure]) -> Option<String> {
    let lines = LINES.map(|(before, after, colour)| (points(figures, before, after), after.trim(), colour));
    if lines.iter().all(|(points, _, _)| points.len() < 2) {
        return None;
    }
    let mut svg = String::new();
    // Writing to a string never fails.
    let _ = draw(&mut svg, &lines, &budgets(figures));
    Some(svg)
}

/// (rows, milliseconds), by rows.
fn points(figures: &[Figure], before: &str, after: &str) -> Vec<(f64, f64)> {
    let rows = |what: &str| what.strip_prefix(before)?.strip_suffix(after)?.parse::<f64>().ok();
    figures.iter().filter_map(|figure| Some((rows(&figure.what)?, figure.measured))).collect()
}

fn budgets(figures: &[Figure]) -> Vec<(f64, f64)> {
    let budgeted = figures.iter().filter_map(|figure| Some((figure.clone(), figure.budget?)));
    let aims: Vec<Figure> = budgeted.map(|(figure, budget)| Figure { measured: budget, ..figure }).collect();
    points(&aims, LINES[0].0, LINES[0].1)
}

fn place((rows, milliseconds): (f64, f64)) -> (f64, f64) {
    let along = |value: f64, (from, to): (f64, f64)| ((value.log10() - from) / (to - from)).clamp(0.0, 1.0);
    let x = MARGIN + along(rows, ROWS) * (WIDTH - 2.0 * MARGIN);
    let y = HEIGHT - MARGIN - along(milliseconds, MILLISECONDS) * (HEIGHT - 2.0 * MARGIN);
    (x, y)
}

type Line<'a> = (Vec<(f64, f64)>, &'a str, &'a str);

fn draw(svg: &mut String, lines: &[Line<'_>], budgets: &[(f64, f64)]) -> std::fmt::Result {
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>Recall, p50 in milliseconds, by what the memory holds</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>"
    )?;
    axes(svg)?;
    for &(x, y) in &budgets.iter().map(|&budget| place(budget)).collect::<Vec<_>>() {
        writeln!(svg, "<path d=\"M{:.1} {y:.1}h16\" stroke=\"#64748b\" stroke-width=\"2\"/>", x - 8.0)?;
    }
    for (number, (points, name, colour)) in lines.iter().enumerate() {
        let places: Vec<(f64, f64)> = points.iter().map(|&point| place(point)).collect();
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        )?;
        for ((x, y), (_, milliseconds)) in places.iter().zip(points) {
            writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>")?;
            let above = if number == 0 { 18.0 } else { -9.0 };
            writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{colour}\" text-anchor=\"middle\">{milliseconds:.1}</text>",
                y + above
            )?;
        }
        let x = MARGIN + 12.0 + 110.0 * number as f64;
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>", MARGIN - 24.0)?;
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#64748b\">&#8212; budget (nodes)</text>\n</svg>",
        MARGIN + 232.0,
        MARGIN - 24.0
    )
}

fn axes(svg: &mut String) -> std::fmt::Result {
    for decade in ROWS.0 as i32..=ROWS.1 as i32 {
        let (x, bottom) = place((10f64.powi(decade), 0.1));
        let (_, top) = place((1.0, 100.0));
        writeln!(svg, "<path d=\"M{x:.1} {bottom:.1}V{top:.1}\" stroke=\"#e2e8f0\"/>")?;
        let rows = ["1,000", "10,000", "100,000", "1,000,000"][(decade - ROWS.0 as i32) as usize];
        let y = bottom + 18.0;
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#334155\" text-anchor=\"middle\">{rows}</text>"
        )?;
    }
    for decade in MILLISECONDS.0 as i32..=MILLISECONDS.1 as i32 {
        let (left, y) = place((1_000.0, 10f64.powi(decade)));
        let (right, _) = place((1e6, 1.0));
        writeln!(svg, "<path d=\"M{left:.1} {y:.1}H{right:.1}\" stroke=\"#e2e8f0\"/>")?;
        let label = format!("{} ms", 10f64.powi(decade));
        let (x, y) = (left - 8.0, y + 4.0);
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"#334155\" text-anchor=\"end\">{label}</text>")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_where_they_should() {
        let figure =
            |what: &str, measured, budget| Figure { what: what.to_owned(), measured, unit: "ms", budget };
        let figures = [
            figure("recall, 1000 nodes", 1.0, Some(1.0)),
            figure("recall, 100000 nodes", 10.0, Some(12.0)),
            figure("recall by words alone, 1000 nodes", 1.0, None),
            figure("recall, 10000 messages", 2.0, None),
            figure("recall, 100000 nodes and 100000 messages", 9.0, Some(15.0)),
        ];
        assert_eq!(points(&figures, "recall, ", " nodes"), [(1_000.0, 1.0), (100_000.0, 10.0)]);
        assert_eq!(points(&figures, "recall, ", " messages"), [(10_000.0, 2.0)]);
        assert_eq!(budgets(&figures), [(1_000.0, 1.0), (100_000.0, 12.0)]);
        let svg = plot(&figures).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(place((1_000.0, 0.1)), (MARGIN, HEIGHT - MARGIN));
        assert_eq!(place((1e6, 100.0)), (WIDTH - MARGIN, MARGIN));
        assert_eq!(plot(&figures[2..3]), None);
    }
}
