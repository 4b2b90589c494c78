/** What a form or an address says that a decision is about. */

import { reviewOutcomes } from '../../outbox/core/review.ts'
import { decodeSegment } from '../../values/address.ts'
import type { DecisionTarget } from '../data/decisions.ts'

/** All values that were given by this name. */
export type Values = (name: string) => readonly string[]

/** More are decided about as a whole batch, or by what they would do. */
const maxIds = 200
/** More than an address takes, as a name is escaped. */
const maxNameLength = 9000

/** Null: it does not say what it is about. */
export function targetOf(values: Values): Omit<DecisionTarget, 'decision'> | null {
  const [named] = values('batch')
  const batch = named === undefined ? null : decodeSegment(named)
  const [outcome] = values('would')
  const ids = [...new Set(values('id'))]
  const would = reviewOutcomes.find((known) => known === outcome) ?? null
  // Our forms have no such names, and they would be written to the log.
  if ([named ?? '', ...ids].some((name) => /\p{Cc}/u.test(name) || name.length > maxNameLength)) return null
  if (ids.length > maxIds || (batch === null && ids.length === 0)) return null
  if (outcome !== undefined && (would === null || batch === null)) return null
  return { batch, ids: ids.length === 0 ? null : ids, would: ids.length === 0 ? would : null }
}

export function valuesOf(fields: unknown): Values {
  const known = typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>) : {}
  return (name) =>
    [Object.hasOwn(known, name) ? known[name] : []]
      .flat()
      .filter((value) => typeof value === 'string')
      .filter((value) => value !== '')
}
