/**
 * Whether the key lacks a scope, or single targets are refused as if it did: a write that is
 * refused says nothing of other targets. So each is left for later, and only many in a row, with
 * none accepted since, hold back all operations on such targets. Tests:
 * test/outbox/refused-targets.test.ts.
 */
import type { ApiFailure } from '../../service/core/api-failure.ts'
import { type Operation, operationTypes } from '../core/operations.ts'
import { operationsWithoutScope } from './circuit-breaker.ts'

/** As many as may be refused for reasons of their own at the head of a queue. */
const maxTargets = 8

type Refused = {
  readonly operations: readonly Operation[]
  readonly failure: ApiFailure
  readonly lanes: Set<string>
}

export function createScopeRefusals() {
  const byKind = new Map<string, Refused>()
  const kindOf = (operation: Operation) => operationTypes[operation].target
  return {
    /** False: the failure is not about a scope. */
    add(lane: string, operation: Operation, failure: ApiFailure): boolean {
      const operations = operationsWithoutScope(operation, failure)
      if (operations.length === 0) return false
      const lanes = byKind.get(kindOf(operation))?.lanes ?? new Set()
      byKind.set(kindOf(operation), { operations, failure, lanes: lanes.add(lane) })
      return true
    },
    /** None was accepted since, so it may be the key. */
    hasRefused: (lane: string): boolean => [...byKind.values()].some(({ lanes }) => lanes.has(lane)),
    /** A write-back of this operation was accepted. */
    accept: (operation: Operation): void => void byKind.delete(kindOf(operation)),
    /** The operations to hold back. `targets`: after so many refusals. */
    denied(targets = maxTargets): ReadonlyMap<Operation, ApiFailure> {
      const refused = [...byKind.values()].filter(({ lanes }) => lanes.size >= targets)
      const entries = refused.flatMap(({ operations, failure }) =>
        operations.map((operation) => [operation, failure] as const),
      )
      return new Map(entries)
    },
  }
}
