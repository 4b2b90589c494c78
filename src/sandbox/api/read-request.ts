/** Parses a request's query and body, and reports every invalid field at once. */
import { type EpochMs, parseTime } from '../../core/time.ts'
import type { BoundKind, Switches } from '../switches.ts'
import { type Issue, validationProblem } from './problem.ts'

export const defaultPageSize = 50
export const maxPageSize = 200

/** `known`: the parameters of the operation. Throws Problem for others, if the service rejects them. */
export function checkQuery(query: URLSearchParams, known: readonly string[], s: Switches): void {
  if (s['query.unknown'] === 'ignored') return
  const unknown = [...new Set(query.keys())].filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw validationProblem(...unknown.map((field) => ({ field, message: 'is not a parameter of this operation' })))
}

/** Parses query parameters and collects issues; `throwIssues` throws a Problem if there are any. */
export function createQueryReader(query: URLSearchParams, s: Switches) {
  const issues: Issue[] = []
  const addIssue = (field: string, message: string) => {
    issues.push({ field, message })
    return undefined
  }
  return {
    limit(usual: number) {
      const text = query.get('limit')
      if (s['pages.size'] > 0) return s['pages.size']
      if (text === null) return usual
      const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
      if (limit < 1) addIssue('limit', 'must be an integer from 1 to 200')
      if (limit <= maxPageSize || s['limit.over'] === 'honoured') return limit
      if (s['limit.over'] === 'rejected') addIssue('limit', 'must be an integer from 1 to 200')
      return maxPageSize
    },
    time(name: string, need: 'optional' | 'required', bound: BoundKind = 'inclusive'): EpochMs | undefined {
      const text = query.get(name)
      if (text === null) return need === 'required' ? addIssue(name, 'is required') : undefined
      if (bound === 'refused') return addIssue(name, 'is not supported')
      if (bound === 'ignored') return undefined
      return parseTime(text) === undefined ? addIssue(name, 'must be an RFC 3339 timestamp') : Date.parse(text)
    },
    flag(name: string) {
      const text = query.get(name)
      if (text === null) return undefined
      return text === 'true' || text === 'false' ? text === 'true' : addIssue(name, 'must be true or false')
    },
    throwIssues() {
      if (issues.length > 0) throw validationProblem(...issues)
    },
  }
}

export type FieldKind = 'text' | 'string' | 'text or null' | 'boolean' | 'integer' | 'object'

const fieldChecks: Record<FieldKind, (value: unknown) => boolean> = {
  text: (value) => typeof value === 'string' && value.trim() !== '',
  string: (value) => typeof value === 'string',
  'text or null': (value) => typeof value === 'string' || value === null,
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  object: (value) => isObject(value),
}

/** Checks the body's fields against their kinds. Fields of `optional` may be absent. Throws Problem with every invalid one. */
export function readBody(
  body: unknown,
  required: Readonly<Record<string, FieldKind>>,
  optional: Readonly<Record<string, FieldKind>> = {},
): Readonly<Record<string, unknown>> {
  if (!isObject(body)) throw validationProblem({ field: 'body', message: 'must be a JSON object' })
  const issues = Object.entries({ ...required, ...optional }).flatMap(([field, kind]) => {
    if (!Object.hasOwn(body, field)) return Object.hasOwn(required, field) ? [{ field, message: 'is required' }] : []
    return fieldChecks[kind](body[field]) ? [] : [{ field, message: `must be ${kind}` }]
  })
  if (issues.length > 0) throw validationProblem(...issues)
  return body
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
