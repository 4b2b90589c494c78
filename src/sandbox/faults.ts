/**
 * Faults of single requests, random or scripted, and the responses that replace. What holds for all
 * of them is a switch (`switches.ts`).
 */
import { STATUS_CODES } from 'node:http'
import type { Json } from '../values/json.ts'
import { type Endpoint, isWrite } from './endpoints.ts'
import { pick, purposes, type SeededRandom, toUnitInterval } from './random.ts'
import { jsonResponse, type ServiceResponse } from './response.ts'
import { parseNames, type Switches } from './switches.ts'

type Fault = {
  /** Whether the service performs the operation first. */
  readonly done: boolean
  /** In place of the real response, which else the network cuts, lengthens or delays. */
  readonly respond?: (requestId: string, s: Switches) => ServiceResponse
}

const busy = envelope(503, 'SERVICE_UNAVAILABLE')
const busyFor1s = envelope(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' })
const internalError = envelope(500, 'INTERNAL_ERROR')
/** As when another client used the key. */
const overLimit = waitingAsAsked(envelope(429, 'rate_limited', { 'retry-after': '1' }))
/** As a gateway answers, which says nothing of what happened behind it. */
const busyGateway = waitingAsAsked(htmlPage(429))
const badGateway = htmlPage(502)

export const faultKinds = {
  /** The connection is cut, before the service sees the request, or instead of the response. */
  'reset-before': { done: false },
  'reset-after': { done: true },
  'error-500': { done: false, respond: internalError },
  'error-500-after': { done: true, respond: internalError },
  'html-502': { done: false, respond: badGateway },
  'html-502-after': { done: true, respond: badGateway },
  'busy-503': { done: false, respond: busy },
  'busy-503-retry-after': { done: false, respond: busyFor1s },
  /** Half of the body, then the connection is cut. */
  truncated: { done: true },
  'not-json': { done: true, respond: htmlPage(200, 'Please log in') },
  /** A body that does not end for a long time. */
  huge: { done: true },
  slow: { done: true },
  'foreign-429': { done: false, respond: overLimit },
  'foreign-429-after': { done: true, respond: overLimit },
  'html-429': { done: false, respond: busyGateway },
  'html-429-after': { done: true, respond: busyGateway },
  redirect: {
    done: false,
    respond: () => ({ status: 302, headers: { location: '/elsewhere' }, body: '' }),
  },
  /** The status that `fault.status` names. */
  status: { done: false, respond: waitingAsAsked(oddStatus) },
  'status-after': { done: true, respond: waitingAsAsked(oddStatus) },
  /** A 200 whose body reports a failure in the form of `fault.says`. */
  'says-failed': { done: false, respond: reportedFailure },
  'says-failed-after': { done: true, respond: reportedFailure },
} as const satisfies Record<string, Fault>
export type FaultKind = keyof typeof faultKinds

export const faultOf = (kind: FaultKind): Fault => faultKinds[kind]

/** A fault for the next matching requests; without `kind`, only `before` happens. */
export type ScriptedFault = {
  readonly kind?: FaultKind
  /** Runs when such a request arrives. */
  readonly before?: () => void
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
const optInKinds = /^(foreign-429-after|html-429|huge|slow|status|says-failed)/
const defaultKinds = allKinds.filter((kind) => !optInKinds.test(kind))

export function createFaults(random: SeededRandom, switches: () => Switches) {
  const scripted: { readonly fault: ScriptedFault; skip: number; left: number }[] = []
  const randomFault = (operation: Endpoint, requestNumber: number): FaultKind | null => {
    const s = switches()
    if (toUnitInterval(random(purposes.fault, requestNumber)) >= s['fault.rate']) return null
    if (s['fault.on'] !== 'all' && isWrite(operation) !== (s['fault.on'] === 'writes')) return null
    return pick(parseFaultKinds(s['fault.kinds']), random(purposes.fault, requestNumber, 1))
  }
  return {
    script(fault: ScriptedFault) {
      if (fault.kind !== undefined && !Object.hasOwn(faultKinds, fault.kind))
        throw new RangeError(`there is no fault ${fault.kind}`)
      scripted.push({ fault, skip: fault.skip ?? 0, left: fault.times ?? 1 })
    },
    clear: () => void scripted.splice(0),
    /** The fault of this request. Called once per request, in order of arrival. */
    nextFault(operation: Endpoint, requestNumber: number, path: string): FaultKind | null {
      const entry = scripted.find(
        ({ fault, left }) =>
          left > 0 &&
          path.includes(fault.path ?? '') &&
          (fault.operation ?? operation.id) === operation.id &&
          (fault.method ?? operation.method) === operation.method,
      )
      if (entry === undefined) return randomFault(operation, requestNumber)
      if (entry.skip > 0) {
        entry.skip -= 1
        return null
      }
      entry.left -= 1
      entry.fault.before?.()
      return entry.fault.kind ?? null
    },
  }
}

/** Throws a RangeError for a kind that does not exist. */
export function parseFaultKinds(list: string): readonly FaultKind[] {
  const chosen = parseNames(
    list,
    allKinds,
    (name) => `there is no fault ${name}; there are ${allKinds.join(', ')}`,
  )
  return chosen.length === 0 ? defaultKinds : chosen
}

function envelope(status: number, code: string, headers: Record<string, string> = {}) {
  const error = { code, message: 'Something went wrong', status, retryable: true }
  return (requestId: string) => jsonResponse(status, JSON.stringify({ error, requestId }), headers)
}

export function htmlPage(status: number, title = STATUS_CODES[status]) {
  const body = `<html><head><title>${status} ${title}</title></head><body><h1>${title}</h1></body></html>`
  return (): ServiceResponse => ({
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body,
  })
}

function waitingAsAsked(respond: NonNullable<Fault['respond']>): NonNullable<Fault['respond']> {
  return (requestId, s) => {
    const response = respond(requestId, s)
    const seconds = s['fault.retryAfter']
    if (seconds === 0) return response
    return { ...response, headers: { ...response.headers, 'retry-after': String(seconds) } }
  }
}

function oddStatus(requestId: string, { 'fault.status': status }: Switches): ServiceResponse {
  const error = { code: 'ODD', message: 'Something is odd', status, retryable: false }
  const body = JSON.stringify(status < 300 ? { data: null, requestId } : { error, requestId })
  return jsonResponse(status, body, status >= 300 && status < 400 ? { location: '/elsewhere' } : {})
}

function reportedFailure(requestId: string, s: Switches): ServiceResponse {
  const message = 'It could not be sent'
  const bodies: Record<Switches['fault.says'], Record<string, Json>> = {
    ok: { ok: false, data: null },
    success: { success: false, message },
    errors: { data: null, errors: [{ message }] },
    error: { error: message },
    code: { error: { code: 'VALIDATION_ERROR', message, status: 400, retryable: false } },
    data: { data: { success: false } },
    word: { status: 'error', message },
  }
  return jsonResponse(200, JSON.stringify({ ...bodies[s['fault.says']], requestId }))
}
