// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// Brings the database to the current schema; safe to run again.
import { readFile } from "node:fs/promises";
import pg from "pg";

const client = new pg.Client({ connectionString: process.env.POSTGRES_DATABASE_URL });
await client.connect();
await client.query(await readFile(new URL("schema.sql", import.meta.url), "utf8"));
await client.end();
