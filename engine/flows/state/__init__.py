"""What runs of Flows hold, and how journaled records change it. Nothing here runs a handler."""
