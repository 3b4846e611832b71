"""How one approved op touches the world, and nothing about whether it may.

Only `loop` calls this package. Everything below a workspace is hostile data: paths are confined in the kernel at the
moment of use (SAFETY S1), git is read and written without starting any program (SAFETY S4), and an act that would
meet a state other than the one that was shown refuses (SAFETY E3).
"""
