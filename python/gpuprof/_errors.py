"""What this package raises and warns of."""


class Error(Exception):
    """Something that cannot be done, in the words of the program: what failed, why, and what to do."""


class MissingPackage(Error, ImportError):
    """A package that is optional is needed for this and is not installed."""


class PartialTrace(UserWarning):
    """Records are missing, damaged or estimated: an answer is not about everything that happened."""


def missing_package(package: str, what: str) -> MissingPackage:
    """The error for ``what``, which needs ``package``."""
    return MissingPackage(f"{what} needs the package {package}, which is not installed; pip install {package}")
