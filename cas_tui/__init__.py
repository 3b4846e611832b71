"""cas-tui: a console for supervising live agent runs. This module imports nothing, so that
importing it costs nothing.
"""

__version__ = "0.1.0"
