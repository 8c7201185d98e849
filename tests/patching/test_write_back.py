"""What a forward did to its caches arrives in the caller's own objects."""

from __future__ import annotations

import torch

from spyre_dsl.patching.write_back import write_back


class Layer:
    def __init__(self, **values):
        vars(self).update(values)


def test_objects_and_lists_keep_their_identity():
    held = Layer(layers=[Layer(keys=1, seen=True)], name="a")
    layers, layer = held.layers, held.layers[0]
    write_back(held, Layer(layers=[Layer(keys=2, seen=True), Layer(keys=3, seen=False)], name="b"))
    assert held.layers is layers and layers[0] is layer
    assert (layer.keys, layers[1].keys, held.name) == (2, 3, "b")


def test_lists_shrink_and_attributes_go():
    held = Layer(layers=[1, 2, 3], extra=0)
    write_back(held, Layer(layers=[1]))
    assert held.layers == [1] and not hasattr(held, "extra")


def test_tensors_are_replaced_not_written():
    old, new = torch.zeros(2), torch.ones(3)
    held = Layer(keys=old)
    write_back(held, Layer(keys=new))
    assert held.keys is new and torch.equal(old, torch.zeros(2))


def test_another_type_takes_the_place():
    held = Layer(state=None)
    write_back(held, Layer(state=[1]))
    assert held.state == [1]
