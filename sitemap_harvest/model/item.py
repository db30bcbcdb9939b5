"""``ItemRecord``: the base of the rows that are Scrapy items, whose fields are attributes and keys."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import ItemsView, KeysView, ValuesView


class ItemRecord:
    """A row with the fields of its dataclass, and others that the pipelines of a project add.

    ``item.loc`` and ``item["loc"]`` are the same value. A deleted field is exported as
    an absent value. There is no ``__iter__``: Scrapy would take an item that a callback
    returns for a list of items. Iterate over ``keys()`` or ``items()``.
    """

    def __getitem__(self, name: str) -> Any:
        """Return the value of the field *name*. Raises :exc:`KeyError` if there is none."""
        if not isinstance(name, str):  # also from a for loop, which asks for 0, 1, 2 if there is no __iter__
            raise TypeError(f"the names of fields are strings, not {name!r}; use keys() or items() in a loop")
        return vars(self)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Set or add a field."""
        if not isinstance(name, str):
            raise TypeError(f"the names of fields are strings, not {name!r}")
        vars(self)[name] = value

    def __delitem__(self, name: str) -> None:
        """Delete the field *name*. Raises :exc:`KeyError` if there is none."""
        del vars(self)[name]

    def __contains__(self, name: object) -> bool:
        return name in vars(self)

    def __len__(self) -> int:
        return len(vars(self))

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its fields may change

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def keys(self) -> KeysView[str]:
        """Return the names of all fields, those of the dataclass first."""
        return vars(self).keys()

    def values(self) -> ValuesView[Any]:
        """Return the values of all fields."""
        return vars(self).values()

    def items(self) -> ItemsView[str, Any]:
        """Return the names and values of all fields."""
        return vars(self).items()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of the field *name*, or *default*."""
        return vars(self).get(name, default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return the value of the field *name*, which is added with *default* if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Delete the field *name*, and return its value, or *default*."""
        return vars(self).pop(name, *default)

    def update(self, *others: Any, **fields: Any) -> None:
        """Set or add fields, as :meth:`dict.update` does."""
        for name, value in dict(*others, **fields).items():
            self[name] = value

    def copy(self) -> Self:
        """Return a shallow copy."""
        return copy.copy(self)
