/** What a person saw before correcting a visitor or adding a note was said in a conversation of that visitor. */
import type { Writeback } from '../../core/outbox/repository.ts'
import { parseTime } from '../../core/time.ts'
import type { WritebackDeps } from '../deps.ts'
import { findViolation, toPrecondition } from './precondition.ts'
import { conversationPath } from './conversation.ts'

/** Why it must not go; null: nothing was expected, or nothing has happened since. Throws CallFailed. */
export async function findVisitorViolation(
  deps: WritebackDeps,
  writeback: Writeback,
  expect: string | null,
): Promise<string | null> {
  if (expect === null) return null
  const conversationId = await deps.outbox.findConversation(writeback.target, parseTime(expect) === undefined ? expect : null)
  if (conversationId === null) return 'the mirror knows no conversation of this visitor, so what was expected cannot be looked up'
  const conversation = await deps.get(conversationPath(conversationId), {}, 'write')
  return findViolation(deps, conversationId, conversation, toPrecondition(writeback, expect, conversation))
}
