//! A fact that is stated twice is one memory; two facts are never merged, whatever their vectors.

use std::sync::Arc;

use memory::nodes::NodeKind;
use memory::ports::NodeStore;
use testkit::WordHashEmbedder;

use crate::embedders::ConstantEmbedder;
use crate::workshop::Workshop;

async fn remembered(workshop: &Workshop) -> Vec<(String, u32)> {
    let nodes = workshop.nodes(NodeKind::Event).await;
    nodes.into_iter().map(|node| (node.description, node.mention_count)).collect()
}

#[tokio::test]
async fn two_things_stay_two_although_their_vectors_are_the_same() {
    let pairs = [
        ("用户怀孕了", "用户离婚了"),
        ("用户喜欢猫", "用户讨厌狗"),
        ("用户喜欢猫", "用户不喜欢猫"),
        ("用户养了一只猫,名字叫小黑,今年三岁", "用户养了一只狗,名字叫小黑,今年三岁"),
        (
            "My mother is in the hospital in the old town with a broken leg since Monday",
            "My father is in the hospital in the old town with a broken leg since Monday",
        ),
        ("I have two sons who study law in the north", "I have three sons who study law in the north"),
        ("用户喜欢在周末爬山和游泳", "用户喜欢在周末爬山和游泳、下棋"),
    ];
    for readability in [0.0, 1.0] {
        for (first, second) in pairs {
            let mut workshop = Workshop::with(Some(Arc::new(ConstantEmbedder { readability }))).await;
            // Each message is sent to the model, however short.
            workshop.settings.trivial_user_terms = 0;
            workshop.remember(first, 3).await;
            workshop.remember(second, 3).await;
            let expected = [(first.to_owned(), 1), (second.to_owned(), 1)];
            assert_eq!(remembered(&workshop).await, expected, "readability {readability}");
        }
    }
}

#[tokio::test]
async fn repeated_statements_are_counted_with_their_new_quotes() {
    let text = "I have a white cat named Shadow";
    let workshop = Workshop::with(Some(Arc::new(WordHashEmbedder::new()))).await;
    let first = workshop.remember(text, 2).await;
    workshop.remember(text, 3).await;
    assert_eq!(remembered(&workshop).await, [(text.to_owned(), 2)]);
    let evidence = workshop.store.node(first.id).await.unwrap().unwrap().evidence;
    assert_eq!(evidence.len(), 2, "the words of both talks");
    assert_ne!(evidence[0].message_id, evidence[1].message_id);
    workshop.remember(text, -3).await;
    assert_eq!(remembered(&workshop).await.len(), 2, "the feeling has turned");
}

#[tokio::test]
async fn without_readable_vectors_what_is_said_again_is_kept_twice() {
    for embedder in [None, Some(Arc::new(ConstantEmbedder { readability: 0.5 }) as _)] {
        let workshop = Workshop::with(embedder).await;
        workshop.remember("我养了只白猫,叫小黑", 2).await;
        workshop.remember("我养了只白猫,叫小黑", 2).await;
        assert_eq!(
            remembered(&workshop).await.len(),
            2,
            "a false merge loses a memory, a double one does not"
        );
    }
}
