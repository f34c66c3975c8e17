"""``python -m zonodpp`` is the command `zonodpp`."""

from zonodpp.cli import main

if __name__ == "__main__":
    main()
