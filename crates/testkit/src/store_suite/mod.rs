//! The laws of storage, written once for all databases: each test gets an empty store and checks its behaviour.
//!
//! A database runs them with [`store_suite!`](crate::store_suite!) in its tests.

mod access;
mod capture;
mod corrections;
mod entities;
mod erasure_receipts;
mod extraction;
mod forgetting;
mod graph;
mod hub;
mod pages;
mod people;
mod personas;
mod proactive;
mod recall;
mod reconciliation;
mod reflection;
mod sessions;
mod slow_cycle;
mod stage;
mod traces;
mod turns;
mod vectors;
mod withdrawal;

pub use access::{
    a_login_ends_with_its_token_by_hand_or_unused, a_token_is_stored_until_it_is_revoked,
    audit_entries_are_listed_newest_first, replies_of_a_token_are_counted,
};
pub use capture::{
    a_message_is_read_back_unchanged, a_message_of_another_person_keeps_their_name,
    a_reply_is_stored_on_the_channel_of_its_turn, each_channel_has_its_own_open_session,
    length_ends_a_session, silence_ends_a_session, the_log_is_read_backwards,
};
pub use corrections::{
    a_correction_stores_the_old_text_and_can_be_undone, a_pin_is_set_and_removed,
    a_supersession_can_be_undone_and_never_forms_a_cycle, an_approved_memory_is_written_whole,
    texts_find_replaced_values_that_they_state, undoing_a_merge_restores_both_memories,
};
pub use entities::{
    a_merge_loses_nothing_and_is_undone_exactly, an_owner_names_and_describes,
    defect_07_merging_two_settled_entities_has_an_effect, doubts_are_resolved,
    entity_vectors_follow_their_text, erasing_an_entity_includes_those_merged_into_it,
    of_many_links_the_newest_and_the_heaviest_are_returned,
};
pub use erasure_receipts::only_previewed_texts_are_erased;
pub use extraction::{
    a_merged_mention_is_counted, a_name_in_use_is_not_moved, a_refused_memory_waits_for_a_person,
    a_superseded_node_stays_in_history, an_extraction_is_written_once, an_extraction_needs_a_claim,
    earlier_statements_never_replace_later_ones, missing_evidence_is_left_out,
};
pub use forgetting::{
    a_mention_preserves_a_memory_without_its_first_evidence, a_reset_leaves_a_new_persona,
    a_text_is_erased_everywhere, an_edit_of_a_core_block_can_be_forgotten,
    an_erasure_releases_the_claim_of_a_session, erasing_a_message_erases_memories_without_other_evidence,
    names_are_erased_with_the_last_text_that_contains_them, other_evidence_preserves_an_event,
    receipts_and_turns_contain_no_erased_words, thoughts_are_erased_with_their_last_event,
};
pub use graph::{
    a_graph_is_restored_from_an_archive, an_edge_is_changed_and_stays_the_only_one,
    an_edge_is_written_once_and_gains_sources, dependent_memories_are_deleted_with_their_source,
    facts_are_erased_and_restored_with_their_memories, facts_are_extracted_once_from_new_memories,
    names_lead_to_the_diaries_that_mention_them,
};
pub use hub::{
    a_document_keeps_every_version, a_prompt_reads_only_the_documents_that_it_names,
    an_older_erasure_does_not_undo_a_newer_one, chunks_follow_their_document,
    conflicts_stay_open_until_they_are_resolved, hub_transactions_are_atomic,
    labels_instances_and_snapshots_are_stored, the_diary_contains_every_event_once,
};
pub use pages::{
    entities_are_paged_with_the_open_ones_first, nodes_are_paged_by_subject,
    refused_memories_and_edits_are_paged,
};
pub use people::{
    a_persona_is_made_once, a_picture_and_a_voice_are_stored, external_identities_belong_to_one_user,
    facts_are_stored_separately, failed_turns_wait_for_a_person, failed_work_is_listed_in_pages,
};
pub use personas::{
    core_blocks_belong_to_the_right_users, costs_are_stored, personas_and_users_are_stored,
    personas_are_listed_in_pages, the_first_persona_is_written_once,
};
pub use proactive::{
    a_proactive_message_is_stored_with_its_decision, a_trigger_is_used_once,
    muting_and_recent_channels_are_stored,
};
pub use recall::{
    a_word_of_any_length_is_found, all_rows_of_a_phrase_may_come_at_once, events_of_identity_are_found,
    frequencies_follow_added_and_removed_rows, messages_are_outlined_and_found_by_time,
    nodes_are_found_by_entity_and_time, one_read_equals_several_single_ones,
    phrases_are_found_at_their_positions, rows_are_named_by_several_words_at_once,
    rows_are_ranked_and_read_through, scopes_are_separate, touching_counts_a_recall,
};
pub use reconciliation::{
    a_pair_is_asked_about_until_it_is_answered, an_answer_leaves_former_memories_and_what_stays_true,
    an_open_pair_is_found_until_it_is_asked_again,
};
pub use reflection::{
    a_reflection_is_written_once, a_reflection_without_thoughts_only_records_its_time,
    edges_join_thoughts_and_their_events, the_timeline_is_merged,
};
pub use sessions::{
    a_failed_session_can_be_retried, a_person_can_end_a_session, quiet_sessions_end_unless_a_reply_is_due,
    sessions_are_claimed_once_and_in_order, sessions_are_listed,
};
pub use slow_cycle::{
    a_slow_cycle_is_counted, an_expectation_ends_once, entities_are_described_from_their_memories,
    thoughts_about_erased_memories_are_erased, thoughts_about_withdrawn_memories_are_erased,
    transcripts_expire_and_counts_stay,
};
pub use traces::{
    costs_are_added_up, traces_of_sessions_are_stored_for_a_limited_time,
    traces_of_turns_are_stored_for_a_limited_time,
};
pub use turns::{a_failed_turn_can_be_reopened, a_turn_is_pending_until_its_receipt};
pub use vectors::{
    one_model_replaces_another, the_newest_vectors_come_first, vectors_are_numbered_by_their_writing,
    vectors_follow_their_rows,
};
pub use withdrawal::{
    a_second_reply_replaces_the_first, a_yes_is_withdrawn_with_its_question,
    an_edit_erases_memories_of_the_earlier_text, an_edit_releases_the_claim_of_its_session,
    edited_text_is_removed_from_every_memory, erasing_includes_earlier_texts_of_a_message,
    forgetting_records_the_places_of_the_text, memories_with_other_evidence_stay,
    replies_replaced_together_are_erased_with_their_memories, silenced_words_are_known_by_message,
    thoughts_are_orphaned_or_deleted,
};

/// The result of a test.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Defines a test for every law. `$open` is an async function without arguments that returns `Result<(store, guard),
/// _>` with an empty store. The guard, such as a temporary folder, lives as long as the test.
#[macro_export]
macro_rules! store_suite {
    ($open:path) => {
        $crate::store_suite! { $open:
            a_message_is_read_back_unchanged, a_message_of_another_person_keeps_their_name, silence_ends_a_session, length_ends_a_session,
            each_channel_has_its_own_open_session, a_reply_is_stored_on_the_channel_of_its_turn, the_log_is_read_backwards,
            a_turn_is_pending_until_its_receipt, a_failed_turn_can_be_reopened,
            quiet_sessions_end_unless_a_reply_is_due, a_person_can_end_a_session,
            sessions_are_claimed_once_and_in_order, a_failed_session_can_be_retried, sessions_are_listed,
            an_extraction_is_written_once, an_extraction_needs_a_claim, missing_evidence_is_left_out,
            a_superseded_node_stays_in_history, earlier_statements_never_replace_later_ones, a_merged_mention_is_counted, a_name_in_use_is_not_moved,
            a_refused_memory_waits_for_a_person,
            nodes_are_paged_by_subject, entities_are_paged_with_the_open_ones_first, refused_memories_and_edits_are_paged,
            a_correction_stores_the_old_text_and_can_be_undone, texts_find_replaced_values_that_they_state, a_pin_is_set_and_removed,
            undoing_a_merge_restores_both_memories,
            a_supersession_can_be_undone_and_never_forms_a_cycle, an_approved_memory_is_written_whole,
            an_edit_erases_memories_of_the_earlier_text, an_edit_releases_the_claim_of_its_session,
            memories_with_other_evidence_stay, thoughts_are_orphaned_or_deleted,
            a_second_reply_replaces_the_first, replies_replaced_together_are_erased_with_their_memories,
            erasing_includes_earlier_texts_of_a_message,
            silenced_words_are_known_by_message, forgetting_records_the_places_of_the_text, edited_text_is_removed_from_every_memory, a_yes_is_withdrawn_with_its_question,
            a_merge_loses_nothing_and_is_undone_exactly, defect_07_merging_two_settled_entities_has_an_effect,
            doubts_are_resolved, an_owner_names_and_describes, entity_vectors_follow_their_text,
            of_many_links_the_newest_and_the_heaviest_are_returned,
            a_pair_is_asked_about_until_it_is_answered, an_open_pair_is_found_until_it_is_asked_again,
            an_answer_leaves_former_memories_and_what_stays_true,
            a_reflection_is_written_once, a_reflection_without_thoughts_only_records_its_time,
            edges_join_thoughts_and_their_events, the_timeline_is_merged,
            scopes_are_separate, phrases_are_found_at_their_positions, a_word_of_any_length_is_found, frequencies_follow_added_and_removed_rows, all_rows_of_a_phrase_may_come_at_once, messages_are_outlined_and_found_by_time, rows_are_named_by_several_words_at_once, rows_are_ranked_and_read_through, nodes_are_found_by_entity_and_time,
            one_read_equals_several_single_ones, events_of_identity_are_found, the_newest_vectors_come_first,
            touching_counts_a_recall, vectors_follow_their_rows, vectors_are_numbered_by_their_writing,
            one_model_replaces_another,
            personas_and_users_are_stored, personas_are_listed_in_pages, the_first_persona_is_written_once,
            core_blocks_belong_to_the_right_users, costs_are_stored,
            a_persona_is_made_once, facts_are_stored_separately, a_picture_and_a_voice_are_stored,
            external_identities_belong_to_one_user, failed_turns_wait_for_a_person, failed_work_is_listed_in_pages,
            erasing_a_message_erases_memories_without_other_evidence, thoughts_are_erased_with_their_last_event, other_evidence_preserves_an_event, a_mention_preserves_a_memory_without_its_first_evidence,
            erasing_an_entity_includes_those_merged_into_it, names_are_erased_with_the_last_text_that_contains_them, a_text_is_erased_everywhere,
            only_previewed_texts_are_erased, an_erasure_releases_the_claim_of_a_session,
            receipts_and_turns_contain_no_erased_words, a_reset_leaves_a_new_persona,
            an_edit_of_a_core_block_can_be_forgotten,
            a_token_is_stored_until_it_is_revoked, audit_entries_are_listed_newest_first,
            a_login_ends_with_its_token_by_hand_or_unused, replies_of_a_token_are_counted,
            a_slow_cycle_is_counted, transcripts_expire_and_counts_stay, an_expectation_ends_once,
            entities_are_described_from_their_memories, costs_are_added_up,
            traces_of_turns_are_stored_for_a_limited_time, traces_of_sessions_are_stored_for_a_limited_time,
            thoughts_about_erased_memories_are_erased, thoughts_about_withdrawn_memories_are_erased,
            hub_transactions_are_atomic, a_document_keeps_every_version,
            a_prompt_reads_only_the_documents_that_it_names, conflicts_stay_open_until_they_are_resolved,
            labels_instances_and_snapshots_are_stored, chunks_follow_their_document, the_diary_contains_every_event_once,
            an_older_erasure_does_not_undo_a_newer_one,
            an_edge_is_written_once_and_gains_sources, dependent_memories_are_deleted_with_their_source,
            facts_are_extracted_once_from_new_memories, facts_are_erased_and_restored_with_their_memories,
            names_lead_to_the_diaries_that_mention_them, an_edge_is_changed_and_stays_the_only_one,
            a_graph_is_restored_from_an_archive,
            a_proactive_message_is_stored_with_its_decision, a_trigger_is_used_once, muting_and_recent_channels_are_stored
        }
    };
    ($open:path: $($chapter:ident),+) => {$(
        #[tokio::test]
        async fn $chapter() -> $crate::store_suite::Outcome {
            let (store, _guard) = $open().await?;
            $crate::store_suite::$chapter(&store).await
        }
    )+};
}
