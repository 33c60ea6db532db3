"""Commands on Flows, run inside the process of the test: the same code as a process of its own, many times faster."""
