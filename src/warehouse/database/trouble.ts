/** What to tell a person when the database cannot be opened, or fails later on. The driver's own words are not shown. */
import { UserError } from '../../core/user-error.ts'
import { type Advice, adviceFor } from './advice.ts'
import { nameOfPlace, type Place } from './place.ts'
import { postgresAdvices, postgresAway, postgresOutside } from './postgres-advice.ts'
import { sqliteAdvice, sqliteAway, sqliteOutside } from './sqlite-advice.ts'

/**
 * The warehouse cannot be used just now. `away`: it does not answer, or somebody holds it; the same may work in a while, and
 * whatever it answers next shows that it is back. `unusable`: it answers, but does not do what was asked (a full disk, a
 * table that is gone): only the same thing done shows that it can be used again.
 */
export class WarehouseError extends UserError {
  readonly kind: 'away' | 'unusable'
  /** The database's own, where it has one. */
  readonly code: string
  constructor(what: string, advice: Advice, how: { readonly kind: WarehouseError['kind']; readonly code: string }) {
    super({ what, ...advice })
    this.name = 'WarehouseError'
    this.kind = how.kind
    this.code = how.code
  }
}

export function isAway(error: unknown): error is WarehouseError {
  return error instanceof WarehouseError && error.kind === 'away'
}

/** The error that a person sees for what a driver threw on opening. */
export function openTrouble(place: Place, error: unknown): UserError {
  const code = codeOf(error)
  const what = `cannot open the warehouse ${nameOfPlace(place)}`
  const why = `the database answered with an error${/^\w{1,40}$/.test(code) ? ` (${code})` : ''}`
  const unexpected: Advice = { why, next: 'look the code up in the documentation of the database', exitCode: 1 }
  // The driver's own words may quote the URL, and so the password: only its code is shown.
  return new UserError({ what, ...(adviceOf(place, code) ?? unexpected) })
}

/** Likewise for what goes wrong later on, through no fault of ours; undefined for anything else. */
export function laterTrouble(place: Place, error: unknown): WarehouseError | undefined {
  const code = laterCodeOf(error)
  const [outside, away] = place.kind === 'sqlite' ? [sqliteOutside, sqliteAway] : [postgresOutside, postgresAway]
  const advice = outside.test(code) ? adviceOf(place, code) : undefined
  if (advice === undefined) return undefined
  const what = `cannot use the warehouse ${nameOfPlace(place)}`
  // It was there a moment ago, so waiting may help, whatever it looks like.
  if (away.test(code)) return new WarehouseError(what, { ...advice, exitCode: 1 }, { kind: 'away', code })
  return new WarehouseError(what, advice, { kind: 'unusable', code })
}

/** SQLite has no code of its own for a table that is not there. */
function laterCodeOf(error: unknown): string {
  const code = codeOf(error)
  const isMissing = code === 'SQLITE_ERROR' && error instanceof Error && /^no such table/.test(error.message)
  return isMissing ? 'no such table' : code
}

function adviceOf(place: Place, code: string): Advice | undefined {
  return place.kind === 'sqlite' ? sqliteAdvice(place.path, code) : adviceFor(postgresAdvices, code)
}

/** The driver's own code, else its words. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    // A certificate's file, not the server's socket.
    return 'syscall' in error && error.syscall === 'open' ? `FILE_${error.code}` : error.code
  }
  return error instanceof Error ? (/timeout/i.test(error.message) ? 'ETIMEDOUT' : error.message) : String(error)
}
