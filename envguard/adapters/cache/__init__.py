"""The compile cache, looked at from outside: no torch imported, nothing unpickled, no GPU needed."""
