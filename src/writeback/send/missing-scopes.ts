/** Which operations a key without a scope cannot perform. */
import type { ApiError, ApiFailure } from '../../core/api-failure.ts'
import { type Operation, operations, targetKind } from '../../core/outbox/writeback-request.ts'

/**
 * The operations that the error rules out; empty if it does not concern a scope. Operations on the same kind of target
 * need the same scopes: one for writing and one for the read before it.
 */
export function operationsWithoutScope(operation: Operation, { failure }: ApiError): readonly Operation[] {
  return isMissingScope(failure) ? operations.filter((other) => targetKind[other] === targetKind[operation]) : []
}

function isMissingScope(failure: ApiFailure): boolean {
  return failure.kind === 'denied' && (failure.scope !== null || failure.code === 'api_key_scope_missing')
}
