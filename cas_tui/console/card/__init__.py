"""The decision card: what is asked, what was promised, the exact change, and the guards before a decision leaves it.

Nothing here acts: a card posts `Decide` and is told what came of it (messages).
"""
