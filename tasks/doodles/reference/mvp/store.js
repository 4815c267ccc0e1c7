// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// Everything the app knows about PostgreSQL.
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.POSTGRES_DATABASE_URL, max: 8 });
pool.on("error", (error) => console.error("database connection lost:", error.message));

export async function list() {
  const { rows } = await pool.query("SELECT id, title, strokes FROM doodles ORDER BY place, id");
  return rows;
}

export async function find(id) {
  const { rows } = await pool.query("SELECT id, title, strokes FROM doodles WHERE id = $1", [id]);
  return rows[0];
}

export async function add({ title, strokes }) {
  const { rows } = await pool.query(
    `INSERT INTO doodles (title, strokes, place)
     VALUES ($1, $2, (SELECT coalesce(max(place), 0) + 1 FROM doodles))
     RETURNING id, title, strokes`,
    [title, JSON.stringify(strokes)],
  );
  return rows[0];
}

export async function change(id, { title, strokes }) {
  const { rows } = await pool.query(
    "UPDATE doodles SET title = $2, strokes = $3 WHERE id = $1 RETURNING id, title, strokes",
    [id, title, JSON.stringify(strokes)],
  );
  return rows[0];
}

export async function remove(id) {
  const { rowCount } = await pool.query("DELETE FROM doodles WHERE id = $1", [id]);
  return rowCount > 0;
}

export async function arrange(ids) {
  await pool.query(
    `UPDATE doodles SET place = wanted.place
     FROM unnest($1::int[]) WITH ORDINALITY AS wanted (id, place)
     WHERE doodles.id = wanted.id`,
    [ids],
  );
}
