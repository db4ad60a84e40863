"""``python -m lightloom``: the program."""

from __future__ import annotations

from lightloom.cli.main import main

if __name__ == "__main__":
    main()
