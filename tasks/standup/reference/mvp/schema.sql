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
