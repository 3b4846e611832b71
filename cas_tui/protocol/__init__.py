"""What the files say: every record, op, receipt, request and decision as a typed, frozen value.

Pure: the standard library and orjson, no I/O, no clock, no identifiers made here. Reading is lenient and loses
nothing; writing is strict and canonical. Field names are those of the files.
"""
