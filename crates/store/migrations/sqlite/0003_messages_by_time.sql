-- Messages of a scope by time: what was said on a named day is found without going through the log.
CREATE INDEX recall_messages_by_time ON recall_messages (scope, created_at);
