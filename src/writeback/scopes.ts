/** What a key that lacks a scope cannot do. */
import type { CallFailed, Failure } from '../core/failure.ts'
import type { Operation } from '../core/wish.ts'

/** Those that are about the same kind of thing need the same scopes: one to write, one to look before. */
const kindred: Readonly<Record<Operation, readonly Operation[]>> = {
  message: ['message', 'handled'],
  handled: ['message', 'handled'],
  visitor: ['visitor', 'note'],
  note: ['visitor', 'note'],
}

/** The operations that are out of reach after this; empty: it is about something else than a scope. */
export function outOfReach(operation: Operation, { failure }: CallFailed): readonly Operation[] {
  return isScope(failure) ? kindred[operation] : []
}

function isScope(failure: Failure): boolean {
  return failure.kind === 'denied' && (failure.scope !== null || failure.code === 'api_key_scope_missing')
}
