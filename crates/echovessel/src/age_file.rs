//! Files in the age format (age-encryption.org/v1), encrypted with a passphrase. The programs `age` and `rage` can
//! read and write them.

use std::io::{self, BufRead, Read, Write};

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, general_purpose};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, Tag, UnboundKey};
use ring::{hkdf, hmac};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

const VERSION: &str = "age-encryption.org/v1";
/// Prefix of scrypt's salt, so that the derived keys work in this format alone.
const SCRYPT_LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
/// Work factor of new files, the same as the program `age` chooses: 256 MiB of memory and about a second. Unit tests
/// use a smaller one.
const LOG_N: u8 = if cfg!(test) { 10 } else { 18 };
/// Largest work factor that is accepted: 4 GiB. A larger one in a file would be an attack on the machine.
const LOG_N_MAX: u8 = 22;
const SALT_LENGTH: usize = 16;
const FILE_KEY_LENGTH: usize = 16;
const TAG_LENGTH: usize = 16;
/// Plain bytes of each chunk except the last, as the age format defines it.
const CHUNK_LENGTH: usize = 64 * 1024;
/// Largest line of a header that is read: the format's lines are below 100 bytes, and a file that is not a backup may
/// have no line end at all.
const LINE_LENGTH_MAX: u64 = 1_024;
const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, general_purpose::NO_PAD);

/// Why a file was not decrypted. The output written until then must not be used.
#[derive(Debug, Error)]
pub(crate) enum AgeError {
    #[error("the passphrase is wrong")]
    Passphrase,
    #[error(
        "the file is encrypted for a key, not with a passphrase; decrypt it with the `age` program first"
    )]
    NoPassphrase,
    #[error("the file is damaged: {0}")]
    Damaged(&'static str),
    #[error("the file needs 2^{0} steps of scrypt to open; the limit is 2^{LOG_N_MAX}")]
    WorkFactor(u8),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Encrypts everything that `from` holds. `random` gives 32 random bytes at each call.
pub(crate) fn encrypt(
    from: &mut impl Read,
    to: &mut impl Write,
    passphrase: &SecretString,
    random: impl Fn() -> [u8; 32],
) -> Result<(), AgeError> {
    let [file_key, salt, nonce] = [(); 3].map(|()| random());
    let (file_key, salt, nonce) = (&file_key[..FILE_KEY_LENGTH], &salt[..SALT_LENGTH], &nonce[..SALT_LENGTH]);
    let mut wrapped = file_key.to_vec();
    let tag = passphrase_key(passphrase, salt, LOG_N)?.seal_chunk(&mut wrapped, [0; NONCE_LEN])?;
    wrapped.extend(tag.as_ref());
    let header =
        format!("{VERSION}\n-> scrypt {} {LOG_N}\n{}\n---", BASE64.encode(salt), BASE64.encode(wrapped));
    let mac = hmac::sign(&header_key(file_key)?, header.as_bytes());
    writeln!(to, "{header} {}", BASE64.encode(mac))?;
    to.write_all(nonce)?;
    let key = payload_key(file_key, nonce)?;
    let mut chunk = read_chunk(from, CHUNK_LENGTH)?;
    for counter in 0_u64.. {
        let next = read_chunk(from, CHUNK_LENGTH)?;
        let tag = key.seal_chunk(&mut chunk, chunk_nonce(counter, next.is_empty()))?;
        to.write_all(&chunk)?;
        to.write_all(tag.as_ref())?;
        if next.is_empty() {
            break;
        }
        chunk = next;
    }
    Ok(to.flush()?)
}

/// Decrypts a file. Each chunk is authenticated before it is written; a file that was cut off is an error.
pub(crate) fn decrypt(
    from: &mut impl BufRead,
    to: &mut impl Write,
    passphrase: &SecretString,
) -> Result<(), AgeError> {
    let file_key = read_header(from, passphrase)?;
    let nonce = read_chunk(from, SALT_LENGTH)?;
    if nonce.len() < SALT_LENGTH {
        return Err(AgeError::Damaged("it ends after its header"));
    }
    let key = payload_key(&file_key, &nonce)?;
    let mut chunk = read_chunk(from, CHUNK_LENGTH + TAG_LENGTH)?;
    for counter in 0_u64.. {
        let next = read_chunk(from, CHUNK_LENGTH + TAG_LENGTH)?;
        let is_last = next.is_empty();
        let plain = key
            .open(&mut chunk, chunk_nonce(counter, is_last))
            .ok_or(AgeError::Damaged("a part was changed, or the end is missing"))?;
        if plain.is_empty() && counter > 0 {
            return Err(AgeError::Damaged("its last part is empty"));
        }
        to.write_all(plain)?;
        if is_last {
            break;
        }
        chunk = next;
    }
    Ok(to.flush()?)
}

/// True if the file begins as this format does.
pub(crate) fn is_encrypted(from: &mut impl Read) -> io::Result<bool> {
    let first = read_chunk(from, VERSION.len() + 1)?;
    Ok(first.strip_suffix(b"\n") == Some(VERSION.as_bytes()))
}

/// Reads the header to its end, and returns the key of the file.
fn read_header(from: &mut impl BufRead, passphrase: &SecretString) -> Result<Vec<u8>, AgeError> {
    let mut header = String::new();
    let mut next_line = |header: &mut String| -> Result<String, AgeError> {
        let mut line = String::new();
        let read = from.by_ref().take(LINE_LENGTH_MAX).read_line(&mut line);
        read.map_err(|_| AgeError::Damaged("its header can't be read"))?;
        let line = line.strip_suffix('\n').ok_or(AgeError::Damaged("its header has no end"))?.to_owned();
        header.push_str(&line);
        header.push('\n');
        Ok(line)
    };
    if next_line(&mut header)? != VERSION {
        return Err(AgeError::Damaged("it does not begin with the header of the age format"));
    }
    let stanza = next_line(&mut header)?;
    let arguments = stanza.strip_prefix("-> scrypt ").ok_or(AgeError::NoPassphrase)?;
    let damaged = || AgeError::Damaged("its header is malformed");
    let (salt, log_n) = arguments.split_once(' ').ok_or_else(damaged)?;
    let salt = BASE64.decode(salt).map_err(|_| damaged())?;
    let log_n: u8 = log_n.parse().map_err(|_| damaged())?;
    if salt.len() != SALT_LENGTH {
        return Err(damaged());
    }
    if !(1..=LOG_N_MAX).contains(&log_n) {
        return Err(AgeError::WorkFactor(log_n));
    }
    let mut wrapped = BASE64.decode(next_line(&mut header)?).map_err(|_| damaged())?;
    if wrapped.len() != FILE_KEY_LENGTH + TAG_LENGTH {
        return Err(damaged());
    }
    let file_key = passphrase_key(passphrase, &salt, log_n)?
        .open(&mut wrapped, [0; NONCE_LEN])
        .ok_or(AgeError::Passphrase)?
        .to_vec();
    let last = next_line(&mut header)?;
    let mac = last.strip_prefix("--- ").and_then(|mac| BASE64.decode(mac).ok()).ok_or_else(damaged)?;
    let signed = &header[..header.len() - last.len() - 1 + "---".len()];
    hmac::verify(&header_key(&file_key)?, signed.as_bytes(), &mac)
        .map_err(|_| AgeError::Damaged("its header was changed"))?;
    Ok(file_key)
}

/// ChaCha20-Poly1305 under one key.
struct Cipher(LessSafeKey);

impl Cipher {
    fn new(key: &[u8]) -> Result<Self, AgeError> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key)
            .map_err(|_| AgeError::Damaged("its key has an invalid length"))?;
        Ok(Self(LessSafeKey::new(key)))
    }

    fn seal_chunk(&self, bytes: &mut [u8], nonce: [u8; NONCE_LEN]) -> Result<Tag, AgeError> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = self.0.seal_in_place_separate_tag(nonce, Aad::empty(), bytes);
        sealed.map_err(|_| AgeError::Damaged("a part is too long"))
    }

    /// Decrypts one chunk; `None` if it was changed or the key is wrong.
    fn open<'a>(&self, bytes: &'a mut [u8], nonce: [u8; NONCE_LEN]) -> Option<&'a mut [u8]> {
        self.0.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), bytes).ok()
    }
}

fn passphrase_key(passphrase: &SecretString, salt: &[u8], log_n: u8) -> Result<Cipher, AgeError> {
    let parameters = scrypt::Params::new(log_n, 8, 1).map_err(|_| AgeError::WorkFactor(log_n))?;
    let mut key = [0; 32];
    scrypt::scrypt(
        passphrase.expose_secret().as_bytes(),
        &[SCRYPT_LABEL, salt].concat(),
        &parameters,
        &mut key,
    )
    .map_err(|_| AgeError::WorkFactor(log_n))?;
    Cipher::new(&key)
}

fn payload_key(file_key: &[u8], nonce: &[u8]) -> Result<Cipher, AgeError> {
    Cipher::new(&derive_key(file_key, nonce, b"payload")?)
}

fn header_key(file_key: &[u8]) -> Result<hmac::Key, AgeError> {
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &derive_key(file_key, &[], b"header")?))
}

fn derive_key(file_key: &[u8], salt: &[u8], purpose: &[u8]) -> Result<[u8; 32], AgeError> {
    let mut key = [0; 32];
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(file_key);
    derived
        .expand(&[purpose], hkdf::HKDF_SHA256)
        .and_then(|output| output.fill(&mut key))
        .map_err(|_| AgeError::Damaged("its key has an invalid length"))?;
    Ok(key)
}

/// The nonce of a chunk: its counter, and if it is the last. A chunk can neither be moved nor be cut off at the end.
fn chunk_nonce(counter: u64, is_last: bool) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    nonce[3..11].copy_from_slice(&counter.to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce
}

/// The next bytes, at most `length`; fewer at the end.
fn read_chunk(from: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(length);
    from.take(length as u64).read_to_end(&mut chunk)?;
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn passphrase(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    fn encrypted(plain: &[u8]) -> Vec<u8> {
        let count = Cell::new(0);
        let random = || {
            count.set(count.get() + 1);
            [count.get(); 32]
        };
        let mut file = Vec::new();
        encrypt(&mut &plain[..], &mut file, &passphrase("correct horse"), random).unwrap();
        file
    }

    fn decrypt_all(file: &[u8], words: &str) -> Result<Vec<u8>, AgeError> {
        let mut plain = Vec::new();
        decrypt(&mut &file[..], &mut plain, &passphrase(words))?;
        Ok(plain)
    }

    #[test]
    fn files_of_any_length_come_back() {
        for length in [0, 1, CHUNK_LENGTH - 1, CHUNK_LENGTH, CHUNK_LENGTH + 1, 3 * CHUNK_LENGTH] {
            let plain: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let file = encrypted(&plain);
            assert!(is_encrypted(&mut &file[..]).unwrap());
            assert!(decrypt_all(&file, "correct horse").unwrap() == plain, "{length} bytes");
        }
    }

    #[test]
    fn changed_and_shortened_files_are_refused() {
        let plain = vec![7; 2 * CHUNK_LENGTH];
        let file = encrypted(&plain);
        assert!(matches!(decrypt_all(&file, "wrong"), Err(AgeError::Passphrase)));
        let chunk = CHUNK_LENGTH + TAG_LENGTH;
        for kept in [file.len() - 1, file.len() - chunk, file.len() - 2 * chunk] {
            assert!(
                matches!(decrypt_all(&file[..kept], "correct horse"), Err(AgeError::Damaged(_))),
                "{kept}"
            );
        }
        let mut changed = file.clone();
        let last = changed.len() - chunk - 5;
        changed[last] ^= 1;
        assert!(matches!(decrypt_all(&changed, "correct horse"), Err(AgeError::Damaged(_))));
        let header = String::from_utf8(file[..file.len() - 2 * chunk - SALT_LENGTH].to_vec()).unwrap();
        let work_factor = format!(" {LOG_N}\n");
        for (from, to) in
            [(work_factor.as_str(), " 40\n"), ("scrypt", "X25519"), ("--- ", "--- A"), (VERSION, "age/v9")]
        {
            let changed = [header.replacen(from, to, 1).as_bytes(), &file[header.len()..]].concat();
            assert!(decrypt_all(&changed, "correct horse").is_err(), "{from:?}");
        }
        assert!(!is_encrypted(&mut &b"SQLite format 3\0"[..]).unwrap());
    }

    /// The file was written by `age` 1.1.1 with `-p`.
    #[test]
    fn a_file_of_the_program_age_opens() {
        let file = include_bytes!("../tests/samples/hello.age");
        assert_eq!(decrypt_all(file, "correct horse").unwrap(), b"hello from age\n");
    }
}
