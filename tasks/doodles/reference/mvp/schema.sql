-- SPDX-FileCopyrightText: 2026 The vibench-gym authors
-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS doodles (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    title text NOT NULL CHECK (length(title) BETWEEN 1 AND 60),
    strokes jsonb NOT NULL DEFAULT '[]',
    place integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
