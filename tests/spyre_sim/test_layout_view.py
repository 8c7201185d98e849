"""Views of the values of a device graph: which the stack can express in sticks, and how it words the others."""

from __future__ import annotations

import pytest
import torch

from spyre_sim.graph import Format, Value
from spyre_sim.layout import StickView
from spyre_sim.legalize.builder import shadow_of

aten = torch.ops.aten


def seen(shape: tuple[int, ...], *views: tuple) -> StickView:
    """The view of a fresh float16 buffer after some aten view ops."""
    layout = StickView.dense(shape)
    shadow = shadow_of(Value(shape, "float16", Format.DL16, layout))
    for op, *args in views:
        shadow = op(shadow, *args)
    return StickView(tuple(shadow.shape), tuple(shadow.stride()), shadow.storage_offset(), layout.extent, layout.step)


class TestWhatIsRegular:
    def test_a_fresh_buffer_runs_along_its_last_dim(self) -> None:
        assert StickView.dense((4, 100)).stick_dim == 1

    def test_heads_of_whole_sticks_stay_regular_when_transposed(self) -> None:
        view = seen((2, 64, 384), (aten.view.default, [2, 64, 6, 64]), (aten.transpose.int, 1, 2))
        assert view.expression.supported
        assert view.stick_dim == 3

    def test_a_matrix_transposed_has_its_stick_on_dim_0(self) -> None:
        assert seen((128, 64), (aten.t.default,)).stick_dim == 0

    def test_heads_flattened_again_are_regular(self) -> None:
        assert seen((2, 64, 6, 64), (aten.view.default, [2, 64, 384])).stick_dim == 2

    def test_a_row_selected_is_regular(self) -> None:
        assert seen((2, 64, 384), (aten.select.int, 1, 3)).stick_dim == 1

    @pytest.mark.parametrize("view", [StickView.reduced((4, 1)), StickView.dense(()), StickView.dense((4, 1))])
    def test_one_element_a_stick_is_a_broadcast(self, view: StickView) -> None:
        assert (view.stick_dim, view.spread, view.expression.text) == (None, False, "0")

    def test_an_element_at_the_start_of_a_stick_is_on_lane_0(self) -> None:
        assert seen((4, 128), (aten.select.int, 1, 64)).expression.text == "0"


class TestWhatIsNot:
    @pytest.mark.parametrize(
        ("shape", "views", "expression"),
        [
            ((2, 64, 384), [(aten.view.default, [2, 64, 12, 32])], "32*d2 + d3"),
            ((2, 64, 384), [(aten.view.default, [2, 64, 12, 32]), (aten.transpose.int, 1, 2)], "32*d1 + d3"),
            ((4, 128), [(aten.slice.Tensor, 1, 0, 128, 2)], "2*(Mod(d1, 32))"),
            ((4, 128), [(aten.select.int, 1, 3)], "3"),
            ((4, 12, 32), [(aten.view.default, [4, 384])], "Mod(d1, 32)"),
            ((4, 100), [(aten.view.default, [400]), (aten.slice.Tensor, 0, 64, 114)], "Mod(d0 + 64, 100)"),
        ],
    )
    def test_it_is_worded_as_the_stack_does(self, shape: tuple, views: list, expression: str) -> None:
        view = seen(shape, *views)
        assert not view.expression.supported
        assert view.expression.text == expression
        with pytest.raises(ValueError, match="no stick dim"):
            _ = view.stick_dim

    def test_a_buffer_with_its_sticks_on_dim_0_flattened_across_them(self) -> None:
        dense = StickView.dense((64, 10), stick_dim=0)
        assert StickView((640,), (1,), 0, dense.extent, dense.step).expression.text == "floor((d0)/10)"


class TestOffsets:
    def test_a_slice_at_a_whole_stick(self) -> None:
        found = seen((4, 384), (aten.slice.Tensor, 1, 128, 256)).expression
        assert (found.start, found.offset, found.aligned) == (128, 0, True)
        assert (found.text, found.from_start) == ("Mod(d1, 64)", "Mod(d1, 64) + 128")

    def test_a_slice_inside_a_stick(self) -> None:
        found = seen((4, 64), (aten.slice.Tensor, 1, 32, 64)).expression
        assert (found.text, found.aligned) == ("d1 + 32", False)

    def test_an_offset_in_another_dim_is_none_along_the_stick(self) -> None:
        assert seen((8, 64), (aten.slice.Tensor, 0, 3, 8)).expression.start == 0
