/** What a person saw before correcting a visitor or adding a note was said in a conversation of that visitor. */
import type { Writeback } from '../../core/outbox/outbox.ts'
import { moment } from '../../core/time.ts'
import type { WritebackDeps } from '../deps.ts'
import { newsSince, seenBy } from '../expectation.ts'
import { conversationPath } from './conversation.ts'

/** Why it must not go; null: nothing was expected, or nothing has happened since. Throws CallFailed. */
export async function expectedElsewhere(
  deps: WritebackDeps,
  one: Writeback,
  expect: string | null,
): Promise<string | null> {
  if (expect === null) return null
  const id = await deps.outbox.conversationOf(one.target, moment(expect) === undefined ? expect : null)
  if (id === null) return 'the mirror knows no conversation of this visitor, so what was expected cannot be looked up'
  const conversation = await deps.get(conversationPath(id), {}, 'write')
  return newsSince(deps, id, conversation, seenBy(one, expect, conversation))
}
