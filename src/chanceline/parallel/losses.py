"""When workers are lost for good, and how that is said."""

from __future__ import annotations

from chanceline.errors import ChancelineError


class WorkersLostError(ChancelineError):
    """Workers died again and again, or their cluster is gone; what was yielded before is whole."""


def obituary(error: BaseException | None) -> str:
    """The sentence of a `WorkersLostError`."""
    cause = "" if error is None else f" ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
    return (
        f"the workers are lost{cause}: too little memory, an unreachable cluster, or a script that starts processes without "
        'if __name__ == "__main__"; what was finished is whole, mend the cause and run again'
    )
