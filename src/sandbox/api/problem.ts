/** An error response of the service. */

import type { Json } from '../../core/row.ts'
import type { Switches } from '../switches.ts'

/** The documented codes and their statuses, and one for unknown paths. */
const problemStatus = {
  api_key_missing: 401,
  api_key_invalid: 401,
  api_key_wrong_project: 403,
  api_key_scope_missing: 403,
  VALIDATION_ERROR: 400,
  NOT_FOUND: 404,
  conversation_restricted: 403,
  rate_limited: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const
export type ProblemCode = keyof typeof problemStatus

export type Issue = { readonly field: string; readonly message: string }

export class Problem extends Error {
  readonly code: ProblemCode
  readonly issues: readonly Issue[]
  readonly retryAfterMs: number | null
  constructor(
    code: ProblemCode,
    message: string,
    more: { readonly issues?: readonly Issue[]; readonly retryAfterMs?: number } = {},
  ) {
    super(message)
    this.name = 'Problem'
    this.code = code
    this.issues = more.issues ?? []
    this.retryAfterMs = more.retryAfterMs ?? null
  }
}

export function validationProblem(...issues: Issue[]): Problem {
  return new Problem('VALIDATION_ERROR', issues.map(({ field, message }) => `${field}: ${message}`).join('; '), {
    issues,
  })
}

export function notFound(what: string): Problem {
  return new Problem('NOT_FOUND', `No such ${what} in this key's project`)
}

/** The row that was looked up. Throws Problem if there is none. */
export function requireFound<T>(row: T | undefined, what: string): T {
  if (row === undefined) throw notFound(what)
  return row
}

export function statusOf({ code }: Problem, s: Switches): number {
  return code === 'NOT_FOUND' ? Number(s['missing.status']) : problemStatus[code]
}

/** The envelope of the response. */
export function problemBody(problem: Problem, requestId: string, s: Switches): Json {
  const status = statusOf(problem, s)
  const context =
    problem.code === 'VALIDATION_ERROR' ? { context: { issues: problem.issues.map(issueFormatter(s)) } } : {}
  const inside = s['errors.context'] === 'error'
  return {
    error: {
      code: problem.code === 'NOT_FOUND' && status === 403 ? 'api_key_wrong_project' : problem.code,
      message: problem.message,
      status,
      ...retryableField(status, s),
      ...(inside ? context : {}),
    },
    ...(inside ? {} : context),
    requestId,
  }
}

function issueFormatter(s: Switches): (issue: Issue) => Json {
  const shape = s['errors.issues']
  return ({ field, message }) => {
    if (shape === 'path') return { path: [field], message, code: 'invalid' }
    return shape === 'field' ? { field, message } : `${field}: ${message}`
  }
}

function retryableField(status: number, s: Switches): { retryable?: boolean } {
  const how = s['errors.retryable']
  if (how === 'absent') return {}
  return { retryable: how === 'sensible' ? status === 429 || status >= 500 : how === 'always' }
}
