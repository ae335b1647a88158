//! Prints the time that embedding a text takes with both models, and with ONNX Runtime.
//!
//! `cargo bench -p embed` needs the models (`make model`). The last part only runs if `ECHOVESSEL_BENCH_PYTHON` names
//! a Python with numpy, safetensors, onnx and onnxruntime; see `onnx_runtime.py`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measurement that can't be made stops at the first error"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use criterion::Criterion;
use embed::{ALL_MINILM_L6_V2, MULTILINGUAL_E5_SMALL, Model, ModelDescription, model_files};
use serde_json::Value;

/// Threads, texts, and word pieces of each text.
const SHAPES: [(usize, usize, usize); 8] =
    [(1, 1, 8), (1, 1, 32), (1, 1, 128), (1, 32, 16), (2, 1, 8), (2, 1, 32), (2, 1, 128), (2, 32, 16)];

/// Typical questions and messages.
const SENTENCES: [&str; 5] = [
    "你还记得我的猫吗?",
    "我昨天和妈妈去了医院,医生说没什么大问题,休息几天就好。",
    "Do you remember my cat?",
    "My sister moved to Lisbon in March, and we have not spoken since.",
    "我下周三要去见Anna, she is flying in from Lisbon and stays for a week, 你说我应该带她去哪里玩?",
];

fn main() {
    let directory = model_directory("ECHOVESSEL_MODEL_DIR", &ALL_MINILM_L6_V2);
    let multilingual = model_directory("ECHOVESSEL_MULTILINGUAL_MODEL_DIR", &MULTILINGUAL_E5_SMALL);
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("open the model", |bencher| {
        bencher.iter(|| Model::open(&directory, 1).unwrap());
    });
    criterion.bench_function("open the multilingual model", |bencher| {
        bencher.iter(|| Model::open(&multilingual, 1).unwrap());
    });
    for (threads, texts, pieces) in SHAPES {
        let model = Model::open(&directory, threads).unwrap();
        let text = text_of(pieces);
        let batch = vec![text.as_str(); texts];
        let name = format!("{texts} texts of {pieces} pieces, {threads} threads");
        criterion.bench_function(&name, |bencher| bencher.iter(|| model.embed(black_box(&batch)).unwrap()));
    }
    criterion.final_summary();
    compare_models(&directory, &multilingual);
    if let Some(python) = std::env::var_os("ECHOVESSEL_BENCH_PYTHON") {
        compare(Path::new(&python), &directory);
    }
}

fn model_directory(variable: &str, description: &'static ModelDescription) -> PathBuf {
    let directory = std::env::var_os(variable).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/models").join(description.name),
        PathBuf::from,
    );
    if let Err(error) = model_files::check_present(&directory, description) {
        panic!("{error}: run `make model`, or set {variable}");
    }
    directory
}

/// Prints the fastest of many runs of each model. The runs of the models alternate.
fn compare_models(directory: &Path, multilingual: &Path) {
    println!("{:>8} {:>10} {:>10} {:>6}  sentence", "threads", "MiniLM", "e5-small", "ratio");
    for threads in [1, 2] {
        let models = [directory, multilingual].map(|folder| Model::open(folder, threads).unwrap());
        for sentence in SENTENCES {
            let mut best = [f64::MAX; 2];
            for _ in 0..200 {
                for (model, best) in models.iter().zip(&mut best) {
                    let start = Instant::now();
                    drop(black_box(model.embed_queries(&[black_box(sentence)]).unwrap()));
                    *best = best.min(start.elapsed().as_secs_f64() * 1e3);
                }
            }
            let [one, other] = best;
            println!("{threads:>8} {one:>7.2} ms {other:>7.2} ms {:>6.2}  {sentence}", other / one);
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(line) = status.lines().find(|line| line.starts_with("VmRSS")) {
        println!("Both opened twice: {line}");
    }
}

/// A text of this many word pieces, including `[CLS]` and `[SEP]`.
fn text_of(pieces: usize) -> String {
    vec!["cat"; pieces - 2].join(" ")
}

/// Prints medians side by side. The runs of one shape follow each other directly.
fn compare(python: &Path, directory: &Path) {
    println!(
        "{:>8} {:>6} {:>7} {:>10} {:>13} {:>6}",
        "threads", "texts", "pieces", "ours", "ONNX Runtime", "ratio"
    );
    for (threads, texts, pieces) in SHAPES {
        let model = Model::open(directory, threads).unwrap();
        let text = text_of(pieces);
        let batch = vec![text.as_str(); texts];
        let ours = median_milliseconds(|| drop(black_box(model.embed(&batch).unwrap())));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/onnx_runtime.py");
        let output = Command::new(python)
            .arg(script)
            .arg(directory.join("model.safetensors"))
            .args([threads, texts, pieces].map(|number| number.to_string()))
            .output()
            .unwrap();
        let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else {
            eprintln!("ONNX Runtime could not be measured: {}", String::from_utf8_lossy(&output.stderr));
            return;
        };
        let theirs = answer["median_ms"].as_f64().unwrap();
        let ratio = ours / theirs;
        println!("{threads:>8} {texts:>6} {pieces:>7} {ours:>7.2} ms {theirs:>10.2} ms {ratio:>6.2}");
    }
}

fn median_milliseconds(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..60)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
