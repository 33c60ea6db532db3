"""Bulk input: files of any size read line by line, sent in batches, each line succeeding or failing alone."""
