//! Cost of recall without a database: the scan of the int8 matrix, the splitting of a question, and the formula.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, criterion_group};
use memory::recall::score::{ScoreInputs, score_node};
use memory::recall::{IndexedText, RecallSettings, WordStatistics};
use memory::text::{index_terms, query_terms};
use memory::vector_index::Matrix;
use serde_json::Value;

const DIMENSION: usize = 384;
/// Candidates of one sentence, with the limit that recall uses.
const ROUGH: usize = 200;

/// A unit vector that depends only on its number.
fn vector(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let components: Vec<f32> = (0..DIMENSION).map(|_| next()).collect();
    let length = components.iter().map(|c| c * c).sum::<f32>().sqrt();
    components.into_iter().map(|c| c / length).collect()
}

fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan");
    for rows in [1_000u64, 10_000, 100_000] {
        let mut matrix = Matrix::default();
        for seq in 0..rows {
            matrix.insert(seq as i64, &vector(seq));
        }
        let query = vector(rows + 1);
        group.bench_with_input(BenchmarkId::from_parameter(rows), &matrix, |bencher, matrix| {
            bencher.iter(|| black_box(matrix.nearest(black_box(&query), ROUGH)));
        });
        // A message of several sentences.
        let queries: Vec<Vec<f32>> = (0..6).map(|sentence| vector(2 * rows + sentence)).collect();
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        group.bench_with_input(BenchmarkId::new("6 queries", rows), &matrix, |bencher, matrix| {
            bencher.iter(|| black_box(matrix.nearest_to_each(black_box(&queries), ROUGH)));
        });
    }
    group.finish();
}

fn words(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("words");
    for (name, question, text) in [
        ("zh", "你还记得我妹妹在上海读的大学吗", "用户的妹妹在上海读大学,学的是建筑"),
        (
            "en",
            "Do you remember which university my sister goes to?",
            "The user's sister studies architecture",
        ),
    ] {
        group.bench_function(BenchmarkId::new("query_terms", name), |b| {
            b.iter(|| query_terms(black_box(question)))
        });
        group.bench_function(BenchmarkId::new("index_terms", name), |b| {
            b.iter(|| index_terms(black_box(text)))
        });
        let (terms, indexed) = (query_terms(question), index_terms(text));
        let statistics = WordStatistics { documents: 100_000, ..WordStatistics::default() };
        group.bench_function(BenchmarkId::new("relevance", name), |bencher| {
            bencher.iter(|| statistics.relevance(&terms, &IndexedText::new(black_box(&indexed))));
        });
    }
    // Each text has twice as many distinct terms as the one before, and should take twice as long.
    for length in [5_000, 10_000, 20_000] {
        let han: String = ('\u{4e00}'..).take(length).collect();
        let short: String = (0..length).map(|number| format!("{number:x} ")).collect();
        for (name, text) in [("distinct Han characters", han), ("distinct short words", short)] {
            group
                .bench_function(BenchmarkId::new(name, length), |b| b.iter(|| query_terms(black_box(&text))));
        }
    }
    group.finish();
}

fn formula(criterion: &mut Criterion) {
    let settings = RecallSettings::default();
    let now = jiff::Timestamp::constant(1_700_000_000, 0);
    let node = bench_node(now);
    let known = ScoreInputs {
        vector: 0.5,
        words: 0.7,
        path: 0.2,
        anchored: true,
        time_match: false,
        identity: false,
    };
    criterion.bench_function("score/300 nodes", |bencher| {
        bencher.iter(|| {
            (0..300).map(|_| score_node(black_box(&node), known, now, &settings).total).sum::<f64>()
        });
    });
}

fn bench_node(now: jiff::Timestamp) -> memory::nodes::Node {
    use memory::nodes::{Node, NodeKind, Subject};
    Node {
        id: memory::identifiers::NodeId(uuid::Uuid::nil()),
        seq: 1,
        kind: NodeKind::Event,
        description: "The user's sister studies architecture".to_owned(),
        emotional_impact: 3,
        emotion_tags: Vec::new(),
        relational_tags: Vec::new(),
        subject: Subject::User,
        event_time: None,
        source_session_id: None,
        mention_count: 1,
        superseded_by: None,
        pinned: false,
        access_count: 0,
        last_accessed_at: None,
        created_at: now,
    }
}

criterion_group!(benches, scan, words, formula);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    if let Some(python) = std::env::var_os("ECHOVESSEL_BENCH_PYTHON") {
        compare(Path::new(&python));
    }
}

/// The same scan by sqlite-vec, if `ECHOVESSEL_BENCH_PYTHON` names a Python with sqlite-vec and apsw.
fn compare(python: &Path) {
    println!("{:>8} {:>12} {:>12} {:>7}", "rows", "this", "sqlite-vec", "times");
    for rows in [1_000u64, 10_000, 100_000] {
        let ours = median_scan(rows);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/scan_by_sqlite_vec.py");
        let output = Command::new(python)
            .arg(script)
            .args([rows.to_string(), DIMENSION.to_string(), ROUGH.to_string()])
            .output();
        let answer = output.ok().and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
        let Some(theirs) = answer.and_then(|answer| answer["median_ms"].as_f64()) else {
            eprintln!("sqlite-vec could not be measured: that Python needs the packages sqlite-vec and apsw");
            return;
        };
        println!("{rows:>8} {ours:>9.3} ms {theirs:>9.3} ms {:>7.1}", theirs / ours);
    }
}

/// Milliseconds of one scan, as the median of several.
fn median_scan(rows: u64) -> f64 {
    let mut matrix = Matrix::default();
    for seq in 0..rows {
        matrix.insert(seq as i64, &vector(seq));
    }
    let mut times: Vec<f64> = (0..15)
        .map(|round| {
            let query = vector(rows + round + 1);
            let started = Instant::now();
            black_box(matrix.nearest(black_box(&query), ROUGH));
            started.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
