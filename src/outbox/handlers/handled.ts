/** Marks a conversation handled, or reopens it. */
import { describeUnsentReply } from '../core/review/review.ts'
import { findViolation } from './conversation-snapshot.ts'
import {
  absent,
  type CreateHandler,
  findShown,
  needsAnswer,
  readTarget,
  readTrace,
} from './operation-handler.ts'

export const createHandledHandler: CreateHandler<'handled'> = ({
  payload: { handled: wanted },
  expect,
}) => ({
  method: 'POST',
  path: '/handled',
  verifyDelayFactor: 0.1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    // "Reply, then close": without the reply, the customer would be left without an answer.
    const reply = wanted ? await deps.outbox.findPreviousReplyStatus(writeback) : null
    if (reply !== null && reply !== 'succeeded')
      return { event: 'conflicted', why: describeUnsentReply(reply) }
    const conversation = await readTarget(task)
    const { handledAt, lastMessageAt } = readTrace(conversation)
    if (wanted || expect !== null) {
      const why = await findViolation(task, expect, conversation)
      if (why !== null) return { event: 'conflicted', why }
    }
    // It was sent before, and someone marked the conversation handled since: the newer change wins.
    const was = writeback.evidence.before?.handledAt
    if (!wanted && was !== undefined && handledAt !== null && handledAt !== was)
      return { event: 'conflicted', why: `someone marked it handled at ${handledAt}` }
    return { body: { handled: wanted }, before: { handledAt, lastMessageAt } }
  },
  verify: async (task) => {
    const { before } = task.writeback.evidence
    const isNowHandled = readTrace(await readTarget(task)).handledAt !== null
    const wasHandled = (before?.handledAt ?? null) !== null
    if (isNowHandled !== wanted || (wasHandled === wanted && needsAnswer(task))) return absent
    return { event: 'found', why: `the conversation is ${isNowHandled ? 'handled' : 'open'}` }
  },
  findContradiction: (task, shown) => {
    const data = findShown(task, shown)
    if (data?.handledAt === undefined) return null
    const { handledAt, lastMessageAt } = readTrace({ data })
    if ((handledAt !== null) === wanted) return null
    // A message that arrived since may have reopened it.
    const isNewer =
      data.lastMessageAt !== undefined &&
      lastMessageAt !== task.writeback.evidence.before?.lastMessageAt
    return wanted && isNewer ? null : `still shows it as ${wanted ? 'open' : 'handled'}`
  },
})
