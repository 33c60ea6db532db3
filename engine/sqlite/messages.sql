-- Where a record comes from in a cluster's stream, by the sequence there: a message may have several records.
ALTER TABLE journal ADD COLUMN message INTEGER;
