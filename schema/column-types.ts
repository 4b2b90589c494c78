/** The portable column types and their SQL types. Landed migrations depend on them: add types, never change one. */
export type DatabaseKind = 'sqlite' | 'postgres'

/**
 * `key`: text that takes part in a key, compared by bytes in both databases. `time`: a time in UTC; RFC 3339 text
 * (`YYYY-MM-DDThh:mm:ssZ`) in SQLite, `timestamptz` in Postgres. `date`: a calendar date, `YYYY-MM-DD`. `json`: JSON
 * text, `jsonb` in Postgres.
 */
export type ColumnType = 'key' | 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'date' | 'json'

/** SQL types by portable type. */
export const sqlTypes: Readonly<Record<DatabaseKind, Readonly<Record<ColumnType, string>>>> = {
  sqlite: {
    key: 'text',
    text: 'text',
    integer: 'integer',
    number: 'real',
    boolean: 'boolean',
    time: 'text',
    date: 'text',
    json: 'text',
  },
  postgres: {
    // Byte order instead of the database's collation, so that the order of keys is the same everywhere.
    key: 'text collate "C"',
    text: 'text',
    integer: 'bigint',
    number: 'double precision',
    boolean: 'boolean',
    time: 'timestamptz',
    date: 'date',
    json: 'jsonb',
  },
}
