"""The command line: parse, call one entry, print, exit."""
