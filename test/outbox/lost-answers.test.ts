/**
 * The warehouse did what a sender asked, and its answer was lost: the sender asks again, and others
 * may have sent meanwhile.
 */
import { expect, test } from 'vitest'
import { parseRequest } from '../../src/outbox/core/writeback-request.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import type { Repeatable } from '../../src/warehouse/retry.ts'
import { databases } from '../support/databases.ts'
import { claimFirst, conversation, markSending, openOutbox } from './batch-fixture.ts'

const notSent = {
  event: 'not_sent',
  why: 'the warehouse did not answer when this was marked as sending',
} as const
/** Later than any lease. */
const later = () => Date.now() + 10 * 60_000

async function queueReply(outbox: Outbox) {
  const line = {
    operation: 'message',
    conversation_id: conversation(1),
    content: 'We have found it.',
    sender_name: 'Ann',
  }
  const parsed = parseRequest(line)
  if (!parsed.ok) throw new Error('invalid')
  await outbox.enqueue([[parsed.request]], {
    status: 'queued',
    batchId: null,
    createdBy: 'ann',
    expiresAt: null,
  })
}

const states = async (outbox: Outbox) =>
  (await outbox.list({}, 10)).map(({ status, attempts }) => [status, attempts])

test.each(databases)(
  'a send that was not recorded takes back no other one: $name',
  async (database) => {
    const { outbox } = await openOutbox(database)
    await queueReply(outbox)
    const away = await claimFirst(outbox)
    const other = (await outbox.claim(away.id, later()))!
    expect(await markSending(outbox, other)).toBe(true)
    expect(await outbox.settleSent(away, notSent)).toBeNull()
    expect(await states(outbox)).toEqual([['sending', 1]])
    expect(
      await outbox.settleSent(other, { event: 'accepted', why: 'the service answered 200' }),
    ).toBe('succeeded')
  },
)

test.each(databases)(
  'a refused send that is stored twice takes back no later one: $name',
  async (database) => {
    const { outbox } = await openOutbox(database)
    await queueReply(outbox)
    const away = await claimFirst(outbox)
    expect(await markSending(outbox, away)).toBe(true)
    expect(await outbox.settleSent(away, notSent)).toBe('queued')
    const other = await claimFirst(outbox)
    expect(await markSending(outbox, other)).toBe(true)
    expect(await outbox.settleSent(away, notSent)).toBeNull()
    expect(await states(outbox)).toEqual([['sending', 1]])
  },
)

test.each(databases)(
  'a late answer counts, although others have looked for the reply: $name',
  async (database) => {
    const { outbox } = await openOutbox(database)
    await queueReply(outbox)
    const late = await claimFirst(outbox)
    expect(await markSending(outbox, late)).toBe(true)
    const other = (await outbox.claim(late.id, later()))!
    expect(await outbox.settle(other, { event: 'unverifiable', why: 'nobody knows' })).toBe(
      'uncertain',
    )
    expect(
      await outbox.settleSent(late, { event: 'accepted', why: 'the service answered 200' }),
    ).toBe('succeeded')
  },
)

test('what is done again after a lost answer says so where it is defined', () => {
  const findRow = async () => 1
  const settleRow = async () => 1
  const addRow = async () => 1
  settleRow.mayRepeat = true as const
  const reads: Repeatable<{ findRow: typeof findRow; settleRow: typeof settleRow }> = {
    findRow,
    settleRow,
  }
  // @ts-expect-error: a second time would add a second row.
  const writes: Repeatable<{ addRow: typeof addRow }> = { addRow }
  expect(Object.keys({ ...reads, ...writes })).toEqual(['findRow', 'settleRow', 'addRow'])
})
