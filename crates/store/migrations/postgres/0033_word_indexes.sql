-- Each search for a word reads the whole list of rows that the index has not taken in yet. The server's own limit for it is 4 MB,
-- which takes longer to read than everything else.
ALTER INDEX message_words_terms SET (gin_pending_list_limit = 256);
ALTER INDEX node_words_terms SET (gin_pending_list_limit = 256);
ALTER INDEX hub_words_terms SET (gin_pending_list_limit = 256);
ALTER INDEX hub_gram_words_terms SET (gin_pending_list_limit = 256);
SELECT gin_clean_pending_list('message_words_terms');
SELECT gin_clean_pending_list('node_words_terms');
SELECT gin_clean_pending_list('hub_words_terms');
SELECT gin_clean_pending_list('hub_gram_words_terms');
