-- SPDX-FileCopyrightText: 2026 The vibench-gym authors
-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS members (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
    joined_on date NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS members_by_name ON members (lower(name));

CREATE TABLE IF NOT EXISTS sessions (
    token text PRIMARY KEY,
    member_id integer NOT NULL REFERENCES members ON DELETE CASCADE
);

CREATE TABLE IF NOT EXISTS checkins (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    member_id integer NOT NULL REFERENCES members ON DELETE CASCADE,
    day date NOT NULL,
    done text NOT NULL DEFAULT '',
    plan text NOT NULL,
    blockers text NOT NULL DEFAULT '',
    posted_at timestamptz NOT NULL DEFAULT now(),
    edited boolean NOT NULL DEFAULT false,
    UNIQUE (member_id, day)
);

CREATE TABLE IF NOT EXISTS cheers (
    checkin_id integer NOT NULL REFERENCES checkins ON DELETE CASCADE,
    member_id integer NOT NULL REFERENCES members ON DELETE CASCADE,
    PRIMARY KEY (checkin_id, member_id)
);

CREATE TABLE IF NOT EXISTS blockers (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    checkin_id integer NOT NULL UNIQUE REFERENCES checkins ON DELETE CASCADE,
    text text NOT NULL,
    raised_on date NOT NULL,
    helper_id integer REFERENCES members ON DELETE SET NULL,
    resolver_id integer REFERENCES members ON DELETE SET NULL,
    resolved_on date,
    note text NOT NULL DEFAULT ''
);

-- Check-ins of the time before blockers were followed up.
INSERT INTO blockers (checkin_id, text, raised_on)
SELECT id, blockers, day FROM checkins WHERE blockers <> ''
ON CONFLICT DO NOTHING;
