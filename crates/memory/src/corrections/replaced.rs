//! What is no longer current: values that a newer memory or a person's text replaced.

use jiff::Timestamp;

use crate::entities::{fold_name, name_stands_in};
use crate::identifiers::{EntityId, NodeId, SessionId};
use crate::text::is_unspaced;

/// What is about to be shown, and is looked at for values that are no longer current.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplacedQuery {
    /// Numbers of messages.
    pub messages: Vec<i64>,
    /// Current nodes whose former values are asked for.
    pub nodes: Vec<NodeId>,
    /// Numbers of nodes that cite events: thoughts and expectations.
    pub citing: Vec<i64>,
    /// Entities whose descriptions would be shown.
    pub entities: Vec<EntityId>,
}

/// The values that are no longer current.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replaced {
    /// The scope's latest ones, those of the messages, and those of the nodes; the latest change first.
    pub values: Vec<ReplacedValue>,
    /// Where in the messages such a value was said.
    pub spans: Vec<ReplacedSpan>,
    /// Which of the citing nodes cite an event that was replaced after they were written, each with that event.
    pub outdated: Vec<(i64, NodeId)>,
    /// Which of the entities have a description from before a value of theirs was replaced.
    pub descriptions: Vec<EntityId>,
}

/// Words of a message from which a node was written that is no longer current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacedSpan {
    /// Number of the message.
    pub message: i64,
    /// Where the words start, in characters.
    pub start: u32,
    /// Where they end, in characters, exclusive.
    pub end: u32,
    /// The node that was written from them.
    pub node: NodeId,
}

/// A text that a memory had, and what is current instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedValue {
    /// The node that said it.
    pub node: NodeId,
    /// What it said.
    pub text: String,
    /// When it was written.
    pub since: Timestamp,
    /// When it was replaced.
    pub until: Timestamp,
    /// The node at the end of the line, which is current.
    pub current: NodeId,
    /// What that one says.
    pub current_text: String,
    /// It never was so: a person corrected it, or said that it was wrong. Else it was so until then.
    pub mistaken: bool,
    /// The session that it came from.
    pub session: Option<SessionId>,
    /// Names in it that the current text does not have, folded.
    pub names: Vec<String>,
    /// What it said, folded, without a full stop.
    pub folded: String,
}

impl ReplacedValue {
    /// Whether a text says the former value: a name of it that is no longer current, or all of it.
    pub fn is_said_in(&self, text: &str) -> bool {
        self.is_said_in_folded(text, &fold_name(text))
    }

    /// [`Self::is_said_in`] with the text as [`fold_name`] gives it, for many values.
    pub(crate) fn is_said_in_folded(&self, text: &str, folded: &str) -> bool {
        text != self.current_text
            && self.names.iter().chain([&self.folded]).any(|said| name_stands_in(folded, said))
    }
}

/// A former text as [`ReplacedValue::folded`] has it.
pub fn folded_value(text: &str) -> String {
    fold_name(text.trim_end_matches(['.', '。']))
}

/// Names that stand in the former text and not in the current one, folded: those of its entities, and words that are written
/// with a capital or with digits inside a sentence. Chinese shows no names: there it is what changed behind a word that names.
pub fn lost_names<'a>(
    former: &'a str,
    current: &str,
    entities: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let (before, now) = (fold_name(former), fold_name(current));
    let words = former.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let written = words.skip(1).filter(|word| {
        word.is_ascii()
            && word.len() > 1
            && word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
    });
    let mut names: Vec<String> = entities.chain(written).map(fold_name).collect();
    names.extend(changed_name(&before, &now));
    names.retain(|name| name_stands_in(&before, name) && !name_stands_in(&now, name));
    names.sort();
    names.dedup();
    names
}

/// Words after which a name or a place follows.
const NAMING: [char; 8] = ['叫', '在', '是', '姓', '名', '为', '到', '去'];
/// Longest Chinese name that is recognised by what changed, in characters.
const CHANGED_LENGTH_MAX: usize = 6;

/// What the former text has in place of something else in the current one, if both are the same around it and a word
/// that names is before it: 小黑 of 用户的猫叫小黑 and 用户的猫叫小白.
fn changed_name(former: &str, current: &str) -> Option<String> {
    let (former, current): (Vec<char>, Vec<char>) = (former.chars().collect(), current.chars().collect());
    let same = former.iter().zip(&current).take_while(|(a, b)| a == b).count();
    let start = former.get(..same)?.iter().rposition(|character| NAMING.contains(character))? + 1;
    let (former, current) = (former.get(start..)?, current.get(start..)?);
    let end = former.iter().rev().zip(current.iter().rev()).take_while(|(a, b)| a == b).count();
    let changed = former.get(..former.len().saturating_sub(end))?;
    let is_name =
        (2..=CHANGED_LENGTH_MAX).contains(&changed.len()) && changed.iter().all(|c| is_unspaced(*c));
    is_name.then(|| changed.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, current: &str, entities: &[&str]) -> ReplacedValue {
        ReplacedValue {
            node: NodeId(uuid::Uuid::from_u128(1)),
            text: text.to_owned(),
            since: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            current: NodeId(uuid::Uuid::from_u128(2)),
            current_text: current.to_owned(),
            mistaken: false,
            session: None,
            names: lost_names(text, current, entities.iter().copied()),
            folded: folded_value(text),
        }
    }

    #[test]
    fn former_value_is_recognised_by_its_name() {
        let english = value("The user lives in Berlin", "The user moved to Lyon", &[]);
        assert_eq!(english.names, ["berlin"]);
        assert!(english.is_said_in("How is Berlin today?"));
        assert!(!english.is_said_in("Lyon is where they live"));
        let chinese = value("用户养了一只猫，叫小黑", "用户的猫现在叫小白", &["小黑"]);
        assert!(chinese.is_said_in("小黑今天怎么样"));
        assert!(!chinese.is_said_in("小白今天怎么样"));
    }

    #[test]
    fn chinese_value_is_recognised_by_what_changed() {
        let renamed = value("用户的猫叫小黑", "用户的猫叫小白", &[]);
        assert_eq!(renamed.names, ["小黑"]);
        assert!(renamed.is_said_in("我养了一只猫，叫小黑") && !renamed.is_said_in("叫小白"));
        assert_eq!(value("用户住在柏林的小公寓", "用户住在里昂的小公寓", &[]).names, ["柏林"]);
        assert!(value("用户每天喝咖啡", "用户每天喝茶", &[]).names.is_empty());
    }

    #[test]
    fn value_without_a_name_is_recognised_by_all_of_it() {
        let value = value("用户不喝咖啡", "用户现在喝咖啡了", &[]);
        assert!(value.names.is_empty());
        assert!(value.is_said_in("他以前说过用户不喝咖啡"));
        assert!(!value.is_said_in("咖啡很好喝"));
    }
}
