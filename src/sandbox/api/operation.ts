/** The type of an operation, and the router that matches requests to operations. */

import type { Json } from '../../core/row.ts'
import type { EpochMs } from '../../core/time.ts'
import type { Scope } from '../keys.ts'
import type { Project } from '../project.ts'
import type { Switches } from '../switches.ts'

/** An authorized request. */
export type OperationRequest = {
  readonly project: Project
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: unknown
  readonly switches: Switches
  readonly now: EpochMs
}

export type Operation = {
  /** As in schema/openapi.yaml. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly scope: Scope
  /** The parameters that it knows. */
  readonly query?: readonly string[] | ((s: Switches) => readonly string[])
  /** Returns `data` of the response. Throws Problem. */
  readonly run: (request: OperationRequest) => Json
}

export const isWrite = (operation: Operation) => operation.method !== 'GET'
export const isList = (operation: Operation) => operation.id.startsWith('list')

export type RouteMatch = { readonly operation: Operation; readonly params: Readonly<Record<string, string>> }

/** Finds operations by method and path. */
export function createRouter(operations: readonly Operation[]) {
  const routes = operations.map((operation) => ({ operation, parts: operation.path.split('/') }))
  return (method: string, path: string): RouteMatch | undefined => {
    const given = path.split('/')
    for (const { operation, parts } of routes) {
      if (operation.method !== method || parts.length !== given.length) continue
      const params = matchPath(parts, given)
      if (params !== undefined) return { operation, params }
    }
    return undefined
  }
}

function matchPath(parts: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [n, part] of parts.entries()) {
    const value = given[n] ?? ''
    if (part.startsWith('{')) params[part.slice(1, -1)] = decodeSegment(value)
    else if (part !== value) return undefined
  }
  return params
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
