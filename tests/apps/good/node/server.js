// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
import { createServer } from "node:http";
import pg from "pg";

const db = new pg.Pool({ connectionString: process.env.POSTGRES_DATABASE_URL });

createServer(async (request, response) => {
  const { rows } = await db.query("select text from notes order by id");
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.end(`<!DOCTYPE html><title>Notes</title><h1>Notes</h1>${rows.map((row) => `<p>${row.text}</p>`).join("")}`);
}).listen(Number(process.env.APPLICATION_PORT), "localhost");
