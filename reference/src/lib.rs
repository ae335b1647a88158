//! Results of the crates that our own parts replaced.

use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;

/// A traditional character and its simplified form in each line, by OpenCC's table.
pub fn simplified_forms() -> String {
    let table = OpenCC::from_config(BuiltinConfig::T2s).expect("the table is part of the crate");
    let pair = |traditional: char| {
        let form = table.convert(traditional.encode_utf8(&mut [0; 4]));
        let mut characters = form.chars();
        let simple = characters.next().filter(|_| characters.next().is_none())?;
        (simple != traditional).then(|| format!("{traditional}{simple}\n"))
    };
    ('\u{4e00}'..='\u{9fff}').filter_map(pair).collect()
}
