/**
 * SQLite's own clock and random numbers, replaced on a connection as those of Node are. Rows get
 * both by default, and the second in which a write-back was queued decides what may be sent.
 */
import { randomBytes } from 'node:crypto'
import type Database from 'better-sqlite3'
import { toTimestamp } from '../../src/values/time.ts'

const timestampFormat = '%Y-%m-%dT%H:%M:%SZ'

export function addVirtualFunctions(database: Database.Database): void {
  database.function('strftime', { varargs: true }, (...values: unknown[]) => {
    const [format, time] = values
    if (values.length === 2 && format === timestampFormat && time === 'now')
      return toTimestamp(Date.now())
    throw new Error(`the simulator has no strftime(${values.join(', ')})`)
  })
  database.function('randomblob', (size: unknown) => randomBytes(Number(size)))
}
