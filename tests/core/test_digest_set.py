"""A field that was added later counts in a digest only where it is set."""

from dataclasses import dataclass, field, replace

from gaploop.core import Contract, declared, digest


@dataclass(frozen=True)
class Before:
    a: int = 1


Later = dataclass(frozen=True)(
    type(
        "Before",
        (),
        {
            "__annotations__": {"a": int, "b": int},
            "a": 1,
            "b": field(default=0, metadata={"digest": "set"}),
        },
    )
)


def test_at_its_default_it_does_not_count() -> None:
    assert digest(Later()) == digest(Before())


def test_set_it_counts() -> None:
    assert digest(Later(b=2)) != digest(Before())


def test_the_joint_map_of_a_contract_is_such_a_field() -> None:
    plain = Contract()
    told = replace(plain, joint_map=declared({"order": (1, 0), "signs": (1, 1)}))
    flipped = replace(plain, joint_map=declared({"order": (1, 0), "signs": (1, -1)}))
    assert len({digest(plain), digest(told), digest(flipped)}) == 3
