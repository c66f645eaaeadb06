from __future__ import annotations

import ast

import mutate
import pytest

PACKAGE = mutate.ROOT / "harness" / "zoo"


@pytest.mark.parametrize("mutant", mutate.mutants(), ids=lambda mutant: mutant.rule)
def test_each_fault_has_one_place_and_can_be_run(mutant: mutate.Mutant) -> None:
    text = mutate.place(mutant, PACKAGE).read_text()
    assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(text.replace(mutant.before, mutant.after)))
    assert all((mutate.TESTS / f"test_{name}.py").exists() for name in mutant.tests)


def test_thirty_rules_have_a_fault() -> None:
    assert len({mutant.rule for mutant in mutate.mutants()}) >= 30
