"""Reads what is there: files of a memory root and its ledger, as events. Writes nothing, anywhere.

Nothing here judges what it reads and nothing here trusts it: a bad line, a missing file or a swapped symbolic link is
something to report. Importing this package loads no watcher and no database.
"""
