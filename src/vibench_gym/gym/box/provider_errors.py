# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""The one place on the builder's side that catches every exception: calls of a sandbox provider.

NeMo Gym does not say which exceptions a provider raises. Here they all become a `ProviderFailed`,
which callers catch by name. They decide what it means: there is no box, or one way of harvesting
failed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from vibench_gym.core.errors import SandboxUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator


class ProviderFailed(SandboxUnavailable):
    """A sandbox provider raised; the cause is what it raised."""


@contextlib.contextmanager
def provider_errors() -> Iterator[None]:
    """Turn every exception of the calls within into `ProviderFailed`, with the same message.

    Raises:
        ProviderFailed: a call failed.
    """
    try:
        yield
    except Exception as error:
        raise ProviderFailed(str(error)) from error
