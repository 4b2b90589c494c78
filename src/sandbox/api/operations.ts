/** Every operation of the service, except the widget's token. */
import { callOperations } from './call-operations.ts'
import { conversationOperations } from './conversation-operations.ts'
import type { Operation } from './operation.ts'
import { overviewOperations } from './overview-operations.ts'
import { visitorOperations } from './visitor-operations.ts'

export const operations: readonly Operation[] = [
  ...conversationOperations,
  ...visitorOperations,
  ...callOperations,
  ...overviewOperations,
]
