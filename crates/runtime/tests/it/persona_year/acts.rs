//! Actions of people on the memory: edit, delete, erase, correct, approve, merge, undo, write core blocks.

use memory::Scope;
use memory::core_blocks::CoreBlockLabel;
use memory::corrections::ApprovalEdits;
use memory::entities::{Entity, EntityChange, EntityKind};
use memory::forget::{ErasureRequest, ForgetMode, ForgetSummary, Selection};
use memory::identifiers::NodeId;
use memory::messages::{Message, Role};
use memory::nodes::NodeKind;
use memory::ports::{EntityStore as _, MessageStore as _, NodeStore as _, PersonaStore as _};
use memory::text::fold;
use store::without_faults;

use super::laws::ALL_KINDS;
use super::talk;
use super::year::Year;

impl Year {
    /// One random action. Its outcome is checked if there is a rule for it.
    pub(super) async fn act(&mut self) -> Result<(), String> {
        let scope = self.dice.pick(&self.scopes.clone()).clone();
        self.known.touched.insert(scope.clone());
        match self.dice.below(16) {
            0..=2 => self.edit(&scope).await,
            3 => self.delete_message(&scope).await,
            4 | 5 => self.delete_node(&scope).await,
            6 => self.delete_session(&scope).await,
            7 => self.erase_text(&scope).await,
            8 => self.erase_entity(&scope).await,
            9 | 10 => self.correct(&scope).await,
            11 => self.decide(&scope).await,
            12 | 13 => self.change_entity(&scope).await,
            14 => self.write_block(&scope).await,
            _ => return self.recall(&scope).await,
        }
        Ok(())
    }

    async fn messages(&self, scope: &Scope) -> Vec<Message> {
        without_faults(self.house.store.messages_before(scope, None, 60)).await.unwrap()
    }

    async fn nodes(&self, scope: &Scope) -> Vec<NodeId> {
        let nodes = without_faults(self.house.store.nodes_before(scope, &ALL_KINDS, None, 40)).await.unwrap();
        nodes.into_iter().map(|node| node.id).collect()
    }

    async fn edit(&mut self, scope: &Scope) {
        let messages = self.messages(scope).await;
        let by_user: Vec<&Message> = messages.iter().filter(|message| message.role == Role::User).collect();
        let Some(message) = self.dice.any(&by_user) else { return };
        self.lines += 1;
        let content = talk::line(&mut self.dice, "", self.lines);
        *self.known.again.entry(message.session_id).or_default() += 1;
        let edited = self.house.runtime.changes().edit_message(message.id, &content);
        match self.house.unless_it_dies(edited).await {
            Some(Ok(Some(_))) => {
                let known = &mut self.known;
                let unheard = |(of, text): &&mut (Scope, String)| of == scope && *text == message.content;
                match known.said.get_mut(&message.id) {
                    Some(said) => said.content = content,
                    // Its capture was not acknowledged, and the invariants do not know it yet.
                    None => _ = known.unsure.iter_mut().find(unheard).map(|line| line.1 = content),
                }
            }
            Some(_) => {}
            None => _ = self.known.shaken.insert(scope.clone()),
        }
    }

    fn choice(&mut self) -> ForgetMode {
        *self.dice.pick(&[ForgetMode::Orphan, ForgetMode::Cascade])
    }

    async fn delete(&mut self, scope: &Scope, selection: Selection) {
        let choice = self.choice();
        let deleted = self.house.runtime.changes().delete(scope.clone(), selection, choice);
        match self.house.unless_it_dies(deleted).await {
            Some(Ok(taken)) => self.gone(&taken),
            Some(Err(_)) => {}
            None => _ = self.known.shaken.insert(scope.clone()),
        }
    }

    fn gone(&mut self, taken: &ForgetSummary) {
        for message in &taken.messages {
            self.known.said.remove(message);
        }
    }

    async fn delete_message(&mut self, scope: &Scope) {
        let messages = self.messages(scope).await;
        let Some(message) = self.dice.any(&messages) else { return };
        let selection = Selection { messages: [message.id].into(), ..Selection::default() };
        self.delete(scope, selection).await;
    }

    async fn delete_session(&mut self, scope: &Scope) {
        let messages = self.messages(scope).await;
        let Some(message) = self.dice.any(&messages) else { return };
        let selection = Selection { sessions: [message.session_id].into(), ..Selection::default() };
        self.delete(scope, selection).await;
    }

    async fn delete_node(&mut self, scope: &Scope) {
        let nodes = self.nodes(scope).await;
        let Some(node) = self.dice.any(&nodes).copied() else { return };
        let with_messages = self.dice.chance(25);
        let selection = Selection { nodes: [node].into(), with_messages, ..Selection::default() };
        self.delete(scope, selection).await;
    }

    async fn erase(&mut self, scope: &Scope, selection: Selection) {
        let mut request = ErasureRequest {
            scope: scope.clone(),
            selection,
            thoughts: self.choice(),
            selected_by: vec!["a person".to_owned()],
            confirm: None,
        };
        let runtime = self.house.runtime.clone();
        let Some(Ok(shown)) =
            self.house.unless_it_dies(runtime.changes().erase_dry_run(request.clone())).await
        else {
            return;
        };
        request.confirm = Some(shown.id);
        match self.house.unless_it_dies(runtime.changes().erase(request)).await {
            Some(Ok(receipt)) => self.gone(&receipt.taken),
            Some(Err(_)) => {}
            None => _ = self.known.shaken.insert(scope.clone()),
        }
    }

    async fn erase_text(&mut self, scope: &Scope) {
        let text = fold(talk::to_erase(&mut self.dice));
        let with_messages = self.dice.chance(50);
        self.erase(scope, Selection { text: Some(text), with_messages, ..Selection::default() }).await;
    }

    async fn entities(&self, scope: &Scope) -> Vec<Entity> {
        without_faults(self.house.store.entities(scope, 100)).await.unwrap()
    }

    async fn erase_entity(&mut self, scope: &Scope) {
        let entities = self.entities(scope).await;
        let Some(entity) = self.dice.any(&entities) else { return };
        let selection = Selection { entities: [entity.id].into(), ..Selection::default() };
        self.erase(scope, selection).await;
    }

    async fn correct(&mut self, scope: &Scope) {
        let nodes = self.nodes(scope).await;
        let Some(node) = self.dice.any(&nodes).copied() else { return };
        self.lines += 1;
        let text = talk::corrected(&mut self.dice, self.lines);
        let (runtime, dice) = (self.house.runtime.clone(), self.dice.below(4));
        let pinned = self.dice.chance(60);
        let act = async {
            match dice {
                0 | 1 => _ = runtime.changes().correct_node(node, &text).await,
                2 => _ = runtime.changes().undo_node(node).await,
                _ => _ = runtime.changes().pin_node(node, pinned).await,
            }
        };
        self.house.unless_it_dies(act).await;
    }

    async fn decide(&mut self, scope: &Scope) {
        let rejected = without_faults(self.house.store.rejected(scope, None, 20)).await.unwrap();
        let Some(memory) = self.dice.any(&rejected) else { return };
        let runtime = self.house.runtime.clone();
        let approves = self.dice.chance(60);
        let act = async {
            if approves {
                _ = runtime.changes().approve_rejected(scope, memory.id, ApprovalEdits::default()).await;
            } else {
                _ = runtime.changes().dismiss_rejected(memory.id).await;
            }
        };
        self.house.unless_it_dies(act).await;
    }

    async fn change_entity(&mut self, scope: &Scope) {
        let entities = self.entities(scope).await;
        let (one, other) = (self.dice.any(&entities).cloned(), self.dice.any(&entities).cloned());
        let (Some(one), Some(other)) = (one, other) else { return };
        let name = talk::name(&mut self.dice).to_owned();
        let runtime = self.house.runtime.clone();
        let change = match self.dice.below(7) {
            0 | 1 => Some(EntityChange::Merge { other: other.id }),
            2 => Some(EntityChange::Separate { other: other.id }),
            3 => Some(EntityChange::Rename { name: name.clone() }),
            4 => Some(EntityChange::Describe { description: format!("{name}, as the owner knows") }),
            _ => None,
        };
        let creates = self.dice.chance(15);
        let act = async {
            match change {
                Some(change) => _ = runtime.changes().change_entity(scope, one.id, change).await,
                None if creates => {
                    let kind = EntityKind::Person;
                    _ = runtime
                        .changes()
                        .create_entity(scope, format!("{name} 二世"), kind, None, vec![name])
                        .await;
                }
                None => _ = runtime.changes().undo_entity_change(scope, one.id).await,
            }
        };
        self.house.unless_it_dies(act).await;
    }

    /// Writes L1 like a person. Bypasses the faults, since the result must be known.
    async fn write_block(&mut self, scope: &Scope) {
        self.lines += 1;
        let text = format!("  Block {}\n\ttrailing blanks stay.  ", self.lines);
        let label = *self.dice.pick(&CoreBlockLabel::ALL);
        let (store, now) = (&self.house.store, self.house.now());
        without_faults(store.write_core_block(scope, label, &text, "a person", now)).await.unwrap();
        for scope in &self.scopes {
            let blocks = without_faults(store.core_blocks(scope)).await.unwrap();
            self.known.blocks.insert(scope.clone(), blocks);
        }
    }

    /// Recalls, and checks that nothing belongs to another scope.
    async fn recall(&mut self, scope: &Scope) -> Result<(), String> {
        self.lines += 1;
        let text = talk::line(&mut self.dice, "", self.lines);
        let runtime = self.house.runtime.clone();
        let recalled =
            self.house.unless_it_dies(runtime.recall().candidates_for(scope.clone(), text, None)).await;
        let Some(Ok(recalled)) = recalled else { return Ok(()) };
        let pinned = &recalled.pinned;
        let shown = [&pinned.about_user, &pinned.about_self, &pinned.intentions, &pinned.expectations];
        let nodes = shown.into_iter().flatten().chain(recalled.nodes.iter().map(|scored| &scored.node));
        for node in nodes {
            if super::laws::scope_of_node(&self.house, node.id).await.as_ref() != Some(scope) {
                return Err(format!("recall for {scope:?} brings {:?} of another memory", node.description));
            }
            if node.superseded_by.is_some() {
                return Err(format!("recall brings what was replaced: {:?}", node.description));
            }
            if node.kind == NodeKind::Expectation && super::laws::is_settled(&self.house, node.id).await {
                return Err(format!("recall brings what is expected no more: {:?}", node.description));
            }
        }
        for message in recalled.passages.iter().flat_map(|passage| &passage.messages) {
            if message.scope != *scope {
                return Err(format!("recall for {scope:?} brings words of another memory"));
            }
        }
        Ok(())
    }
}
