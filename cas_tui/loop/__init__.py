"""Whether and when: the eight phases, a file a phase, and the host that carries them.

The only package that writes the agent zone on our side, and the only one that lets an effect start. It shows nothing
and knows no terminal; what it did comes back to the screen as files and ledger rows.
"""
