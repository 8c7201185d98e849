"""What a forward did to its caches arrives in the caller's own objects."""

from __future__ import annotations

import torch

from spyre_dsl.patching.signature import flatten
from spyre_dsl.patching.write_back import write_back


class Layer:
    def __init__(self, **values):
        vars(self).update(values)


def write(held, after):
    """What a graph does that returned ``after``."""
    leaves: list = []
    structure = flatten(after, leaves, counters=False, inside=True)
    rest = iter(leaves)
    write_back(held, structure, rest)
    assert next(rest, None) is None, "every tensor has its place"


def test_objects_and_lists_keep_their_identity():
    held = Layer(layers=[Layer(keys=1, seen=True)], name="a")
    layers, layer = held.layers, held.layers[0]
    write(held, Layer(layers=[Layer(keys=2, seen=True), Layer(keys=3, seen=False)], name="b"))
    assert held.layers is layers and layers[0] is layer
    assert (layer.keys, layers[1].keys, held.name) == (2, 3, "b")


def test_lists_shrink_and_attributes_go():
    held = Layer(layers=[1, 2, 3], extra=0)
    write(held, Layer(layers=[1]))
    assert held.layers == [1] and not hasattr(held, "extra")


def test_tensors_are_replaced_not_written():
    old, new = torch.zeros(2), torch.ones(3)
    held = Layer(keys=old)
    write(held, Layer(keys=new))
    assert held.keys is new and torch.equal(old, torch.zeros(2))


def test_another_type_takes_the_place():
    held = Layer(state=None)
    write(held, Layer(state=[1]))
    assert held.state == [1]


def test_items_of_a_dict_come_change_and_go():
    seen = {0: True, 1: False}
    held = Layer(is_updated=seen)
    write(held, Layer(is_updated={1: True, 2: torch.ones(1)}))
    assert held.is_updated is seen and list(seen) == [1, 2] and seen[1] is True


def test_what_stays_as_it_was_is_not_set_again():
    class Strict(Layer):
        def __setattr__(self, name, value):
            assert name != "window", "set again"
            super().__setattr__(name, value)

    held = Strict(window=4, length=1)
    write(held, Strict(window=4, length=2))
    assert held.length == 2


def test_numbers_of_another_type_replace_equal_ones():
    held = Layer(flag=1)
    write(held, Layer(flag=True))
    assert held.flag is True
