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

    @classmethod
    def of_values(cls, values: dict[str, Any]) -> Self:
        """Return the record with *values*, of all its fields and added ones. Four times as fast as ``__init__()``."""
        row = cls.__new__(cls)
        object.__setattr__(row, "__dict__", values)  # one record is frozen
        return row

    def _values(self) -> dict[str, Any]:
        return vars(self)

    def __getitem__(self, name: str) -> Any:
        """Return the value of the field *name*. Raises :exc:`KeyError` if there is none."""
        if not isinstance(name, str):  # also from a for loop, which asks for 0, 1, 2 if there is no __iter__
            raise TypeError(f"the names of fields are strings, not {name!r}; use keys() or items() in a loop")
        return self._values()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Set or add a field."""
        if not isinstance(name, str):
            raise TypeError(f"the names of fields are strings, not {name!r}")
        vars(self)[name] = value

    def __delitem__(self, name: str) -> None:
        """Delete the field *name*. Raises :exc:`KeyError` if there is none."""
        del vars(self)[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values()

    def __len__(self) -> int:
        return len(self._values())

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its fields may change

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values().items())})"

    def keys(self) -> KeysView[str]:
        """Return the names of all fields, those of the dataclass first."""
        return self._values().keys()

    def values(self) -> ValuesView[Any]:
        """Return the values of all fields."""
        return self._values().values()

    def items(self) -> ItemsView[str, Any]:
        """Return the names and values of all fields."""
        return self._values().items()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of the field *name*, or *default*."""
        return self._values().get(name, default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return the value of the field *name*, which is added with *default* if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Delete the field *name*, and return its value, or *default*."""
        if default and name not in self:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def update(self, *others: Any, **fields: Any) -> None:
        """Set or add fields, as :meth:`dict.update` does."""
        for name, value in dict(*others, **fields).items():
            self[name] = value

    def copy(self) -> Self:
        """Return a shallow copy."""
        return copy.copy(self)


class WideItemRecord(ItemRecord):
    """The base of a dataclass with slots, for a record of more than 30 fields of which a run may hold 100,000.

    Python's dictionaries share no more than 30 names, so each instance would need a large one. Only added fields are
    in a dictionary, which few instances have.
    """

    @classmethod
    def of_values(cls, values: dict[str, Any]) -> Self:
        """Return the record with *values*, of all its fields and added ones."""
        row = cls.__new__(cls)
        row.update(values)
        return row

    def _values(self) -> dict[str, Any]:
        fields = type(self).__dataclass_fields__  # type: ignore[attr-defined]  # of a dataclass
        return {name: getattr(self, name) for name in fields if hasattr(self, name)} | vars(self)

    def __setitem__(self, name: str, value: Any) -> None:
        if name in type(self).__dataclass_fields__:  # type: ignore[attr-defined]  # of a dataclass
            setattr(self, name, value)
        else:
            super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in type(self).__dataclass_fields__:  # type: ignore[attr-defined]  # of a dataclass
            super().__delitem__(name)
        elif hasattr(self, name):
            delattr(self, name)
        else:
            raise KeyError(name)
