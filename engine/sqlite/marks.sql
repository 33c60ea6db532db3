-- What tells the message that a node of a cluster has applied at a position from any other that could be there.
ALTER TABLE journal ADD COLUMN mark INTEGER;
