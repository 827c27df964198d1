"""Which Python runs a test: the one that has what it needs."""
import importlib.util
import os
import sys

SYSTEM = "/usr/bin/python3"  # with the distribution's packages


def need(*modules):
    """Goes on under a Python that has these modules, or skips the test."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if not missing:
        return
    if os.environ.get("SWITCHYARD_SECOND_TRY") or not os.path.exists(SYSTEM):
        print(f"[skipped] {', '.join(missing)} of Python is missing: .ci/setup --clients")
        sys.exit(77)
    os.execve(SYSTEM, [SYSTEM, *sys.argv], dict(os.environ, SWITCHYARD_SECOND_TRY="1"))
