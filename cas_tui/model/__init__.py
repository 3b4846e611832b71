"""The picture: what every pane needs to know, folded from events. Pure; no I/O, no clock, no Textual."""
