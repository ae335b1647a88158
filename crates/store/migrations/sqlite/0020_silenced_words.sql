-- Of words whose memory was forgotten: whether they are not to be brought up again either. The message stays in the conversation.
ALTER TABLE forgotten_spans ADD COLUMN silenced INTEGER NOT NULL DEFAULT 0;
