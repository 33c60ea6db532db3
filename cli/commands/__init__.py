"""One module for each command; the path of the module is the path of the command."""
