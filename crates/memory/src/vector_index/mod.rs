//! Exact nearest neighbours in one scope: an int8 matrix in memory finds candidates, and the stored f32 vectors
//! decide.
//!
//! A matrix is filled on demand and updated before each search with the vectors written since the last one. So
//! writers, in this process or another, need not notify it. Deleted rows disappear when the store no longer returns
//! their vectors; [`VectorIndex::forget`] removes them from memory at once.

mod matrix;
mod registers;

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

pub use matrix::Matrix;

use parking_lot::{Mutex, RwLock};

use crate::ports::{Corpus, StoreError, StoredVector, VectorIndexStore};
use crate::scope::{PersonaId, Scope};

/// Minimum readability of a usable vector: with an English embedder 用户怀孕了 and 用户离婚了 have cosine 1.
pub const READABILITY_MIN: f32 = 0.6;
/// Default memory of all matrices together, in bytes: five scopes of 100,000 rows.
pub const BUDGET_DEFAULT: usize = 256 * 1024 * 1024;
/// Maximum messages that are compared by vector, the newest. Older ones are found by their words.
const MESSAGES_MAX: usize = 100_000;
/// Messages above the maximum that are tolerated before the oldest are dropped, so that this is not done at each
/// search.
const MESSAGES_SLACK: usize = 10_000;
/// Vectors per page. A page is 3 MB, which a reader copies within a few milliseconds; other reads run between pages.
const VECTORS_PER_PAGE: u32 = 2_000;
/// Approximate candidates for each wanted row; the error of the int8 order is far smaller.
const OVERSAMPLING: usize = 2;
/// Minimum approximate candidates: for few wanted rows, the multiple would be too few.
const ROUGH_CANDIDATES_MIN: usize = 64;
/// Number of partial sums of a cosine; with a single one, each addition would wait for the one before.
const COSINE_LANES: usize = 16;
/// Maximum searches if some of the found rows turn out to be deleted. A large deletion may be in progress.
const SEARCHES_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ShardKey {
    scope: Scope,
    corpus: Corpus,
    fingerprint: String,
}

/// The vectors of one scope, corpus and model.
#[derive(Debug, Default)]
struct Shard {
    matrix: Matrix,
    /// All vectors up to this revision are included.
    revision: i64,
    /// Counts removals: a page that was read before a removal is discarded.
    removals: u64,
    /// Removed rows. The new vector of a changed text may have been inserted before the removal, so these rows are
    /// read again.
    doubtful: BTreeSet<i64>,
}

#[derive(Debug)]
struct LoadedShard {
    /// Searches share the lock. It is never held while the store is read; afterwards the result is checked against
    /// `removals`.
    shard: Arc<RwLock<Shard>>,
    last_used: u64,
}

#[derive(Debug, Default)]
struct Shards {
    by_key: HashMap<ShardKey, LoadedShard>,
    uses: u64,
}

/// Vector index of many scopes within a memory budget; the least recently used scope is dropped first. A scope larger
/// than the budget stays while it is the last one used.
#[derive(Debug)]
pub struct VectorIndex {
    budget: usize,
    /// Not locked during a search, so that one scope delays no other.
    shards: Mutex<Shards>,
}

impl Default for VectorIndex {
    fn default() -> Self {
        Self::new(BUDGET_DEFAULT)
    }
}

impl VectorIndex {
    /// Creates an empty index that takes at most about `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self { budget, shards: Mutex::default() }
    }

    /// The live rows nearest to `query` (unit length), as (number, exact cosine), best first, of equal ones the
    /// higher number first, at most `wanted`. Rows whose text the model can't read are excluded. The caller checks if
    /// the query itself was readable.
    pub async fn nearest(
        &self,
        store: &dyn VectorIndexStore,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
        query: &[f32],
        wanted: usize,
    ) -> Result<Vec<(i64, f32)>, StoreError> {
        let loaded = self.load(store, scope, corpus, fingerprint).await?;
        let found = loaded.exactly_nearest(store, &[query], f32::NEG_INFINITY, wanted).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Loads the present vectors of a scope, for a caller that compares many and reads exact ones from the store only
    /// if needed.
    pub async fn load(
        &self,
        store: &dyn VectorIndexStore,
        scope: &Scope,
        corpus: Corpus,
        fingerprint: &str,
    ) -> Result<LoadedVectors, StoreError> {
        let key = ShardKey { scope: scope.clone(), corpus, fingerprint: fingerprint.to_owned() };
        let shard = self.shard_in_use(&key);
        catch_up(store, &key, &shard).await?;
        self.evict_over_budget(&key);
        Ok(LoadedVectors { key: Arc::new(key), shard })
    }

    /// Removes rows from memory at once, for every model, as part of an erasure.
    pub fn forget(&self, scope: &Scope, corpus: Corpus, seqs: &[i64]) {
        let shards = self.shards.lock();
        for (_, loaded) in shards.by_key.iter().filter(|(key, _)| key.scope == *scope && key.corpus == corpus)
        {
            loaded.shard.write().remove(seqs.iter().copied());
        }
    }

    /// Drops the matrices of all models but this one.
    pub fn retain_only(&self, fingerprint: &str) {
        self.shards.lock().by_key.retain(|key, _| key.fingerprint == fingerprint);
    }

    /// Drops all vectors of a persona, when it is reset.
    pub fn forget_persona(&self, persona: &PersonaId) {
        self.shards.lock().by_key.retain(|key, _| key.scope.persona != *persona);
    }

    /// Approximate memory that the matrices take, in bytes.
    pub fn bytes(&self) -> usize {
        self.shards.lock().by_key.values().map(|loaded| loaded.shard.read().matrix.bytes()).sum()
    }

    fn shard_in_use(&self, key: &ShardKey) -> Arc<RwLock<Shard>> {
        let mut shards = self.shards.lock();
        shards.uses += 1;
        let uses = shards.uses;
        let loaded = shards
            .by_key
            .entry(key.clone())
            .or_insert_with(|| LoadedShard { shard: Arc::default(), last_used: 0 });
        loaded.last_used = uses;
        Arc::clone(&loaded.shard)
    }

    /// Drops the least recently used matrices, never `current`.
    fn evict_over_budget(&self, current: &ShardKey) {
        let mut shards = self.shards.lock();
        let mut sizes: Vec<(u64, ShardKey, usize)> = shards
            .by_key
            .iter()
            .map(|(key, loaded)| (loaded.last_used, key.clone(), loaded.shard.read().matrix.bytes()))
            .collect();
        sizes.sort_unstable_by_key(|(last_used, _, _)| *last_used);
        let mut total: usize = sizes.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, key, bytes) in sizes {
            if total <= self.budget {
                break;
            }
            if key != *current {
                shards.by_key.remove(&key);
                total -= bytes;
            }
        }
    }
}

/// The vectors of one scope, corpus and model, compared by their codes only. They stay in memory while this exists.
#[derive(Clone, Debug)]
pub struct LoadedVectors {
    key: Arc<ShardKey>,
    shard: Arc<RwLock<Shard>>,
}

impl LoadedVectors {
    /// Numbers of the rows nearest to `query` (unit length), best first, of equal ones the higher number first, at
    /// most `wanted`. The order is by codes, with an error below a hundredth. Rows deleted from the store meanwhile
    /// may be included (see [`Self::remove`]); rows whose text the model can't read are not.
    pub fn nearest(&self, query: &[f32], wanted: usize) -> Vec<i64> {
        self.shard.read().matrix.nearest(query, wanted)
    }

    /// [`Self::nearest`] for each of these vectors, which are compared together.
    pub fn nearest_to_each(&self, queries: &[&[f32]], wanted: usize) -> Vec<Vec<i64>> {
        self.shard.read().matrix.nearest_to_each(queries, wanted)
    }

    /// For each of `queries` (unit length) the nearest live rows, as (number, exact cosine), best first, of equal
    /// ones the higher number first, at most `wanted`. Rows below `cosine_min` may be left out; where the codes show
    /// that, the store is not asked for their vectors.
    pub async fn exactly_nearest(
        &self,
        store: &dyn VectorIndexStore,
        queries: &[&[f32]],
        cosine_min: f32,
        wanted: usize,
    ) -> Result<Vec<Vec<(i64, f32)>>, StoreError> {
        let ShardKey { scope, corpus, fingerprint } = &*self.key;
        let mut found = Vec::new();
        for _ in 0..SEARCHES_MAX {
            let mut rough = self.nearest_to_each(queries, (wanted * OVERSAMPLING).max(ROUGH_CANDIDATES_MIN));
            for (rough, query) in rough.iter_mut().zip(queries) {
                let reaches =
                    |cosine: Option<RangeInclusive<f32>>| cosine.is_some_and(|it| *it.end() >= cosine_min);
                let mut reaching = self.cosine_ranges(query, rough).into_iter().map(reaches);
                rough.retain(|_| reaching.next().unwrap_or(false));
            }
            let seqs: Vec<i64> = BTreeSet::from_iter(rough.iter().flatten().copied()).into_iter().collect();
            if seqs.is_empty() {
                return Ok(rough.into_iter().map(|_| Vec::new()).collect());
            }
            let exact = store.vectors_numbered(scope, *corpus, fingerprint, &seqs).await?;
            let exact: HashMap<i64, Vec<f32>> =
                exact.into_iter().map(|stored| (stored.seq, stored.vector)).collect();
            found = rough.iter().zip(queries).map(|(rough, query)| rescore(rough, &exact, query)).collect();
            if exact.len() == seqs.len() {
                break;
            }
            self.remove(seqs.into_iter().filter(|seq| !exact.contains_key(seq)));
        }
        found.iter_mut().for_each(|found| found.truncate(wanted));
        Ok(found)
    }

    /// For each row, the range that contains its cosine with `query` (unit length); `None` for a row without a vector
    /// or with one of an unreadable text.
    pub fn cosine_ranges(&self, query: &[f32], seqs: &[i64]) -> Vec<Option<RangeInclusive<f32>>> {
        self.shard.read().matrix.products(query, seqs)
    }

    /// Removes rows that are no longer in the store.
    pub fn remove(&self, seqs: impl Iterator<Item = i64>) {
        self.shard.write().remove(seqs);
    }
}

/// Fills an empty shard of messages with the newest, so that nothing older is read. False if rows were erased
/// meanwhile, which must not come back.
async fn fill_with_newest(
    store: &dyn VectorIndexStore,
    key: &ShardKey,
    shard: &RwLock<Shard>,
) -> Result<bool, StoreError> {
    let removals = shard.read().removals;
    // Read first: later writes have a greater revision, and are read afterwards.
    let revision = store.last_revision(&key.scope, key.corpus, &key.fingerprint).await?;
    if revision == 0 {
        return Ok(true);
    }
    let mut newest = Shard { revision, removals, ..Shard::default() };
    let mut before = None;
    while newest.matrix.len() < MESSAGES_MAX {
        let page =
            store.newest_vectors(&key.scope, key.corpus, &key.fingerprint, before, VECTORS_PER_PAGE).await?;
        page.iter().for_each(|stored| insert_vector(&mut newest.matrix, stored));
        before = page.last().map(|stored| stored.seq);
        if page.len() < VECTORS_PER_PAGE as usize {
            break;
        }
    }
    let mut shard = shard.write();
    // Another search may have filled it.
    if shard.removals == removals && shard.revision == 0 {
        *shard = newest;
    }
    Ok(shard.removals == removals)
}

/// Inserts doubtful rows again if they have a vector. Others get theirs later, or are deleted.
async fn reload_doubtful_rows(
    store: &dyn VectorIndexStore,
    key: &ShardKey,
    shard: &RwLock<Shard>,
) -> Result<(), StoreError> {
    let (doubtful, removals) = {
        let shard = shard.read();
        (Vec::from_iter(shard.doubtful.iter().copied()), shard.removals)
    };
    if doubtful.is_empty() {
        return Ok(());
    }
    let there = store.vectors_numbered(&key.scope, key.corpus, &key.fingerprint, &doubtful).await?;
    let mut shard = shard.write();
    // Rows that were removed meanwhile must not come back with an earlier page.
    if shard.removals == removals {
        there.iter().for_each(|stored| insert_vector(&mut shard.matrix, stored));
        shard.doubtful.clear();
    }
    Ok(())
}

/// Inserts all vectors that were written since the last call.
async fn catch_up(
    store: &dyn VectorIndexStore,
    key: &ShardKey,
    shard: &RwLock<Shard>,
) -> Result<(), StoreError> {
    reload_doubtful_rows(store, key, shard).await?;
    let is_new = || key.corpus == Corpus::Messages && shard.read().revision == 0;
    while is_new() {
        if fill_with_newest(store, key, shard).await? && is_new() {
            return Ok(());
        }
    }
    loop {
        let (after, removals) = {
            let shard = shard.read();
            (shard.revision, shard.removals)
        };
        let page =
            store.vectors_after(&key.scope, key.corpus, &key.fingerprint, after, VECTORS_PER_PAGE).await?;
        let complete = page.len() < VECTORS_PER_PAGE as usize;
        if !page.is_empty() {
            let mut shard = shard.write();
            if shard.removals != removals {
                continue;
            }
            shard.insert_page(&page);
            if key.corpus == Corpus::Messages && shard.matrix.len() > MESSAGES_MAX + MESSAGES_SLACK {
                shard.matrix.retain_newest(MESSAGES_MAX);
            }
        }
        if complete {
            return Ok(());
        }
    }
}

impl Shard {
    fn remove(&mut self, seqs: impl Iterator<Item = i64>) {
        for seq in seqs {
            self.removals += 1;
            self.matrix.remove(seq);
            self.doubtful.insert(seq);
        }
    }

    /// Inserts a page. Two searches may read the same one at the same time; known rows are skipped.
    fn insert_page(&mut self, page: &[StoredVector]) {
        page.iter()
            .filter(|stored| stored.revision > self.revision)
            .for_each(|stored| insert_vector(&mut self.matrix, stored));
        self.revision = page.iter().map(|stored| stored.revision).fold(self.revision, i64::max);
    }
}

/// Inserts a vector, unless the model could not read its text.
fn insert_vector(matrix: &mut Matrix, stored: &StoredVector) {
    if stored.readability < READABILITY_MIN {
        matrix.remove(stored.seq);
    } else {
        matrix.insert(stored.seq, &stored.vector);
    }
}

/// The live rows with their exact cosines.
fn rescore(rough: &[i64], exact: &HashMap<i64, Vec<f32>>, query: &[f32]) -> Vec<(i64, f32)> {
    let there = rough.iter().filter_map(|seq| Some((cosine(exact.get(seq)?, query), *seq)));
    let mut found: Vec<(f32, i64)> = there.collect();
    found.sort_unstable_by(matrix::best_first);
    found.into_iter().map(|(cosine, seq)| (seq, cosine)).collect()
}

/// Cosine of two unit vectors; 0 if their lengths differ.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    let (a_lanes, a_rest) = a.as_chunks::<COSINE_LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<COSINE_LANES>();
    let mut sums = [0.0f32; COSINE_LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..COSINE_LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}
