"""The benchmarks: what dex promises about speed and memory, each measured beside a reference in the same run."""
