"""What each pane draws: rows of the model in, rows of ink out. A pane never sees the picture."""
