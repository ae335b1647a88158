-- Recall reads how readable each of some hundred rows is. Beside the vectors that costs a page of the file for each.
CREATE INDEX node_vectors_readability ON node_vectors (seq, embedding_model, readability);
CREATE INDEX message_vectors_readability ON message_vectors (seq, embedding_model, readability);
