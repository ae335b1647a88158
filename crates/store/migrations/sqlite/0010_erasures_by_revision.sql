-- The revision at which a document was erased: its deletion comes among the other changes of a pull in pages.
ALTER TABLE hub_erased_names ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

-- Live versions without their texts: a pull looks at all of them and reads the texts of one page.
CREATE INDEX hub_versions_outlines ON hub_versions (document, state, number, vector, octet_length(content))
    WHERE state <> 'past';
