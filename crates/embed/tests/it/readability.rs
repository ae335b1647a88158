//! Which texts the English model can read, with its real vocabulary.

use crate::model::{cosine, open};

/// A vector with a lower readability is not used (design of recall).
const READABLE: f32 = 0.6;

fn readabilities(texts: &[&str]) -> Vec<f32> {
    open(1).embed(texts).unwrap().into_iter().map(|embedding| embedding.readability).collect()
}

#[test]
fn english_is_readable() {
    let texts = [
        "The user has a white cat called Blackie.",
        "I can't believe it… “really”, she said — and left!",
        "Café naïve, 25 °C, 3 × 12.50 €",
        "On 2024-03-05 at 18:30 I ate sushi 🍣",
        "Krzysztof and Zoë",
        "42",
    ];
    for (text, readability) in texts.iter().zip(readabilities(&texts)) {
        assert!(readability >= 0.9, "{text:?}: {readability}");
    }
}

/// By the vocabulary alone, "我在上海的大学学文学" would have a readability of 0.90 and Russian one of 1, letter by letter.
#[test]
fn other_scripts_are_unreadable() {
    let texts = [
        "用户怀孕了",
        "用户离婚了",
        "用户养了一只白猫,叫小黑",
        "你还记得我的猫吗",
        "今天天气很好，我们去公园散步吧。",
        "我奶奶昨天去世了",
        "我在上海的大学学文学",
        "一三上下不世中主久之也事二五井京人",
        "2024年3月5日下午6点30分,我在123号等你!!!",
        "我妈妈下个月要来北京看我",
        "他说明天一定会给我打电话",
        "私は猫が好きです。",
        "저는 고양이를 좋아해요",
        "Я люблю свою кошку.",
        "Αγαπώ τη γάτα μου",
        "أحب قطتي كثيرا",
        "ฉันรักแมวของฉัน",
        "मुझे अपनी बिल्ली से प्यार है",
        "😀😀😀",
        "",
    ];
    for (text, readability) in texts.iter().zip(readabilities(&texts)) {
        assert!(readability < 0.2, "{text:?}: {readability}");
    }
}

#[test]
fn mixed_text_counts_by_characters() {
    let texts = ["my cat 猫 sleeps", "我在 Berlin 学 Rust", "猫猫猫猫猫猫猫猫 ok"];
    let found = readabilities(&texts);
    assert!((found[0] - 11.0 / 12.0).abs() < 1e-6 && found[0] >= READABLE, "{found:?}");
    assert!((found[1] - 10.0 / 13.0).abs() < 1e-6, "{found:?}");
    assert!((found[2] - 2.0 / 10.0).abs() < 1e-6 && found[2] < READABLE, "{found:?}");
}

/// The reason for readability: for this model, two Chinese sentences with opposite meanings are equal.
#[test]
fn opposite_sentences_that_can_not_be_read_have_the_same_vector() {
    let embeddings = open(1).embed(&["用户怀孕了", "用户离婚了"]).unwrap();
    assert!(cosine(&embeddings[0].vector, &embeddings[1].vector) > 0.999);
    assert!(embeddings.iter().all(|embedding| embedding.readability < READABLE));
}
