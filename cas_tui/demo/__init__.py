"""The scripted agent of `cas-tui demo`: a program of its own that speaks only files.

Standard library only, and nothing of the rest of this project: it is an agent as any other could be, and what it does
can be read as an example of the formats.
"""
