-- SPDX-FileCopyrightText: 2026 The vibench-gym authors
-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS specimens (
    id         serial PRIMARY KEY,
    name       text NOT NULL,
    place      text NOT NULL DEFAULT '',
    found_on   date,
    notes      text NOT NULL DEFAULT '',
    favourite  boolean NOT NULL DEFAULT false,
    photo      bytea NOT NULL,
    photo_name text NOT NULL,
    photo_type text NOT NULL,
    width      integer NOT NULL,
    height     integer NOT NULL
);
