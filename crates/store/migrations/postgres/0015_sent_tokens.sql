-- What the last whole pull without `since` gave to an instance, as counters: its next pull shows that it arrived.
ALTER TABLE hub_instances ADD COLUMN sent TEXT NOT NULL DEFAULT '{}' CHECK ((sent::json IS NULL) = (sent IS NULL));
