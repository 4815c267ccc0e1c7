-- SPDX-FileCopyrightText: 2026 The vibench-gym authors
-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS items (
    id          serial PRIMARY KEY,
    name        text NOT NULL,
    quantity    integer NOT NULL CHECK (quantity >= 0),
    unit        text NOT NULL DEFAULT 'pcs',
    shelf       text NOT NULL,
    best_before date
);
CREATE UNIQUE INDEX IF NOT EXISTS items_name ON items (lower(name));
