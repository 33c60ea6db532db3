-- Who works the Flows of this partition: the node that took it over last, and the epoch it did so in.
CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, node TEXT NOT NULL, url TEXT NOT NULL);
INSERT INTO owner (id, epoch, node, url) VALUES (1, 0, '', '');
