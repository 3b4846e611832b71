"""The terminal console. Importing this costs nothing; Textual is loaded when the console starts."""
