"""`python -m cas_tui` is the same program as the script `cas-tui`."""

from cas_tui.cli import main

if __name__ == "__main__":
    main()
