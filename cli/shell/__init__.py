"""The interactive shell (spec: P-01, P-02). Nothing outside imports it before it is opened."""
