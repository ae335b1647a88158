//! How long a text takes, and ONNX Runtime beside it.
//!
//! `cargo bench -p embed` needs the model (`make model`). The second half runs only when `ECHOVESSEL_BENCH_PYTHON` names
//! a Python that has numpy, safetensors, onnx and onnxruntime; see `onnx_runtime.py`.

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
use embed::{ALL_MINILM_L6_V2, Model, model_files};
use serde_json::Value;

/// (threads, texts, word pieces of each).
const SHAPES: [(usize, usize, usize); 8] =
    [(1, 1, 8), (1, 1, 32), (1, 1, 128), (1, 32, 16), (2, 1, 8), (2, 1, 32), (2, 1, 128), (2, 32, 16)];

fn main() {
    let directory = std::env::var_os("ECHOVESSEL_MODEL_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/models").join(ALL_MINILM_L6_V2.name),
        PathBuf::from,
    );
    if let Err(error) = model_files::check_present(&directory, &ALL_MINILM_L6_V2) {
        panic!("{error}: run `make model`, or set ECHOVESSEL_MODEL_DIR");
    }
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("open the model", |bencher| {
        bencher.iter(|| Model::open(&directory, 1).unwrap());
    });
    for (threads, texts, pieces) in SHAPES {
        let model = Model::open(&directory, threads).unwrap();
        let text = text_of(pieces);
        let batch = vec![text.as_str(); texts];
        let name = format!("{texts} texts of {pieces} pieces, {threads} threads");
        criterion.bench_function(&name, |bencher| bencher.iter(|| model.embed(black_box(&batch)).unwrap()));
    }
    criterion.final_summary();
    if let Some(python) = std::env::var_os("ECHOVESSEL_BENCH_PYTHON") {
        compare(Path::new(&python), &directory);
    }
}

/// A text of so many word pieces, `[CLS]` and `[SEP]` among them.
fn text_of(pieces: usize) -> String {
    vec!["cat"; pieces - 2].join(" ")
}

/// Prints medians side by side, each shape measured right after the other.
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
