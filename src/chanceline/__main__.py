"""`python -m chanceline` is the command `chanceline`."""

from chanceline.cli.main import main

if __name__ == "__main__":
    main()
