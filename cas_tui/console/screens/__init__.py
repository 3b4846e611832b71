"""Whole screens: where panes stand, and which of them the keys go to."""
