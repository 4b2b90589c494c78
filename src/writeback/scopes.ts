/** What a key that lacks a scope cannot do. */
import type { CallFailed, Failure } from '../core/failure.ts'
import { aboutWhat, type Operation, operations } from '../core/outbox/wish.ts'

/**
 * The operations that are out of reach after this; empty: it is about something else than a scope. Those that are about the
 * same kind of thing need the same scopes: one to write, one to look before.
 */
export function outOfReach(operation: Operation, { failure }: CallFailed): readonly Operation[] {
  return isScope(failure) ? operations.filter((other) => aboutWhat[other] === aboutWhat[operation]) : []
}

function isScope(failure: Failure): boolean {
  return failure.kind === 'denied' && (failure.scope !== null || failure.code === 'api_key_scope_missing')
}
