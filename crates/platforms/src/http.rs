//! The part of HTTP/1.1 that the simulated servers need.

use std::io;

use memchr::memmem;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Maximum size of the request line and the headers.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of a request's body. Voice messages are the largest.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A request that was read completely.
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query after the question mark; may be empty.
    pub query: String,
    /// Headers with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, of the length in content-length; empty without it.
    pub body: Vec<u8>,
}

/// Reads the next request of a connection; `None` if the client has closed it.
pub async fn read_request(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<HttpRequest>> {
    let Some(first) = read_line(reader).await? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(malformed("no request line"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let method = method.to_owned();
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut head_bytes = first.len();
    loop {
        let line = read_line(reader).await?.ok_or_else(|| malformed("the headers were cut"))?;
        if line.is_empty() {
            break;
        }
        head_bytes += line.len();
        if head_bytes > HEAD_BYTES_MAX {
            return Err(malformed("the headers are too long"));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Ok(0), |(_, value)| value.parse::<usize>());
    let length = length.map_err(|_| malformed("content-length is not a number"))?;
    if length > BODY_BYTES_MAX || headers.iter().any(|(name, _)| name == "transfer-encoding") {
        return Err(malformed("the body is too long, or of a length that is not said"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    Ok(Some(HttpRequest { method, path, query, headers, body }))
}

impl HttpRequest {
    /// The fields and files of a multipart form, by name.
    #[must_use]
    pub fn form_parts(&self) -> Vec<(String, Vec<u8>)> {
        let kind = self.headers.iter().find(|(name, _)| name == "content-type");
        let Some((_, boundary)) = kind.and_then(|(_, kind)| kind.split_once("boundary=")) else {
            return Vec::new();
        };
        let boundary = format!("--{boundary}").into_bytes();
        let places: Vec<usize> = memmem::find_iter(&self.body, &boundary).collect();
        let part = |pair: &[usize]| {
            let part = self.body.get(pair[0] + boundary.len() + 2..pair[1].checked_sub(2)?)?;
            let head_end = memmem::find(part, b"\r\n\r\n")?;
            let head = String::from_utf8_lossy(&part[..head_end]);
            let name = head.split_once("name=\"")?.1.split_once('"')?.0.to_owned();
            Some((name, part[head_end + 4..].to_vec()))
        };
        places.windows(2).filter_map(part).collect()
    }
}

/// A response that is sent at once.
pub struct HttpResponse<'a> {
    pub status: u16,
    /// The value of content-type.
    pub content_type: &'a str,
    /// Headers other than type and length.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// Sends a response with `body_bytes` of its body, which are fewer than the announced length if the answer should be
/// cut.
pub async fn write_response(
    writer: &mut (impl AsyncWrite + Unpin),
    response: &HttpResponse<'_>,
    body_bytes: usize,
) -> io::Result<()> {
    let headers: String =
        response.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n{headers}\r\n",
        response.status,
        reason_phrase(response.status),
        response.content_type,
        response.body.len(),
    );
    writer.write_all(head.as_bytes()).await?;
    writer.write_all(&response.body[..body_bytes.min(response.body.len())]).await?;
    writer.flush().await
}

/// Begins a response that is sent in chunks.
pub async fn begin_chunked(writer: &mut (impl AsyncWrite + Unpin), content_type: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    writer.write_all(head.as_bytes()).await?;
    writer.flush().await
}

/// Sends one chunk; an empty one ends the response.
pub async fn write_chunk(writer: &mut (impl AsyncWrite + Unpin), piece: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
    chunk.extend_from_slice(piece);
    chunk.extend_from_slice(b"\r\n");
    writer.write_all(&chunk).await?;
    writer.flush().await
}

async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader.take(HEAD_BYTES_MAX as u64).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\n").ok_or_else(|| malformed("a line without an end"))?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8(line.to_vec()).map(Some).map_err(|_| malformed("a line that is not UTF-8"))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}
