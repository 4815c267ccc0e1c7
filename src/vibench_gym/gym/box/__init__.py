# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Build boxes.

`build_box` is the agent's side, for the boxes of any sandbox provider: stage, run, harvest. The
other side is our own provider: `provider` has NeMo Gym's interface, `build_zone` is one of its
boxes, `model_relay` the box's route to the model, `endpoint` the host's way to a port of the box.
"""
