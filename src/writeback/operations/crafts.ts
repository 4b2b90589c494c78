/** Every operation, by its name. */
import type { Operation } from '../../core/wish.ts'
import type { Craft } from '../deps.ts'
import { handled } from './handled.ts'
import { message } from './message.ts'
import { note } from './note.ts'
import { visitor } from './visitor.ts'

/** An operation's craft is only ever given a wish of that operation. */
export const crafts = { message, handled, visitor, note } as unknown as Readonly<Record<Operation, Craft>>
