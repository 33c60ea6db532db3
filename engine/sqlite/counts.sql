-- What runs are counted by.
CREATE INDEX runs_type_status ON runs (type, status);
