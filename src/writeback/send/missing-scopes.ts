/** What a key that lacks a scope cannot do. */
import type { ApiError, ApiFailure } from '../../core/api-failure.ts'
import { targetKind, type Operation, operations } from '../../core/outbox/writeback-request.ts'

/**
 * The operations that are out of reach after this; empty: it is about something else than a scope. Those that are about the
 * same kind of thing need the same scopes: one to write, one to look before.
 */
export function operationsWithoutScope(operation: Operation, { failure }: ApiError): readonly Operation[] {
  return isMissingScope(failure) ? operations.filter((other) => targetKind[other] === targetKind[operation]) : []
}

function isMissingScope(failure: ApiFailure): boolean {
  return failure.kind === 'denied' && (failure.scope !== null || failure.code === 'api_key_scope_missing')
}
