/** `find_conversations` and `read_conversation`: the lists and the thread of the console. */
import { z } from 'zod'
import { toColumnRules } from '../config/column-settings.ts'
import { listWritebacksTo } from '../console/pages/conversations.ts'
import { readConversation, readWaiting } from '../console/sql/conversations.ts'
import { search } from '../console/sql/search.ts'
import { pageOf, readVisitor } from '../console/sql/visitor.ts'
import { defineTool, foreign, mistake, rows } from './tool.ts'

const noTexts = 'Texts, names and addresses are null where the person may not read messages.'
const next = z.string().nullable()
const minutes = z.number().min(0).max(10_000_000)
const digits = z.string().regex(/^\d{1,15}$/)

export const findTool = defineTool({
  name: 'find_conversations',
  description:
    "By an id, a visitor's name or address, or words of messages; without a text, who waits " +
    `for an answer, the longest first. ${noTexts}`,
  input: z.object({
    text: z.string().min(1).max(500).optional(),
    waitingMinutes: minutes.default(0).describe('Without a text: who waits at least that long'),
    after: z.string().max(200).optional().describe('The `next` of the answer before'),
  }),
  output: z.looseObject({
    conversations: rows.describe(`\`name\`, \`email\`, \`words\`: ${foreign}`),
    visitors: rows.describe(
      `Search by such an id for all of theirs. \`name\`, \`email\`: ${foreign}`,
    ),
    next,
  }),
  run: async ({ text, waitingMinutes, after = null }, { db, hidesMessages, now, project }) => {
    if (text === undefined) {
      const filter = { minAgeMs: waitingMinutes * 60_000, isUnassigned: false, after }
      const { rows, next } = await readWaiting(db, filter, now())
      const conversations = rows.map(({ lastWords: words, ...row }) => ({ ...row, words }))
      return { conversations, visitors: [], next }
    }
    const found = await search(db, text, after, toColumnRules(project))
    if ('id' in found) {
      if (found.kind !== 'visitor')
        return { conversations: [{ id: found.id }], visitors: [], next: null }
      const place = { list: 'conversations', after }
      const { conversations, id, row } = await readVisitor(db, found.id, place)
      const listed = pageOf('conversations', conversations, place)
      const { name, email } = row ?? { name: null, email: null }
      return { conversations: listed.rows, visitors: [{ id, name, email }], next: listed.next }
    }
    // Whether a word is found says that it is there.
    if (hidesMessages) return { conversations: [], visitors: [], next: null }
    return { conversations: found.conversations, visitors: found.people, next: found.next }
  },
})

function cut(content: string, length: number): string {
  const more = content.length - length
  return more <= 0 ? content : `${content.slice(0, length)} … and ${more} more characters`
}

/** Of all messages of an answer, in characters. */
const shownCharacters = 150_000

export const readTool = defineTool({
  name: 'read_conversation',
  description:
    'The newest 200 messages, what changed, and which write-backs are ' +
    `queued for it or were sent. ${noTexts}`,
  input: z.object({
    id: z.string().min(1).max(100),
    before: digits.optional().describe('The `older` of the answer before'),
  }),
  output: z.looseObject({
    messages: rows.describe(`\`role\`: visitor, team or event. \`content\`: ${foreign}`),
    writebacks: rows,
    older: next,
  }),
  run: async ({ id, before = null }, { db }) => {
    const data = await readConversation(db, id, before)
    if (data === null)
      throw mistake(
        'nothing was read',
        `there is no conversation ${id}`,
        'look for it with `find_conversations`',
      )
    const each = Math.max(500, Math.floor(shownCharacters / data.messages.length))
    const messages = data.messages.map((message) => ({
      ...message,
      content: message.content && cut(message.content, each),
    }))
    return { ...data, messages, writebacks: await listWritebacksTo(db, data) }
  },
})
