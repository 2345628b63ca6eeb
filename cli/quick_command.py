# SPDX-License-Identifier: Apache-2.0
"""Commands that start without pydantic: typer loads it to check any value, which takes 60 ms and more.

A value that has its option's type already, such as text for a text option or a default, is taken as it is; any other
goes through typer.
"""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class QuickGroup(TyperGroup):
    """What `Typer(cls=...)` takes."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, made quick."""
        return _quick(super().get_params(ctx))


class QuickCommand(TyperCommand):
    """What `Typer.command(cls=...)` takes."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments, made quick."""
        return _quick(super().get_params(ctx))


def _quick(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter):
            parameter.get_runtime_param = _Conversion(parameter).itself
    return parameters


class _Conversion:
    """A parameter's conversion; typer's own is made when a value needs it."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        self._typers = parameter.get_runtime_param

    def itself(self) -> "_Conversion":
        """What stands for typer's own."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as it is passed to the command."""
        wanted = self._parameter.type_descriptor.annotation
        many = self._parameter.multiple or self._parameter.nargs != 1
        if value is None or (not many and isinstance(wanted, type) and isinstance(value, wanted)):
            return value
        return self._typers().coerce(value, param=param, ctx=ctx)
