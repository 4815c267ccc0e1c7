# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
import os

import psycopg

with psycopg.connect(os.environ["POSTGRES_DATABASE_URL"]) as db:
    db.execute("create table if not exists notes (id serial primary key, text text not null)")
    db.execute("insert into notes (text) values ('from set-up')")
