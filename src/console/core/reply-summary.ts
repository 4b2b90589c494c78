/** Whether a visitor was answered twice, in a sentence, from the states of the replies. Pure. */
import type { WritebackStatus } from '../../outbox/outbox.ts'
import { formatCount } from '../../values/format.ts'

export type SummarizedReply = {
  readonly status: WritebackStatus
  readonly conversation: string | null
  /** By `normalizeText`; null: they are not stored any more. */
  readonly words: string | null
  /** It may have arrived once more than its status says. */
  readonly isInDoubt: boolean
  /** How often the team's messages of its conversation have its words, as the mirror has them. */
  readonly shownTimes: number
}

export function summarizeReplies(replies: readonly SummarizedReply[]): {
  readonly kind: 'act' | 'wrong' | 'fine' | 'note'
  readonly text: string
} {
  const having = (...statuses: readonly WritebackStatus[]) => {
    const all = replies.filter(({ status }) => statuses.includes(status))
    const doubtful = all.filter(({ isInDoubt }) => isInDoubt)
    return { all, doubtful: doubtful.length, clear: all.length - doubtful.length }
  }
  const arrived = having('succeeded')
  const uncertain = having('uncertain').all
  const sending = having('sending')
  const waiting = having('draft', 'queued')
  const ended = having('failed', 'conflict', 'cancelled', 'expired')
  const again = sending.doubtful + waiting.doubtful
  const reached = [...arrived.all, ...uncertain, ...sending.all]
  const alike = countAlike([...reached, ...ended.all.filter(({ isInDoubt }) => isInDoubt)])
  const shownAgain = countShownAgain(arrived.all)
  const count = arrived.all.length
  const once = arrived.doubtful + shownAgain > 0 ? '' : count === 1 ? ', once' : ', each once'
  const parts = [
    count === 0
      ? 'No reply from here is known to have reached this visitor'
      : `${counted(count, 'reply was', 'replies were')} sent to this visitor${once}`,
    counted(
      arrived.doubtful,
      'may have arrived twice, as a person had it sent again',
      'may have arrived twice, as a person had them sent again',
    ),
    counted(
      shownAgain,
      'appears in the conversation more often than it was sent from here',
      'appear in their conversations more often than they were sent from here',
    ),
    counted(uncertain.length, 'is uncertain', 'are uncertain'),
    counted(ended.doubtful, 'did not succeed and may have arrived'),
    counted(
      again,
      'is to be sent again, and may have arrived before',
      'are to be sent again, and may have arrived before',
    ),
    counted(sending.clear, 'is being sent', 'are being sent'),
    counted(waiting.clear, 'has not left yet', 'have not left yet'),
    counted(ended.clear, 'did not reach this visitor'),
  ]
  const needsPerson = uncertain.length + ended.doubtful + again + arrived.doubtful > 0
  const kind = needsPerson ? 'act' : alike + shownAgain > 0 ? 'wrong' : 'fine'
  const said = `${parts.filter((part) => part !== '').join('; ')}.`
  return {
    kind: replies.length === 0 ? 'note' : kind,
    text:
      alike === 0
        ? said
        : `${said} Of those that were or may have been sent, ${alike} have the same words as another.`,
  }
}

/** Empty if there are none. */
function counted(count: number, one: string, many = one): string {
  return count === 0 ? '' : `${formatCount(count)} ${count === 1 ? one : many}`
}

/** How many have the words of another one. */
function countAlike(replies: readonly SummarizedReply[]): number {
  const stored = replies.filter(({ words }) => words !== null)
  return replies.filter((reply) => stored.some((it) => it !== reply && it.words === reply.words))
    .length
}

/** How many appear in their conversation more often than replies with these words were sent. */
function countShownAgain(arrived: readonly SummarizedReply[]): number {
  return arrived.filter(
    ({ conversation, words, shownTimes }) =>
      words !== null &&
      shownTimes >
        arrived.filter((it) => it.conversation === conversation && it.words === words).length,
  ).length
}
