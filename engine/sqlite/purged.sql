-- Runs that were purged: nobody finds them any more, and what they held is erased in bounded passes.
CREATE TABLE purged (run INTEGER PRIMARY KEY);
