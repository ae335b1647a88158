//! Content that no committed file may have.

use super::Finding;
use super::project::ProjectFile;

// Written in two parts, so that this file passes its own check.
const MACHINE_FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];
const REGISTRY_HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("deb.debian", ".org"),
];

/// Prefixes of keys, with the minimum number of letters and digits after each.
const KEY_PREFIXES: &[(&str, usize)] =
    &[("sk-", 20), ("ghp_", 20), ("github_pat_", 20), ("xoxb-", 20), ("hf_", 20), ("AKIA", 16)];
const PRIVATE_KEY: &str = concat!("PRIVATE ", "KEY-----");
/// From this many hexadecimal digits on a word may be a token.
const HEX_TOKEN_LENGTH: usize = 32;
/// Words near a long hexadecimal number that show that it is no token.
const DIGEST_WORDS: &[&str] =
    &["sha", "hash", "digest", "checksum", "fingerprint", "integrity", "commit", "uuid"];
/// Lines above a digest in which such a word is searched for: the name of a test may be that far from its expected value.
const DIGEST_LINES_BEFORE: usize = 5;

const BINARY_EXTENSIONS: &[&str] =
    &["safetensors", "onnx", "gguf", "pt", "db", "db-wal", "db-shm", "sqlite", "sqlite3", "profraw", "whl"];

pub(super) fn findings(files: &[ProjectFile]) -> Vec<Finding> {
    files.iter().flat_map(findings_of).collect()
}

fn findings_of(file: &ProjectFile) -> Vec<Finding> {
    if BINARY_EXTENSIONS.iter().any(|extension| file.has_extension(extension)) {
        let fix = "Take it out of the project and let .gitignore name it; a test makes its own, the model is fetched.";
        return vec![Finding::in_file(&file.path, "model weights, a database or a build's output", fix)];
    }
    let mut findings = Vec::new();
    let mut said_before = [""; DIGEST_LINES_BEFORE];
    for (number, line) in file.lines() {
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(line, folder)) {
            let fix = "Write it relative to the project, or take it from the environment.";
            findings.push(Finding::at(&file.path, number, format!("a path of one machine ({folder})"), fix));
        }
        let is_cargos_own = file.name() == "Cargo.lock" && line.starts_with("source = \"registry+");
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| !is_cargos_own && line.contains(**host)) {
            let fix = "Take it out: where packages come from is the machine's own setting.";
            findings.push(Finding::at(&file.path, number, format!("a registry's address ({host})"), fix));
        }
        if let Some(kind) = secret(file, &said_before, line) {
            let fix = "Take it out, and if it is real, revoke it. A digest says so on its line (sha256, digest, hash).";
            findings.push(Finding::at(&file.path, number, format!("what looks like {kind}"), fix));
        }
        said_before.rotate_left(1);
        said_before[DIGEST_LINES_BEFORE - 1] = line;
    }
    findings
}

/// True if an absolute path starts here, rather than the middle of a longer one.
fn names_folder(line: &str, folder: &str) -> bool {
    let is_inside = |before: &str| {
        before.ends_with(|character: char| character.is_alphanumeric() || "/_.-~$}>)*".contains(character))
    };
    line.match_indices(folder).any(|(index, _)| !is_inside(&line[..index]))
}

fn secret(file: &ProjectFile, said_before: &[&str], line: &str) -> Option<&'static str> {
    if line.contains(PRIVATE_KEY) {
        return Some("a private key");
    }
    if KEY_PREFIXES.iter().any(|(prefix, length)| holds_key(line, prefix, *length)) {
        return Some("a key");
    }
    let is_list_of_digests =
        file.has_extension("lock") || file.has_extension("sha256") || file.name() == "package-lock.json";
    let says_digest = |line: &str| {
        let line = line.to_ascii_lowercase();
        DIGEST_WORDS.iter().any(|word| line.contains(word))
    };
    let is_hex_token = |word: &str| {
        word.len() >= HEX_TOKEN_LENGTH
            && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let mut words = line.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let found = !is_list_of_digests
        && words.any(is_hex_token)
        && !says_digest(line)
        && !said_before.iter().any(|line| says_digest(line));
    found.then_some("a token")
}

/// True if a word starts with `prefix` and goes on with `length` or more characters of a key, digits among them.
fn holds_key(line: &str, prefix: &str, length: usize) -> bool {
    line.match_indices(prefix).any(|(index, _)| {
        let starts_word =
            !line[..index].ends_with(|character: char| character.is_alphanumeric() || character == '-');
        let rest = &line.as_bytes()[index + prefix.len()..];
        let end =
            rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-' && *byte != b'_');
        let key = &rest[..end.unwrap_or(rest.len())];
        starts_word && key.len() >= length && key.iter().any(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, line: &str) -> Vec<String> {
        findings(&[ProjectFile::of(path, line)]).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(
                found_in("a.sh", &format!("cd {folder}main")),
                [format!("a path of one machine ({folder})")]
            );
            assert_eq!(found_in("a.rs", &format!("\"{folder}x\"")).len(), 1);
            assert_eq!(found_in("a.md", &format!("https://host.test{folder}x and ../x{folder}y")).len(), 0);
        }
    }

    #[test]
    fn registries_are_not_named_except_by_cargo() {
        let host = REGISTRY_HOSTS[0];
        assert_eq!(
            found_in("README.md", &format!("from {host}")),
            [format!("a registry's address ({host})")]
        );
        let source = format!("source = \"registry+https://github.test/{host}-index\"");
        assert_eq!(found_in("Cargo.lock", &source).len(), 0);
        assert_eq!(found_in("deny.toml", &source).len(), 1);
    }

    #[test]
    fn secrets_are_found_and_digests_are_not() {
        let letters = "abcdefgh1234567890";
        assert_eq!(found_in("a.env", &format!("KEY=sk-{letters}{letters}")), ["what looks like a key"]);
        assert_eq!(found_in("a.rs", "let key = \"sk-secret\";").len(), 0);
        assert_eq!(found_in("a.css", &format!(".task-{letters}{letters} {{}}")).len(), 0);
        let token = "0123456789abcdef".repeat(2);
        assert_eq!(found_in("a.toml", &format!("token = \"{token}\"")), ["what looks like a token"]);
        assert_eq!(found_in("a.rs", &format!("const SHA256: &str = \"{token}\";")).len(), 0);
        assert_eq!(found_in("a.rs", &format!("const SHA256: &str =\n    \"{token}\";")).len(), 0);
        assert_eq!(found_in("Cargo.lock", &format!("checksum = \"{token}\"")).len(), 0);
        assert_eq!(
            found_in("key.pem", &format!("-----BEGIN {PRIVATE_KEY}")),
            ["what looks like a private key"]
        );
    }

    #[test]
    fn weights_and_databases_are_found() {
        for path in ["model.safetensors", "home/memory.db", "home/memory.db-wal"] {
            assert_eq!(found_in(path, "").len(), 1, "{path}");
        }
    }
}
