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
            EXISTS (SELECT FROM blockers
                    WHERE checkin_id = checkins.id AND resolved_on IS NOT NULL) AS resolved,
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
    `WITH checkin AS (
       INSERT INTO checkins (member_id, day, done, plan, blockers) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (member_id, day)
       DO UPDATE SET done = $3, plan = $4, blockers = $5, edited = true
       RETURNING id, day, blockers
     ), withdrawn AS (
       DELETE FROM blockers USING checkin
       WHERE checkin_id = checkin.id AND checkin.blockers = '' AND resolved_on IS NULL
     )
     INSERT INTO blockers (checkin_id, text, raised_on)
     SELECT id, blockers, day FROM checkin WHERE blockers <> ''
     ON CONFLICT (checkin_id) DO UPDATE
     SET text = excluded.text, helper_id = NULL, resolver_id = NULL, resolved_on = NULL, note = ''
     WHERE blockers.text <> excluded.text`,
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

export async function openBlockers(member) {
  return rows(
    `SELECT blockers.id, text, owner.name AS owner, owner.id = $1 AS mine,
            to_char(raised_on, 'YYYY-MM-DD') AS raised,
            helper.name AS helper, coalesce(helper_id = $1, false) AS helping
     FROM blockers
     JOIN checkins ON checkins.id = checkin_id
     JOIN members AS owner ON owner.id = checkins.member_id
     LEFT JOIN members AS helper ON helper.id = helper_id
     WHERE resolved_on IS NULL
     ORDER BY raised_on, blockers.id`,
    [member.id],
  );
}

export async function resolvedBlockers(member) {
  return rows(
    `SELECT blockers.id, text, owner.name AS owner, owner.id = $1 AS mine,
            to_char(raised_on, 'YYYY-MM-DD') AS raised, note, resolver.name AS resolver,
            to_char(resolved_on, 'YYYY-MM-DD') AS resolved,
            coalesce(helper_id = $1, false) AS helping
     FROM blockers
     JOIN checkins ON checkins.id = checkin_id
     JOIN members AS owner ON owner.id = checkins.member_id
     LEFT JOIN members AS resolver ON resolver.id = resolver_id
     WHERE resolved_on IS NOT NULL
     ORDER BY resolved_on DESC, blockers.id DESC`,
    [member.id],
  );
}

export async function countOpenBlockers() {
  const found = await rows("SELECT count(*)::int AS number FROM blockers WHERE resolved_on IS NULL");
  return found[0].number;
}

export async function help(member, blocker, on) {
  const found = await rows(
    `UPDATE blockers SET helper_id = CASE WHEN $3 THEN $2::int END
     FROM checkins
     WHERE blockers.id = $1 AND checkins.id = checkin_id AND member_id <> $2
       AND resolved_on IS NULL AND (helper_id IS NULL OR helper_id = $2)
     RETURNING blockers.id`,
    [blocker, member.id, on],
  );
  return found.length > 0;
}

export async function resolve(member, blocker, note, day) {
  const found = await rows(
    `UPDATE blockers SET resolver_id = $2, note = $3, resolved_on = $4
     WHERE id = $1 AND resolved_on IS NULL RETURNING id`,
    [blocker, member.id, note, day],
  );
  return found.length > 0;
}
