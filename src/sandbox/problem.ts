/** The checks of a request's query and body, and the error responses of the service. */
import type { Json } from '../values/json.ts'
import { type EpochMs, type Ms, parseTime } from '../values/time.ts'
import { jsonResponse, type ServiceResponse } from './response.ts'
import type { BoundKind, Switches } from './switches.ts'

/** The documented codes, and one for a single conversation; what they say if nothing else. */
const problems = {
  api_key_missing: { status: 401, usual: 'Send an API key' },
  api_key_invalid: { status: 401, usual: 'The API key is unknown or revoked' },
  api_key_wrong_project: { status: 403, usual: 'The API key belongs to a different project' },
  api_key_scope_missing: { status: 403, usual: 'The API key lacks the scope that this needs' },
  VALIDATION_ERROR: { status: 400, usual: 'The request is invalid' },
  NOT_FOUND: { status: 404, usual: "No such row in this key's project" },
  conversation_restricted: { status: 403, usual: 'This conversation is restricted' },
  rate_limited: { status: 429, usual: 'Too many requests' },
} as const

type Issue = { readonly field: string; readonly message: string }

export class Problem extends Error {
  readonly code: keyof typeof problems
  readonly details: { readonly issues?: readonly Issue[]; readonly retryAfterMs?: number }
  constructor(code: Problem['code'], message?: string, details: Problem['details'] = {}) {
    super(message ?? problems[code].usual)
    this.name = 'Problem'
    this.code = code
    this.details = details
  }
}

export function validationProblem(...issues: Issue[]): Problem {
  const message = issues.map((issue) => `${issue.field}: ${issue.message}`).join('; ')
  return new Problem('VALIDATION_ERROR', message, { issues })
}

export const notFound = (what: string): Problem =>
  new Problem('NOT_FOUND', `No such ${what} in this key's project`)

export function problemResponse(
  problem: Problem,
  requestId: string,
  s: Switches,
  now: EpochMs,
): ServiceResponse {
  const { code, message } = problem
  const { issues, retryAfterMs } = problem.details
  const status = code === 'NOT_FOUND' ? Number(s['missing.status']) : problems[code].status
  const shownCode = code === 'NOT_FOUND' && status === 403 ? 'api_key_wrong_project' : code
  const context =
    issues === undefined
      ? {}
      : { context: { issues: issues.map((issue) => formatIssue(issue, s)) } }
  const [inside, outside] = s['errors.context'] === 'error' ? [context, {}] : [{}, context]
  const sensible = status === 429 || status >= 500
  const retryable = { sensible, always: true, never: false, absent: undefined }[
    s['errors.retryable']
  ]
  const body = {
    error: { code: shownCode, message, status, retryable, ...inside },
    ...outside,
    requestId,
  }
  return jsonResponse(status, JSON.stringify(body), {
    ...(retryAfterMs === undefined ? {} : retryAfterHeader(retryAfterMs, s, now)),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  })
}

/** Rounded up, so that an obedient client is never too early. */
function retryAfterHeader(waitMs: Ms, s: Switches, now: EpochMs): Record<string, string> {
  const form = s['rate.retryAfter']
  if (form === 'absent') return {}
  if (form === 'seconds') return { 'retry-after': String(Math.ceil(waitMs / 1000)) }
  return { 'retry-after': new Date(Math.ceil((now + waitMs) / 1000) * 1000).toUTCString() }
}

function formatIssue({ field, message }: Issue, s: Switches): Json {
  const shapes = { path: { path: [field], message, code: 'invalid' }, field: { field, message } }
  return { ...shapes, string: `${field}: ${message}` }[s['errors.issues']]
}

const defaultPageSize = 50
const maxPageSize = 200

/** `known`: of the operation. Throws Problem for others, if the service rejects them. */
export function checkQuery(query: URLSearchParams, known: readonly string[], s: Switches): void {
  if (s['query.unknown'] === 'ignored') return
  const unknown = [...new Set(query.keys())].filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw validationProblem(
      ...unknown.map((field) => ({ field, message: 'is not a parameter of this operation' })),
    )
}

/** Parses query parameters and collects issues; `throwIssues` throws a Problem if there are any. */
export function createQueryReader(query: URLSearchParams, s: Switches) {
  const issues: Issue[] = []
  const addIssue = (field: string, message: string) => {
    issues.push({ field, message })
    return undefined
  }
  const throwIssues = () => {
    if (issues.length > 0) throw validationProblem(...issues)
  }
  const time = (
    name: string,
    need: Switches['calls.range'],
    bound: BoundKind = 'inclusive',
  ): EpochMs | undefined => {
    const text = query.get(name)
    if (text === null) return need === 'required' ? addIssue(name, 'is required') : undefined
    if (bound === 'refused') return addIssue(name, 'is not supported')
    if (bound === 'ignored') return undefined
    return parseTime(text) === undefined
      ? addIssue(name, 'must be an RFC 3339 timestamp')
      : Date.parse(text)
  }
  const limit = (usual: number) => {
    const text = query.get('limit')
    if (s['pages.size'] > 0) return s['pages.size']
    if (text === null) return usual
    const given = /^\d{1,6}$/.test(text) ? Number(text) : 0
    if (given < 1) addIssue('limit', 'must be an integer from 1 to 200')
    if (given <= maxPageSize || s['limit.over'] === 'honoured') return given
    if (s['limit.over'] === 'rejected') addIssue('limit', 'must be an integer from 1 to 200')
    return maxPageSize
  }
  return {
    time,
    throwIssues,
    flag(name: string) {
      const text = query.get(name)
      if (text === null) return undefined
      return text === 'true' || text === 'false'
        ? text === 'true'
        : addIssue(name, 'must be true or false')
    },
    /** The limit and bounds of a list. Throws Problem. */
    page(
      bounds: { readonly [Name in 'since' | 'from' | 'before' | 'to']?: BoundKind },
      {
        need = 'optional',
        size = defaultPageSize,
        ignoresLimit = false,
      }: {
        readonly need?: Switches['calls.range']
        readonly size?: number
        readonly ignoresLimit?: boolean
      } = {},
    ) {
      const bound = (name: keyof typeof bounds) => {
        const kind = bounds[name]
        const at = kind === undefined ? undefined : time(name, need, kind)
        return at === undefined ? undefined : { at, inclusive: kind === 'inclusive' }
      }
      const lower = bound('since') ?? bound('from')
      const page = {
        lower,
        upper: bound('before') ?? bound('to'),
        limit: ignoresLimit ? size : limit(size),
      }
      throwIssues()
      return page
    },
  }
}

const fieldChecks = {
  text: (value: unknown) => typeof value === 'string' && value.trim() !== '',
  string: (value: unknown) => typeof value === 'string',
  'text or null': (value: unknown) => typeof value === 'string' || value === null,
  boolean: (value: unknown) => typeof value === 'boolean',
  integer: (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0,
  object: isObject,
}

/** Fields of `optional` may be absent. Throws Problem with every invalid one. */
export function readBody(
  body: unknown,
  required: Readonly<Record<string, keyof typeof fieldChecks>>,
  optional: typeof required = {},
): Readonly<Record<string, unknown>> {
  if (!isObject(body)) throw validationProblem({ field: 'body', message: 'must be a JSON object' })
  const issues = Object.entries({ ...required, ...optional }).flatMap(([field, kind]) => {
    if (!Object.hasOwn(body, field))
      return Object.hasOwn(required, field) ? [{ field, message: 'is required' }] : []
    return fieldChecks[kind](body[field]) ? [] : [{ field, message: `must be ${kind}` }]
  })
  if (issues.length > 0) throw validationProblem(...issues)
  return body
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
