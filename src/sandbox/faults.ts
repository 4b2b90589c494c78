/** Faults between a client and the service, random or scripted in advance, and the responses that replace the real ones. */
import type { Json } from '../values/json.ts'
import { isWrite, type Operation } from './operations.ts'
import { pick, purposes, type Random, toUnitInterval } from './random.ts'
import { jsonResponse, type ServiceResponse } from './response.ts'
import { parseNames, type Switches } from './switches.ts'

/** Each kind, and whether the service performs the operation first. */
export const faultKinds = {
  'reset-before': { done: false, about: 'the connection is cut before the service sees the request' },
  'reset-after': { done: true, about: 'the connection is cut instead of the response' },
  'error-500': { done: false, about: 'a 500 in the envelope' },
  'error-500-after': { done: true, about: 'a 500 in the envelope, but the operation was performed' },
  'html-502': { done: false, about: 'a 502 as an HTML page of a gateway' },
  'html-502-after': { done: true, about: 'a 502 as an HTML page, but the operation was performed' },
  'busy-503': { done: false, about: 'a 503' },
  'busy-503-retry-after': { done: false, about: 'a 503 with Retry-After: 1' },
  truncated: { done: true, about: 'half of the body, then the connection is cut' },
  'not-json': { done: true, about: 'a 200 that is an HTML page' },
  huge: { done: true, about: 'a body that does not end for a long time' },
  slow: { done: true, about: 'the right response, late' },
  'foreign-429': { done: false, about: 'a 429, because another client used the key' },
  'foreign-429-after': { done: true, about: 'a 429, but the operation was performed' },
  redirect: { done: false, about: 'a redirect elsewhere' },
  status: { done: false, about: 'the status that `fault.status` names' },
  'status-after': { done: true, about: 'the status that `fault.status` names, but the operation was performed' },
  'says-failed': { done: false, about: 'a 200 whose body reports a failure in the form of `fault.says`' },
  'says-failed-after': { done: true, about: 'the same, but the operation was performed' },
} as const satisfies Record<string, { done: boolean; about: string }>
export type FaultKind = keyof typeof faultKinds

/** A fault for the next matching requests. */
export type ScriptedFault = {
  readonly kind: FaultKind
  /** Only for this operation. */
  readonly operation?: string
  readonly method?: 'GET' | 'POST' | 'PATCH'
  /** Only for paths that contain this, such as an id. */
  readonly path?: string
  /** How many matching requests are left alone first; default 0. */
  readonly skip?: number
  /** How many requests get it; default 1. */
  readonly times?: number
}

const allKinds = Object.keys(faultKinds) as FaultKind[]
const optInKinds = /^(foreign-429-after|huge|slow|status|says-failed)/
const defaultKinds = allKinds.filter((kind) => !optInKinds.test(kind))

export function createFaults(random: Random, switches: () => Switches) {
  let scripted: { readonly fault: ScriptedFault; skip: number; left: number }[] = []
  return {
    script(fault: ScriptedFault) {
      if (!Object.hasOwn(faultKinds, fault.kind)) throw new RangeError(`there is no fault ${fault.kind}`)
      scripted.push({ fault, skip: fault.skip ?? 0, left: fault.times ?? 1 })
    },
    clear() {
      scripted = []
    },
    /** The fault of this request. Called once per request, in order of arrival. */
    nextFault(operation: Operation, requestNumber: number, path: string): FaultKind | null {
      const entry = scripted.find(({ fault, left }) => left > 0 && matchesRequest(fault, operation, path))
      if (entry === undefined) return randomFault(random, switches(), operation, requestNumber)
      if (entry.skip > 0) {
        entry.skip -= 1
        return null
      }
      entry.left -= 1
      return entry.fault.kind
    },
  }
}

function matchesRequest(fault: ScriptedFault, operation: Operation, path: string): boolean {
  return (
    (fault.path === undefined || path.includes(fault.path)) &&
    (fault.operation === undefined || fault.operation === operation.id) &&
    (fault.method === undefined || fault.method === operation.method)
  )
}

function randomFault(random: Random, s: Switches, operation: Operation, requestNumber: number): FaultKind | null {
  if (s['fault.rate'] === 0 || toUnitInterval(random(purposes.fault, requestNumber)) >= s['fault.rate']) return null
  if (s['fault.on'] !== 'all' && isWrite(operation) !== (s['fault.on'] === 'writes')) return null
  return pick(parseFaultKinds(s['fault.kinds']), random(purposes.fault, requestNumber, 1))
}

/** Throws a RangeError for a kind that does not exist. */
export function parseFaultKinds(list: string): readonly FaultKind[] {
  const chosen = parseNames(list, allKinds, (name) => `there is no fault ${name}`)
  return chosen.length === 0 ? defaultKinds : chosen
}

/** The response that replaces the real one; undefined if the fault keeps it. */
export function faultResponse(kind: FaultKind, requestId: string, s: Switches): ServiceResponse | undefined {
  const envelope = (status: number, code: string, headers: Record<string, string> = {}) => {
    const error = { code, message: 'Something went wrong', status, retryable: true }
    return jsonResponse(status, JSON.stringify({ error, requestId }), headers)
  }
  switch (kind) {
    case 'error-500':
    case 'error-500-after':
      return envelope(500, 'INTERNAL_ERROR')
    case 'html-502':
    case 'html-502-after':
      return gatewayPage(502, 'Bad Gateway')
    case 'busy-503':
      return envelope(503, 'SERVICE_UNAVAILABLE')
    case 'busy-503-retry-after':
      return envelope(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' })
    case 'foreign-429':
    case 'foreign-429-after':
      return envelope(429, 'rate_limited', { 'retry-after': '1' })
    case 'not-json':
      return gatewayPage(200, 'Please log in')
    case 'status':
    case 'status-after':
      return statusResponse(s['fault.status'], requestId)
    case 'says-failed':
    case 'says-failed-after':
      return jsonResponse(200, JSON.stringify({ ...failureBodies[s['fault.says']], requestId }))
    case 'redirect':
      return { status: 302, headers: { location: '/elsewhere' }, body: '' }
    default:
      return undefined
  }
}

function gatewayPage(status: number, title: string): ServiceResponse {
  const body = `<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>`
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body }
}

function statusResponse(status: number, requestId: string): ServiceResponse {
  const error = { code: 'ODD', message: 'Something is odd', status, retryable: false }
  const body = JSON.stringify(status < 300 ? { data: null, requestId } : { error, requestId })
  return jsonResponse(status, body, status >= 300 && status < 400 ? { location: '/elsewhere' } : {})
}

/** Bodies that report a failure with status 200. */
const failureBodies: Record<Switches['fault.says'], Record<string, Json>> = {
  ok: { ok: false, data: null },
  success: { success: false, message: 'It could not be sent' },
  errors: { data: null, errors: [{ message: 'It could not be sent' }] },
  error: { error: 'It could not be sent' },
  code: { error: { code: 'VALIDATION_ERROR', message: 'It could not be sent', status: 400, retryable: false } },
  data: { data: { success: false } },
  word: { status: 'error', message: 'It could not be sent' },
}
