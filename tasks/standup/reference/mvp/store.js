// SPDX-FileCopyrightText: 2026 The vibench-gym authors
// SPDX-License-Identifier: Apache-2.0
// Everything the app knows about PostgreSQL. Days are texts of the form YYYY-MM-DD, in UTC.
import { randomBytes } from "node:crypto";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.POSTGRES_DATABASE_URL, max: 8 });
pool.on("error", (error) => console.error("database connection lost:", error.message));

async function rows(text, values = []) {
  return (await pool.query(text, values)).rows;
}

export async function join(name, day) {
  await rows(
    "INSERT INTO members (name, joined_on) VALUES ($1, $2) ON CONFLICT (lower(name)) DO NOTHING",
    [name, day],
  );
  const token = randomBytes(24).toString("base64url");
  await rows(
    "INSERT INTO sessions (token, member_id) SELECT $1, id FROM members WHERE lower(name) = lower($2)",
    [token, name],
  );
  return token;
}

export async function leave(token) {
  await rows("DELETE FROM sessions WHERE token = $1", [token]);
}

export async function memberOf(token) {
  const found = await rows(
    "SELECT members.id, name FROM sessions JOIN members ON members.id = member_id WHERE token = $1",
    [token],
  );
  return found[0];
}

export async function checkinsOf(day, member) {
  return rows(
    `SELECT checkins.id, name, done, plan, blockers, edited, member_id = $2 AS mine,
            to_char(posted_at AT TIME ZONE 'UTC', 'HH24:MI') AS at,
            (SELECT count(*)::int FROM cheers WHERE checkin_id = checkins.id) AS cheers,
            EXISTS (SELECT FROM cheers
                    WHERE checkin_id = checkins.id AND cheers.member_id = $2) AS cheered
     FROM checkins JOIN members ON members.id = checkins.member_id
     WHERE day = $1 ORDER BY checkins.id`,
    [day, member.id],
  );
}

export async function waitingOn(day) {
  const found = await rows(
    `SELECT name FROM members
     WHERE joined_on <= $1
       AND NOT EXISTS (SELECT FROM checkins WHERE member_id = members.id AND day = $1)
     ORDER BY lower(name)`,
    [day],
  );
  return found.map(({ name }) => name);
}

export async function post(member, day, { done, plan, blockers }) {
  await rows(
    `INSERT INTO checkins (member_id, day, done, plan, blockers) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (member_id, day)
     DO UPDATE SET done = $3, plan = $4, blockers = $5, edited = true`,
    [member.id, day, done, plan, blockers],
  );
}

export async function cheer(member, checkin, on) {
  const others = "SELECT id, $2::int FROM checkins WHERE id = $1 AND member_id <> $2";
  await rows(
    on
      ? `INSERT INTO cheers (checkin_id, member_id) ${others} ON CONFLICT DO NOTHING`
      : "DELETE FROM cheers WHERE checkin_id = $1 AND member_id = $2",
    [checkin, member.id],
  );
}
