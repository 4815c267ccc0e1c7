// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
import pg from "pg";

const db = new pg.Client(process.env.POSTGRES_DATABASE_URL);
await db.connect();
await db.query("create table if not exists notes (id serial primary key, text text not null)");
await db.query("insert into notes (text) values ('from set-up')");
await db.end();
