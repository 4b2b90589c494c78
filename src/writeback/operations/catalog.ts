/** The handler of each operation. */
import type { Operation } from '../../core/outbox/writeback-request.ts'
import { handledHandler } from './handled.ts'
import { messageHandler } from './message.ts'
import { noteHandler } from './note.ts'
import type { OperationHandler } from './operation-handler.ts'
import { visitorHandler } from './visitor.ts'

/** The cast is safe, as each handler is called only with requests of its own operation. */
export const operationHandlers = {
  message: messageHandler,
  handled: handledHandler,
  visitor: visitorHandler,
  note: noteHandler,
} as unknown as Readonly<Record<Operation, OperationHandler>>
