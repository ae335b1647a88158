use crate::model;
use embed::LocalEmbedder;
use memory::ports::Embedder;
#[tokio::test]
async fn names() {
    let embedder = LocalEmbedder::new(model::directory(), 1);
    let pairs = [
        ("Sam", "Samantha"),
        ("Sam", "Sammy"),
        ("Tom", "Tim"),
        ("Tom", "Tommy"),
        ("Anna", "Ana"),
        ("Anna", "Anne"),
        ("Mary", "Marie"),
        ("John", "Jon"),
        ("Michael", "Mike"),
        ("Katherine", "Kate"),
        ("Dr. Smith", "Dr. Jones"),
        ("Uncle Tom", "Aunt Tom"),
        ("Berlin", "Munich"),
        ("Google", "Googol"),
        ("Tom Brown", "Tom Braun"),
        ("Luna", "Lina"),
        ("Biscuit", "Biscuits"),
        ("St. Mary's Hospital", "St. Mary Hospital"),
        ("Room 12", "Room 13"),
        ("University of Leeds", "Leeds University"),
        ("Ines", "Inês"),
        ("Rex", "Max"),
    ];
    for (a, b) in pairs {
        let e = embedder.embed(&[a.to_owned(), b.to_owned()]).await.unwrap();
        println!(
            "{a:20} {b:20} {:.3} {:.2} {:.2}",
            model::cosine(&e[0].vector, &e[1].vector),
            e[0].readability,
            e[1].readability
        );
    }
}
