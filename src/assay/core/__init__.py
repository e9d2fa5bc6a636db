"""What do the words mean? Units, ids, clock, provenance, caveats and errors that every stage shares."""
