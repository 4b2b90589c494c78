/** What to tell a person when the database cannot be opened, or fails later on. The driver's own words are not shown. */
import { UserError } from '../../core/user-error.ts'
import { locationLabel, type DatabaseLocation } from './location.ts'
import { postgresExplanations, postgresTransientErrors, postgresExternalErrors } from './postgres-errors.ts'
import { explainSqlitePath, sqliteExplanations, sqliteTransientErrors, sqliteExternalErrors } from './sqlite-errors.ts'

/** What can be done about an error of a database: what happened, and what a person should do. */
export type ErrorExplanation = {
  readonly why: string
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2
}

/** Codes, or the words of a driver that has none, and what they mean; the first that fits counts. */
export type ExplanationTable = readonly (readonly [RegExp, ErrorExplanation])[]

/**
 * The warehouse cannot be used just now. `away`: it does not answer, or somebody holds it; the same may work in a while, and
 * whatever it answers next shows that it is back. `unusable`: it answers, but does not do what was asked (a full disk, a
 * table that is gone): only the same thing done shows that it can be used again.
 */
export class WarehouseError extends UserError {
  readonly kind: 'away' | 'unusable'
  /** The database's own, where it has one. */
  readonly code: string
  constructor(what: string, advice: ErrorExplanation, how: { readonly kind: WarehouseError['kind']; readonly code: string }) {
    super({ what, ...advice })
    this.name = 'WarehouseError'
    this.kind = how.kind
    this.code = how.code
  }
}

export function isWarehouseUnavailable(error: unknown): error is WarehouseError {
  return error instanceof WarehouseError && error.kind === 'away'
}

/** The error that a person sees for what a driver threw on opening. */
export function explainOpenError(location: DatabaseLocation, error: unknown): UserError {
  const code = errorCode(error)
  const what = `cannot open the warehouse ${locationLabel(location)}`
  const why = `the database answered with an error${/^\w{1,40}$/.test(code) ? ` (${code})` : ''}`
  const unexpected: ErrorExplanation = { why, next: 'look the code up in the documentation of the database', exitCode: 1 }
  // The driver's own words may quote the URL, and so the password: only its code is shown.
  return new UserError({ what, ...(findExplanation(location, code) ?? unexpected) })
}

/** Likewise for what goes wrong later on, through no fault of ours; undefined for anything else. */
export function explainRuntimeError(location: DatabaseLocation, error: unknown): WarehouseError | undefined {
  const code = runtimeErrorCode(error)
  const [externalErrors, transientErrors] = location.kind === 'sqlite' ? [sqliteExternalErrors, sqliteTransientErrors] : [postgresExternalErrors, postgresTransientErrors]
  const explanation = externalErrors.test(code) ? findExplanation(location, code) : undefined
  if (explanation === undefined) return undefined
  const what = `cannot use the warehouse ${locationLabel(location)}`
  // It was there a moment ago, so waiting may help, whatever it looks like.
  if (transientErrors.test(code)) return new WarehouseError(what, { ...explanation, exitCode: 1 }, { kind: 'away', code })
  return new WarehouseError(what, explanation, { kind: 'unusable', code })
}

/** SQLite has no code of its own for a table that is not there. */
function runtimeErrorCode(error: unknown): string {
  const code = errorCode(error)
  const isMissing = code === 'SQLITE_ERROR' && error instanceof Error && /^no such table/.test(error.message)
  return isMissing ? 'no such table' : code
}

function findExplanation(location: DatabaseLocation, code: string): ErrorExplanation | undefined {
  if (location.kind === 'postgres') return lookUp(postgresExplanations, code)
  return explainSqlitePath(location.path, code) ?? lookUp(sqliteExplanations, code)
}

function lookUp(table: ExplanationTable, code: string): ErrorExplanation | undefined {
  return table.find(([pattern]) => pattern.test(code))?.[1]
}

/** The driver's own code, else its words. */
function errorCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorCode(error.errors[0])
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    // A certificate's file, not the server's socket.
    return 'syscall' in error && error.syscall === 'open' ? `FILE_${error.code}` : error.code
  }
  return error instanceof Error ? (/timeout/i.test(error.message) ? 'ETIMEDOUT' : error.message) : String(error)
}
