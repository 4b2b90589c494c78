/** Whether a database refused values for what they are, and not a statement, a lock, a disk or a connection. */

/**
 * Postgres's classes: 22 data exception, 23 integrity constraint, 54 program limit exceeded; XX000 is what it says of an
 * allocation that is too large. Source: its documentation, "PostgreSQL Error Codes". SQLite's result codes likewise.
 */
const valueErrorCodes = /^(?:22...|23...|54...|XX000|SQLITE_(?:TOOBIG|MISMATCH|CONSTRAINT\w{0,30}))$/

/** Why, for a person, without the values; null: it is about something else. */
export function valueErrorReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  // A string or a buffer that is longer than the runtime can make.
  if (error instanceof RangeError) return 'it is too large'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return valueErrorCodes.test(code) ? `the database cannot hold it (${code})` : null
}
