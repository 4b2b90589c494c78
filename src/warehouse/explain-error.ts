/** What people read if the database fails, without the driver's message: it may have secrets. */
import { fenceMessage } from '../../schema/move-fence.ts'
import { type Explanation, errorCode, UserError } from '../values/user-error.ts'
import { findExplanation, runtimeErrors } from './error-tables.ts'
import { type DatabaseLocation, locationLabel } from './location.ts'

/**
 * `unavailable`: it does not answer, or is locked; any later answer shows that it is back.
 * `unusable`: it cannot do what was asked (a full disk, a missing table); only the success of that
 * shows that it works again.
 */
export class WarehouseError extends UserError {
  readonly kind: 'unavailable' | 'unusable'
  /** The database's error code, if it has one. */
  readonly code: string
  constructor(what: string, explanation: Explanation, kind: WarehouseError['kind'], code: string) {
    super({ what, ...explanation })
    this.name = 'WarehouseError'
    this.kind = kind
    this.code = code
  }
}

export function isWarehouseUnavailable(error: unknown): error is WarehouseError {
  return error instanceof WarehouseError && error.kind === 'unavailable'
}

/** For an error that the driver threw on opening. */
export function explainOpenError(location: DatabaseLocation, error: unknown): UserError {
  const code = codeOrMessage(error)
  const what = `cannot open the warehouse ${locationLabel(location)}`
  const why = `the database answered with an error${/^\w{1,40}$/.test(code) ? ` (${code})` : ''}`
  const unexpected = {
    why,
    next: 'look the code up in the documentation of the database',
    exitCode: 1,
  } as const
  // The driver's message may quote the URL with the password, so only its code is shown.
  return new UserError({ what, ...(findExplanation(location, code) ?? unexpected) })
}

/** For an error after opening; undefined if the database is not its cause. */
export function explainRuntimeError(
  location: DatabaseLocation,
  error: unknown,
): WarehouseError | undefined {
  const code = runtimeErrorCode(error)
  const { external, transient } = runtimeErrors[location.kind]
  const what = `cannot use the warehouse ${locationLabel(location)}`
  if (error instanceof Error && error.message === fenceMessage)
    return new WarehouseError(what, fenced, 'unusable', code)
  const explanation = external.test(code) ? findExplanation(location, code) : undefined
  if (explanation === undefined) return undefined
  // The database was available before, so waiting may help, whatever the exit code says.
  if (transient.test(code))
    return new WarehouseError(what, { ...explanation, exitCode: 1 }, 'unavailable', code)
  return new WarehouseError(what, explanation, 'unusable', code)
}

/** It was opened before that. */
const fenced: Explanation = {
  why: fenceMessage,
  next: '`deskmirror status` says which, and where it is',
  exitCode: 2,
}

/** SQLite has no code of its own for a missing table. */
function runtimeErrorCode(error: unknown): string {
  const code = codeOrMessage(error)
  const isMissing =
    code === 'SQLITE_ERROR' && error instanceof Error && /^no such table/.test(error.message)
  return isMissing ? 'no such table' : code
}

function codeOrMessage(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return codeOrMessage(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  const code = errorCode(error)
  // A missing certificate file has the same code as a missing socket of the server.
  if (code !== '') return 'syscall' in error && error.syscall === 'open' ? `FILE_${code}` : code
  return /timeout/i.test(error.message) ? 'ETIMEDOUT' : error.message
}
