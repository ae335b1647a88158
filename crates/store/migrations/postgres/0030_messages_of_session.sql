-- SQLite's indexes end in the number of the row. Here it has to be named, so that the neighbours of a message in a long session are
-- found without reading all of it.
DROP INDEX recall_messages_of_session;
CREATE INDEX recall_messages_of_session ON recall_messages (session_id, seq);
