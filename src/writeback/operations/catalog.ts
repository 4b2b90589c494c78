/** Every operation, by its name. */
import type { Operation } from '../../core/outbox/wish.ts'
import { handled } from './handled.ts'
import { message } from './message.ts'
import { note } from './note.ts'
import type { Procedure } from './procedure.ts'
import { visitor } from './visitor.ts'

/** A procedure is only ever given a wish of its own operation. */
export const procedures = { message, handled, visitor, note } as unknown as Readonly<Record<Operation, Procedure>>
