"""The vocabulary of dex: the WCL language, the typed commands, their values and their errors.

Pure: nothing here reads a file, opens a connection or knows an engine.
"""
