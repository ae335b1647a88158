//! Forms with files, as `multipart/form-data`.

/// The body of a form while it is written.
pub(crate) struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    /// An empty form; `seed` makes its boundary another for each length of content.
    pub(crate) fn new(seed: usize) -> Self {
        Self { boundary: format!("echovessel-form-boundary-{seed:016x}-7d31b0c5"), body: Vec::new() }
    }

    pub(crate) fn field(&mut self, name: &str, value: &str) {
        self.head(&format!("name=\"{name}\""), None);
        self.body.extend_from_slice(value.as_bytes());
        self.body.extend_from_slice(b"\r\n");
    }

    pub(crate) fn wav(&mut self, name: &str, file_name: &str, bytes: &[u8]) {
        let safe: String = file_name
            .chars()
            .map(|letter| if letter.is_ascii_graphic() && letter != '"' { letter } else { '_' })
            .collect();
        self.head(&format!("name=\"{name}\"; filename=\"{safe}\""), Some("audio/wav"));
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    fn head(&mut self, disposition: &str, content_type: Option<&str>) {
        let kind = content_type.map(|kind| format!("Content-Type: {kind}\r\n")).unwrap_or_default();
        let head =
            format!("--{}\r\nContent-Disposition: form-data; {disposition}\r\n{kind}\r\n", self.boundary);
        self.body.extend_from_slice(head.as_bytes());
    }

    /// The content type and the body.
    pub(crate) fn finish(mut self) -> (String, Vec<u8>) {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        (format!("multipart/form-data; boundary={}", self.boundary), self.body)
    }
}
