-- SPDX-FileCopyrightText: 2026 The vibench-gym authors
-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS settings (
    key   text PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO settings VALUES ('secret', gen_random_uuid()::text) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS tools (
    id          serial PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    icon        text NOT NULL,
    description text NOT NULL
);
INSERT INTO tools (name, icon, description) VALUES
    ('Cordless drill', '🔩', '18 V, two batteries, a box of wood and masonry bits.'),
    ('Hedge trimmer', '🌿', 'Electric, 55 cm blade. Comes with a 20 m cable.'),
    ('Pressure washer', '💦', '130 bar with a patio cleaner. Needs an outdoor tap.'),
    ('Tile cutter', '🧱', 'Cuts tiles of up to 60 cm. Safety glasses included.')
ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS members (
    id   serial PRIMARY KEY,
    name text NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS members_name ON members (lower(name));

CREATE TABLE IF NOT EXISTS reservations (
    id        serial PRIMARY KEY,
    tool_id   integer NOT NULL REFERENCES tools,
    member_id integer NOT NULL REFERENCES members,
    first_day date NOT NULL,
    last_day  date NOT NULL CHECK (last_day >= first_day),
    returned  boolean NOT NULL DEFAULT false
);
