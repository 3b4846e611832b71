"""The few widgets everything is drawn with. None of them knows what a run is."""
