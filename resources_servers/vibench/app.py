# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""Where NeMo Gym looks for the server; everything is in `vibench_gym.gym`."""

from vibench_gym.sandbox.cleanup.work_folder import own_temporary_folder

own_temporary_folder()  # before imports that make temporary files

from nemo_gym.server_utils import is_nemo_gym_fastapi_entrypoint  # noqa: E402

from vibench_gym.gym.server.resources_server import VibenchResourcesServer  # noqa: E402

if __name__ == "__main__":
    VibenchResourcesServer.run_webserver()
elif is_nemo_gym_fastapi_entrypoint(__file__):
    app = VibenchResourcesServer.run_webserver()
