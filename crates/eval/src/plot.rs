//! Plots measurements as SVG: recall@k of each set beside simpler rankings, and the curve of honest absence.

use std::fmt::Write as _;

use crate::absence::AbsenceBound;
use crate::measure::RANK_CUTS;
use crate::report::Report;

/// Side of a panel, in SVG units.
const FIELD_SIDE: f64 = 220.0;
/// Space around the plot for its labels, in SVG units.
const MARGIN: f64 = 60.0;
/// Minimum distance of two labels, as a share of the panel.
const LABEL_DISTANCE_MIN: f64 = 0.05;
const INK: &str = "#3451b2";
/// Colour of the series to compare with.
const GREY: &str = "#8a8f98";

/// A simpler ranking with the same embedding model, on unseen conversations: name, recall@5, recall@10.
type Baseline = (&'static str, f64, f64);

/// Baselines by a part of a data set's name, the lowest first.
const BASELINES: [(&str, &[Baseline]); 3] = [
    (
        "locomo",
        &[
            ("vectors only", 20.9, 28.8),
            ("BM25 with speaker", 52.8, 60.4),
            ("half cosine, half BM25", 56.0, 64.6),
            ("and simple signals", 69.5, 76.6),
        ],
    ),
    ("madial-zh", &[("vectors only", 12.4, 21.6), ("BM25, bigrams", 44.4, 57.5)]),
    ("madial-en", &[("vectors only", 57.2, 70.9), ("half cosine, half BM25", 57.5, 71.9)]),
];

/// Plots recall@k of each report in a panel of its own, beside the known baselines of its data.
pub fn recall(reports: &[Report]) -> String {
    let panel = |(place, report): (usize, &Report)| recall_panel(place, report);
    document(reports.len(), &reports.iter().enumerate().map(panel).collect::<String>())
}

fn recall_panel(place: usize, report: &Report) -> String {
    let mut svg = panel_axes(place, &format!("{}, recall@k", report.data), "k");
    let x = |k: usize| (k as f64).ln() / (50f64).ln();
    for k in RANK_CUTS {
        draw_text(&mut svg, place, x(k), -0.07, "middle", "#444", &k.to_string());
    }
    let baselines = BASELINES.iter().find(|(name, _)| report.data.contains(name)).map_or(&[][..], |(_, b)| b);
    let mut last_label = f64::NEG_INFINITY;
    for (name, five, ten) in baselines {
        let points = [(x(5), five / 100.0), (x(10), ten / 100.0)];
        draw_line(&mut svg, place, &points, GREY);
        last_label = (ten / 100.0 - 0.01).max(last_label + LABEL_DISTANCE_MIN);
        draw_text(&mut svg, place, x(10) + 0.02, last_label, "start", GREY, name);
    }
    let points: Vec<(f64, f64)> = report.all.recall.iter().map(|(k, value)| (x(*k), value / 100.0)).collect();
    draw_line(&mut svg, place, &points, INK);
    if let Some((_, top)) = points.last() {
        draw_text(&mut svg, place, 0.98, top + 0.03, "end", INK, "EchoVessel");
    }
    svg
}

/// Plots precision over recall of saying that nothing is known, and marks the bound in use.
pub fn absence_plot(curve: &[AbsenceBound], in_use: f64) -> String {
    let mut svg = panel_axes(0, "precision over recall of \"nothing is known\"", "recall");
    let points: Vec<(f64, f64)> =
        curve.iter().map(|bound| (bound.recall / 100.0, bound.precision / 100.0)).collect();
    draw_line(&mut svg, 0, &points, INK);
    for share in [0, 50, 100] {
        draw_text(&mut svg, 0, f64::from(share) / 100.0, -0.07, "middle", "#444", &share.to_string());
    }
    if let Some(bound) = curve.iter().find(|bound| (bound.support - in_use).abs() < 0.005) {
        let (x, y) = to_drawing(0, bound.recall / 100.0, bound.precision / 100.0);
        let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{INK}"/>"#);
        let label = format!("bound {in_use:.2}, {:.0} in 100 memories denied", bound.denied);
        draw_text(&mut svg, 0, bound.recall / 100.0, bound.precision / 100.0 - 0.08, "end", INK, &label);
    }
    document(1, &svg)
}

fn document(panels: usize, body: &str) -> String {
    let (width, height) = (panels.max(1) as f64 * (FIELD_SIDE + MARGIN) + MARGIN, FIELD_SIDE + 2.0 * MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn panel_axes(place: usize, title: &str, below: &str) -> String {
    let mut svg = String::new();
    for share in [0, 25, 50, 75, 100] {
        let height = f64::from(share) / 100.0;
        let ((left, y), (right, _)) = (to_drawing(place, 0.0, height), to_drawing(place, 1.0, height));
        let _ = writeln!(
            svg,
            r##"<line x1="{left:.1}" y1="{y:.1}" x2="{right:.1}" y2="{y:.1}" stroke="#e3e5e8"/>"##
        );
        draw_text(&mut svg, place, -0.02, height - 0.015, "end", "#444", &share.to_string());
    }
    draw_text(&mut svg, place, 0.5, 1.08, "middle", "#111", title);
    draw_text(&mut svg, place, 0.5, -0.15, "middle", "#444", below);
    svg
}

/// Converts a point of a panel (0 to 1 each way) to coordinates of the drawing.
fn to_drawing(place: usize, x: f64, y: f64) -> (f64, f64) {
    (MARGIN + place as f64 * (FIELD_SIDE + MARGIN) + x * FIELD_SIDE, MARGIN + (1.0 - y) * FIELD_SIDE)
}

fn draw_line(svg: &mut String, place: usize, points: &[(f64, f64)], colour: &str) {
    let points: Vec<String> =
        points.iter().map(|&(x, y)| to_drawing(place, x, y)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let points = points.join(" ");
    let _ = writeln!(svg, r#"<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>"#);
}

fn draw_text(svg: &mut String, place: usize, x: f64, y: f64, anchor: &str, colour: &str, words: &str) {
    let (x, y) = to_drawing(place, x, y);
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ =
        writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{words}</text>"#);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::absence::bound_curve;

    #[test]
    fn every_panel_has_its_line_and_its_baselines() {
        let mut report = Report { data: "locomo".to_owned(), ..Report::default() };
        report.all.recall = RANK_CUTS.iter().map(|k| (*k, *k as f64)).collect();
        let drawn = recall(&[report, Report { data: "a<b".to_owned(), ..Report::default() }]);
        assert_eq!(drawn.matches("<polyline").count(), 6);
        assert!(drawn.contains("a&lt;b") && drawn.ends_with("</svg>\n"));
    }

    #[test]
    fn the_bound_in_use_is_marked() {
        assert!(absence_plot(&bound_curve(&[0.9], &[0.3]), 0.47).contains("<circle"));
    }
}
