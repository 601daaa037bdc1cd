"""The guard of a training process: ``from envguard.runtime import guard``.

Standard library and the process's own torch only, Python 3.9 and later; nothing of envguard is imported.
"""
