/** Reads a large result in batches of bounded size: of Postgres through a cursor. */
import type { DbConnection, ValueList } from './connection-pool.ts'
import { maxRows, rowSize, targetSize } from './sqlite.ts'

/** Within a transaction. */
export const batchReader = (connection: DbConnection) =>
  connection.local?.readBatches ?? cursorReader(connection)

/** Rows as the database returns them, as lists of values in the order of these columns. */
function cursorReader(connection: DbConnection) {
  let cursors = 0
  return async function* (
    text: string,
    parameters: readonly unknown[],
    columns: readonly string[],
  ): AsyncIterable<readonly ValueList[]> {
    // Each has a name of its own, as one that was not read to its end stays open.
    const cursor = `read_${++cursors}`
    await connection.run(`declare ${cursor} no scroll cursor for ${text}`, parameters)
    for (let rows = 10; ; ) {
      const fetched = await connection.run(`fetch forward ${rows} from ${cursor}`, [])
      const batch = (fetched.rows as Readonly<Record<string, unknown>>[]).map((row) =>
        columns.map((name) => row[name]),
      )
      if (batch.length > 0) yield batch
      if (batch.length < rows) break
      rows = nextFetch(rows, batch)
    }
    await connection.run(`close ${cursor}`, [])
  }
}

/** As many as should fit, judged by the last ones, and at most ten times as many. */
function nextFetch(rows: number, batch: readonly ValueList[]): number {
  const size = batch.reduce((sum, row) => sum + rowSize(row), 0)
  return Math.max(
    1,
    Math.min(maxRows, rows * 10, Math.floor((targetSize * rows) / Math.max(1, size))),
  )
}
