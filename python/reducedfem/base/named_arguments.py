"""Errors of constructors that name the class which was called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from reducedfem.base.check import refuse_names
from reducedfem.errors import InputTypeError

__all__ = ["NamedArguments", "named_fields"]

_Class = TypeVar("_Class", bound=type)


class NamedArguments:
    """Base of classes whose constructors refuse wrong arguments by `InputTypeError`.

    Python's error of an inherited constructor names the class that defines it.
    """

    __slots__ = ()

    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        whole = inspect.signature(cls.__init__)
        cls.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])

    def __new__(cls, *args: Any, **given: Any) -> Any:
        """Create an object for `__init__`; refuse arguments that do not fit it."""
        known = cls.__signature__.parameters
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
            refuse_names([name for name in given if name not in known], cls, {})
        try:
            cls.__signature__.bind(*args, **given)
        except TypeError as error:
            named = all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in known.values())
            raise InputTypeError(
                f"{cls.__name__}: {error}; its arguments are {', '.join(known)}"
                + (", all of them by name" if named and known else "")
            ) from None
        return super().__new__(cls)


def named_fields(hint: str = "") -> Callable[[_Class], _Class]:
    """Decorate a dataclass: its constructor answers wrong arguments by its fields and a hint."""

    def decorated(cls: _Class) -> _Class:
        plain: Callable[..., None] = cls.__init__  # type: ignore[misc]
        signature = inspect.signature(plain)

        @functools.wraps(plain)
        def init(self: Any, *args: Any, **given: Any) -> None:
            known = signature.parameters
            try:
                refuse_names([name for name in given if name not in known], cls, {})
            except InputTypeError as error:
                raise InputTypeError(f"{error}{hint}") from None
            try:
                signature.bind(self, *args, **given)
            except TypeError as error:
                names = ", ".join(list(signature.parameters)[1:])
                raise InputTypeError(
                    f"{cls.__name__}: {error}; its arguments are {names}{hint}"
                ) from None
            plain(self, *args, **given)

        cls.__init__ = init  # type: ignore[misc]
        return cls

    return decorated
