/** Faults between a client and the service: random, or scripted in advance. */

import { isWrite, type Operation } from '../api/operation.ts'
import { pick, purposes, type Random, toUnitInterval } from '../seed/random.ts'
import { parseNames, type Switches } from '../switches.ts'

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

export type Faults = ReturnType<typeof createFaults>

const optInKinds: readonly FaultKind[] = [
  'foreign-429-after',
  'huge',
  'slow',
  'status',
  'status-after',
  'says-failed',
  'says-failed-after',
]
const allKinds = Object.keys(faultKinds) as FaultKind[]
const defaultKinds = allKinds.filter((kind) => !optInKinds.includes(kind))

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
