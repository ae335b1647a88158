//! A model of two small files, and a model hub on the loopback interface that can fail in several ways.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use embed::{ALL_MINILM_L6_V2, ModelDescription, PinnedFile};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Content of the file in place of the weights.
pub(crate) fn weights() -> Vec<u8> {
    (0..100_000_u32).flat_map(|index| index.wrapping_mul(index).to_le_bytes()).collect()
}

/// Content of the other file.
pub(crate) fn tokenizer() -> Vec<u8> {
    b"{\"version\":\"1.0\"}".to_vec()
}

/// A description that pins these two contents. It lives as long as the test process.
pub(crate) fn small_model() -> &'static ModelDescription {
    let pinned = |name, content: Vec<u8>| {
        let digest: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        PinnedFile { name, bytes: content.len() as u64, sha256: digest.leak() }
    };
    Box::leak(Box::new(ModelDescription {
        repository: Some("people/small-model"),
        files: vec![pinned("model.safetensors", weights()), pinned("tokenizer.json", tokenizer())].leak(),
        ..ALL_MINILM_L6_V2
    }))
}

/// The hub's response to one request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The file, or the requested range of it.
    Honest,
    /// The whole file, whatever range was requested.
    IgnoreRange,
    /// Another range than was requested.
    WrongRange,
    /// This many bytes of the response, then the connection closes.
    CutAfter(usize),
    /// A response without a file.
    Status(&'static str),
    /// Another file of this many bytes, without a content length.
    Other(usize),
}

/// A running hub.
pub(crate) struct Hub {
    /// The model source for the downloader.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    /// Answers each request with the next of `answers`, and with the file when they are used up.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, mut answers) = (Arc::clone(&requests), answers.into_iter());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serve(stream, &seen, || answers.next().unwrap_or(Answer::Honest)).await;
            }
        });
        Self { url, requests }
    }

    /// The requests so far: the file's name, and the first requested byte if it was not the start.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Answers one request and closes the connection, so that no second request uses it.
async fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, next: impl FnOnce() -> Answer) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let name = head.split_whitespace().nth(1).unwrap().rsplit('/').next().unwrap().to_owned();
    assert!(head.starts_with("get /people/small-model/resolve/main/"), "{head}");
    let range = head.lines().find_map(|line| line.strip_prefix("range: bytes="));
    let start: Option<usize> = range.map(|range| range.trim_end_matches('-').parse().unwrap());
    seen.lock().unwrap().push(start.map_or(name.clone(), |start| format!("{name} from {start}")));
    let content = if name == "model.safetensors" { weights() } else { tokenizer() };
    let partial = |start: usize, said: usize| {
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {said}-{}/{}\r\nConnection: close\r\n\r\n",
            content.len() - start,
            content.len() - 1,
            content.len()
        );
        [head.as_bytes(), &content[start..]].concat()
    };
    let whole = |status: &str, content: &[u8]| {
        let length = content.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        [head.as_bytes(), content].concat()
    };
    let honest = || start.map_or_else(|| whole("200 OK", &content), |start| partial(start, start));
    let answer = match next() {
        Answer::Honest => honest(),
        Answer::IgnoreRange => whole("200 OK", &content),
        Answer::WrongRange => partial(0, 0),
        Answer::Status(status) => whole(status, b"no such thing"),
        Answer::CutAfter(count) => {
            let answer = honest();
            let head = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            answer[..head + count].to_vec()
        }
        Answer::Other(count) => {
            [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".as_slice(), &vec![b'x'; count]].concat()
        }
    };
    // The client may have closed the connection: it stops reading a file that is too long.
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}
