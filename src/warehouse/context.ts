/** What every part of one project's warehouse needs at hand. */
import type { DatabaseKind } from '../../schema/portable.ts'
import type { Tally } from './cell.ts'
import type { Fields } from './fields.ts'
import type { Db } from './session.ts'
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
  /** The run that rows are stored for; null outside of one. */
  readonly run: () => string | null
}
