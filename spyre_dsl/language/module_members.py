"""What every module has because it is one, for ``lint``, which imports no torch; a test holds it against torch.

Imported only where a rule speaks of ``self``.
"""

from __future__ import annotations

from typing import Final

from spyre_dsl.language.suggest import distance

METHODS: Final = frozenset(
    """
    add_module apply bfloat16 buffers children compile cpu cuda double eval extra_repr float forward get_buffer
    get_extra_state get_parameter get_submodule half ipu load_state_dict modules mtia named_buffers named_children
    named_modules named_parameters parameters register_backward_hook register_buffer register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter
    register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule
    share_memory state_dict to to_empty train type xpu zero_grad
    """.split()
)
"""The public methods of ``torch.nn.Module``."""

VALUES: Final = ("training",)
"""The public values that every module has."""

_SLIPS: Final = 2


def meant_value(name: str) -> str | None:
    """The value of every module that a name misspells, if it does."""
    return next((value for value in VALUES if 0 < distance(name, value, _SLIPS) <= _SLIPS), None)
