/** What a form or an address says that a decision is about. */
import type { DecisionTarget } from '../../app/console/decisions.ts'
import { reviewOutcomes } from '../../core/outbox/review.ts'

/** All values that were given by this name. */
export type Values = (name: string) => readonly string[]

/** More are decided about as a whole batch, or by what they would do. */
const maxIds = 200
const maxNameLength = 1000

/** Null: it does not say what it is about. */
export function targetOf(values: Values): Omit<DecisionTarget, 'decision'> | null {
  const [batch = null] = values('batch')
  const [outcome] = values('would')
  const ids = [...new Set(values('id'))]
  const would = reviewOutcomes.find((known) => known === outcome) ?? null
  // Nothing has such a name, and it would be written to the log.
  if ([batch ?? '', ...ids].some((name) => /\p{Cc}/u.test(name) || name.length > maxNameLength)) return null
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
