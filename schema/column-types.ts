/** The portable column types: what each becomes in SQLite and in Postgres. Landed migrations depend on these: add, never change. */
export type DatabaseKind = 'sqlite' | 'postgres'

/**
 * `key`: text that takes part in a key, compared by bytes in both databases. `time`: a UTC moment; RFC 3339 text
 * (`YYYY-MM-DDThh:mm:ssZ`) in SQLite, `timestamptz` in Postgres. `date`: a calendar date, `YYYY-MM-DD`. `json`: JSON
 * text, `jsonb` in Postgres.
 */
export type ColumnType = 'key' | 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'date' | 'json'

/** As a column is declared. */
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
    // Byte order and not the database's collation: the order of a walk through the keys is then the same everywhere.
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
