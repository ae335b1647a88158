//! Lookups of words in the texts of rows.

use memory::ports::*;

use super::*;

impl FakeStore {
    pub(super) async fn hits_of(
        &self,
        scope: &Scope,
        corpus: Corpus,
        phrases: &[Phrase],
        limit: u32,
    ) -> Result<Vec<PhraseHits>, StoreError> {
        let data = self.data();
        let of_phrase = |phrase: &Phrase| {
            let wanted = format!(" {} ", phrase.0.join(" "));
            let rows = data.rows(scope, corpus);
            let mut seqs: Vec<i64> = rows
                .filter(|(_, terms)| format!(" {terms} ").contains(&wanted))
                .map(|(seq, _)| seq)
                .collect();
            seqs.sort_unstable_by(|a, b| b.cmp(a));
            let document_frequency = seqs.len() as u64;
            seqs.truncate(limit as usize);
            PhraseHits { document_frequency, seqs }
        };
        Ok(phrases.iter().map(of_phrase).collect())
    }

    pub(super) fn rows_named(&self, scope: &Scope, corpus: Corpus, wanted: &[RowSelection]) -> Vec<Vec<i64>> {
        let data = self.data();
        let holds = |terms: &str, group: &Vec<Phrase>| {
            let terms = format!(" {terms} ");
            group.iter().any(|phrase| terms.contains(&format!(" {} ", phrase.0.join(" "))))
        };
        let named = |one: &RowSelection| {
            let (first, last) = one.span.unwrap_or((i64::MIN, i64::MAX));
            let rows = data.rows(scope, corpus).filter(|(seq, _)| (first..=last).contains(seq));
            let rows = rows.filter(|(_, terms)| one.all_of.iter().all(|group| holds(terms, group)));
            let mut seqs: Vec<i64> = rows.map(|(seq, _)| seq).collect();
            seqs.sort_unstable_by(|a, b| b.cmp(a));
            seqs.truncate(one.limit as usize);
            seqs
        };
        wanted.iter().map(named).collect()
    }
}
