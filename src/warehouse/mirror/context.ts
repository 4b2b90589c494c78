/** What every part of one project's warehouse needs at hand. */
import type { DatabaseKind } from '../../../schema/portable.ts'
import type { Fields } from '../columns/fields.ts'
import type { Db } from '../database/session.ts'
import type { Tally } from './cell.ts'
import type { Upsert } from './upsert.ts'

export type Context = {
  readonly db: Db
  readonly kind: DatabaseKind
  readonly project: string
  readonly upsert: Upsert
  readonly fields: Fields
  readonly tally: Tally
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /**
   * Writes of one project go one after the other: each is short, and none can then wait for another that waits for it.
   */
  readonly inTurn: <T>(write: () => Promise<T>) => Promise<T>
  /** The run that rows are stored for; null outside of one. */
  readonly run: () => string | null
}

/** Does one thing after the other, whatever became of the one before. */
export function turns(): Context['inTurn'] {
  let last: Promise<unknown> = Promise.resolve()
  return (write) => {
    const mine = last.then(write)
    last = mine.catch(() => {})
    return mine
  }
}
