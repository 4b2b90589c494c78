import type { Operation } from '../core/operations.ts'
import type { WritebackRequest } from '../core/writeback-request.ts'
import { createHandledHandler } from './handled.ts'
import { createMessageHandler } from './message.ts'
import { createNoteHandler } from './note.ts'
import type { CreateHandler, OperationHandler } from './operation-handler.ts'
import { createVisitorHandler } from './visitor-fields.ts'

const handlers: { readonly [O in Operation]: CreateHandler<O> } = {
  message: createMessageHandler,
  handled: createHandledHandler,
  visitor: createVisitorHandler,
  note: createNoteHandler,
}

export function createHandler<O extends Operation>(request: WritebackRequest<O>): OperationHandler {
  return handlers[request.operation](request)
}
