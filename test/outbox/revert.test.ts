/** What takes a batch back: the inverse of a lane, and of a batch that was sent to the sandbox. */
import { describe, expect, test } from 'vitest'
import type { MirroredTarget, TargetState } from '../../src/outbox/core/field-kinds.ts'
import type { Writeback } from '../../src/outbox/core/outbox-entry.ts'
import type { LaneToRevert, SeenFlagChange } from '../../src/outbox/core/revert.ts'
import { revertLane } from '../../src/outbox/core/revert.ts'
import { revertBatch } from '../../src/outbox/revert.ts'
import { databases } from '../support/databases.ts'
import { claimFirst, conversation, markSending, openOutbox, queueFlags } from './batch-fixture.ts'
import { storedWriteback } from './stored-writeback.ts'

const target = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
const sentAt = '2026-03-01T10:00:00Z'
const later = '2026-03-01T11:00:00Z'

function row(
  line: Parameters<typeof storedWriteback>[0],
  before: TargetState | undefined,
  own: Partial<Writeback> = {},
): Writeback {
  return storedWriteback(line, {
    status: 'succeeded',
    sentAt,
    finishedAt: sentAt,
    targetSnapshot: {},
    evidence: before === undefined ? {} : { before },
    ...own,
  })
}

const handled = (value: boolean, handledAt: string | null | undefined) =>
  row(
    { operation: 'handled', conversation_id: target, handled: value },
    handledAt === undefined ? undefined : { handledAt },
  )

const reply = row(
  { operation: 'message', conversation_id: target, content: 'Hello', sender_name: 'Ann' },
  { ids: [] },
)

function renamed(payload: object, before: TargetState | undefined) {
  return row({ operation: 'visitor', visitor_id: target, ...payload }, before)
}

function mirror(own: Partial<MirroredTarget>): MirroredTarget {
  return {
    syncedAt: later,
    isDeleted: false,
    visitorName: null,
    lastVisitorMessage: null,
    handledAt: null,
    name: null,
    email: null,
    ...own,
  }
}

const writtenBy = (lastMessageSenderType: string, lastMessageAt: string) => ({
  lastMessageSenderType,
  lastMessageAt,
})

const change = (old: string | null, now: string | null): SeenFlagChange => ({
  seenAt: sentAt,
  old,
  new: now,
})

/** `payload` of the inverse, and the outcomes of the rows that are not taken back. */
function inverse(rows: readonly Writeback[], lane: Partial<LaneToRevert> = {}) {
  const { requests, notReverted } = revertLane({ rows, mirrored: null, changes: [], ...lane })
  return [requests[0]?.payload ?? null, notReverted.map(({ id, outcome }) => `${id} ${outcome}`)]
}

describe('a flag', () => {
  test('that was set is cleared, and one that was cleared is set', () => {
    expect(inverse([handled(true, null)], { mirrored: mirror({ handledAt: sentAt }) })).toEqual([
      { handled: false },
      [],
    ])
    expect(inverse([handled(false, '2026-01-01T00:00:00Z')], { mirrored: mirror({}) })).toEqual([
      { handled: true },
      [],
    ])
  })

  test('that was so before is not touched', () => {
    expect(inverse([handled(true, '2026-01-01T00:00:00Z')])).toEqual([null, ['handled already_so']])
  })

  test('set several times goes back to what was before the first', () => {
    expect(inverse([handled(true, null), handled(false, sentAt), handled(true, null)])).toEqual([
      { handled: false },
      [],
    ])
    expect(inverse([handled(true, null), handled(false, sentAt)])).toEqual([
      null,
      ['handled already_so', 'handled already_so'],
    ])
  })

  test('that someone has taken back already stays so', () => {
    expect(inverse([handled(true, null)], { mirrored: mirror({ handledAt: null }) })).toEqual([
      null,
      ['handled already_so'],
    ])
  })

  test('that someone has set again since stays as it is', () => {
    const changes = [
      change(null, sentAt),
      { ...change(sentAt, null), seenAt: later },
      { ...change(null, later), seenAt: later },
    ]
    const lane = { mirrored: mirror({ handledAt: later }), changes }
    expect(inverse([handled(true, null)], lane)).toEqual([null, ['handled stands_against']])
  })

  test('that the batch set twice within a second is still its own', () => {
    const again = '2026-03-01T10:00:01Z'
    const lane = {
      mirrored: mirror({ handledAt: again }),
      changes: [change(null, sentAt), change(sentAt, again)],
    }
    expect(inverse([handled(true, null), handled(true, sentAt)], lane)).toEqual([
      { handled: false },
      [],
    ])
  })

  test('is not set while a visitor who wrote since waits for an answer', () => {
    const lane = { mirrored: mirror(writtenBy('visitor', later)) }
    const byTeam = { mirrored: mirror(writtenBy('agent', later)) }
    expect(inverse([handled(false, '2026-01-01T00:00:00Z')], byTeam)[0]).toEqual({ handled: true })
    expect(inverse([handled(false, '2026-01-01T00:00:00Z')], lane)).toEqual([
      null,
      ['handled stands_against'],
    ])
  })

  test('is not set then by a service whose clock is hours behind either', () => {
    const [was, before, since] = [
      '2026-01-01T00:00:00Z',
      '2026-03-01T04:00:00Z',
      '2026-03-01T05:30:00Z',
    ]
    const cleared = {
      ...handled(false, was),
      evidence: { before: { handledAt: was, lastMessageAt: before } },
    }
    for (const [row, writtenAt, restored] of [
      [cleared, before, { handled: true }],
      [cleared, since, null],
      [reply, since, null],
    ] as const) {
      const lane = {
        mirrored: mirror(writtenBy('visitor', writtenAt)),
        changes: [change(was, null)],
      }
      expect(inverse([row], lane)[0]).toEqual(restored)
    }
  })

  test('is restored where the mirror has not seen the conversation since: the check before sending decides', () => {
    const lane = { mirrored: mirror({ syncedAt: '2026-03-01T09:00:00Z', handledAt: null }) }
    expect(inverse([handled(true, null)], lane)).toEqual([{ handled: false }, []])
  })

  test('of which nothing was stored before it was sent is not known', () => {
    expect(inverse([handled(true, undefined)])).toEqual([null, ['handled not_known']])
  })
})

describe('a reply', () => {
  test('cannot be taken back, but the conversation that it reopened is handled again', () => {
    const changes = [change('2026-01-01T00:00:00Z', null)]
    expect(inverse([reply], { mirrored: mirror({}), changes })).toEqual([
      { handled: true },
      ['message cannot'],
    ])
  })

  test('that reopened a conversation is known by what was read before it, also if the mirror saw no change', () => {
    const before = { ids: [], handledAt: '2026-01-01T00:00:00Z' }
    const rows = [{ ...reply, targetSnapshot: null, evidence: { before } }]
    expect(inverse(rows, { mirrored: mirror({}) })).toEqual([{ handled: true }, ['message cannot']])
    expect(inverse([...rows, handled(true, null)], { mirrored: mirror({}) })).toEqual([
      null,
      ['message cannot', 'handled already_so'],
    ])
  })

  test('and a flag behind it together change nothing in a conversation that was handled', () => {
    const changes = [change('2026-01-01T00:00:00Z', null), change(null, sentAt)]
    const lane = { mirrored: mirror({ handledAt: sentAt }), changes }
    expect(inverse([reply, handled(true, null)], lane)).toEqual([
      null,
      ['message cannot', 'handled already_so'],
    ])
  })

  test('and a flag behind it leave an open conversation open', () => {
    const lane = { mirrored: mirror({ handledAt: sentAt }), changes: [change(null, sentAt)] }
    expect(inverse([reply, handled(true, null)], lane)).toEqual([
      { handled: false },
      ['message cannot'],
    ])
  })

  test('that the mirror has not seen yet reopened what the mirror shows as handled', () => {
    const lane = {
      mirrored: mirror({ syncedAt: '2026-03-01T09:00:00Z', handledAt: '2026-01-01T00:00:00Z' }),
    }
    expect(inverse([reply], lane)).toEqual([{ handled: true }, ['message cannot']])
  })

  test('to a conversation that the mirror did not have leaves unknown what was before it', () => {
    const rows = [{ ...reply, targetSnapshot: null }, handled(true, null)]
    const lane = { mirrored: mirror({ handledAt: sentAt }), changes: [change(null, sentAt)] }
    expect(inverse(rows, lane)).toEqual([null, ['message cannot', 'handled not_known']])
    const reopened = {
      mirrored: mirror({ handledAt: sentAt }),
      changes: [change('2026-01-01T00:00:00Z', null)],
    }
    expect(inverse(rows, reopened)).toEqual([null, ['message cannot', 'handled already_so']])
  })

  test('that is in flight or uncertain is not known', () => {
    const rows = (['sending', 'uncertain'] as const).map((status) => ({ ...reply, status }))
    expect(inverse(rows)).toEqual([null, ['message not_known', 'message not_known']])
  })

  test('that SQL has made invalid since is not known', () => {
    const invalid = { ...handled(true, null), request: { ok: false, mistakes: [] } as const }
    expect(inverse([invalid])).toEqual([null, ['handled not_known']])
  })
})

describe('a correction', () => {
  test('goes back to the name and the email before the first one', () => {
    const rows = [
      renamed({ name: 'B' }, { name: 'A', email: 'a@x' }),
      renamed({ name: 'C', email: null }, { name: 'B', email: 'a@x' }),
    ]
    const lane = { mirrored: mirror({ name: 'C', email: null }) }
    expect(inverse(rows, lane)).toEqual([{ name: 'A', email: 'a@x' }, []])
  })

  test('of one field leaves the other one alone', () => {
    const lane = { mirrored: mirror({ name: 'B', email: 'new@x' }) }
    expect(inverse([renamed({ name: 'B' }, { name: null, email: 'a@x' })], lane)).toEqual([
      { name: null },
      [],
    ])
  })

  test('that someone changed since stays as it is, field by field', () => {
    const rows = [renamed({ name: 'B', email: 'B@x' }, { name: 'A', email: 'a@x' })]
    const lane = { mirrored: mirror({ name: 'Z', email: 'b@x' }) }
    expect(inverse(rows, lane)).toEqual([{ email: 'a@x' }, ['visitor stands_against']])
  })

  test('that the mirror shows as of the second of the send, perhaps as it was before, is restored', () => {
    const rows = [renamed({ name: 'B' }, { name: 'A' }), renamed({ name: 'C' }, { name: 'B' })]
    for (const name of ['A', 'b', 'C'])
      expect(inverse(rows, { mirrored: mirror({ syncedAt: sentAt, name }) })).toEqual([
        { name: 'A' },
        [],
      ])
  })

  test('that someone changed within the second of the send stays as it is', () => {
    const lane = { mirrored: mirror({ syncedAt: sentAt, name: 'Z' }) }
    expect(inverse([renamed({ name: 'B' }, { name: 'A' })], lane)).toEqual([
      null,
      ['visitor stands_against'],
    ])
  })

  test('that changed nothing, or was changed back, is not taken back', () => {
    expect(inverse([renamed({ name: 'A' }, { name: 'A' })])).toEqual([null, ['visitor already_so']])
    const lane = { mirrored: mirror({ name: 'A' }) }
    expect(inverse([renamed({ name: 'B' }, { name: 'A' })], lane)).toEqual([
      null,
      ['visitor already_so'],
    ])
  })

  for (const [what, name] of [
    ['empty', ' '],
    ['too long', 'x'.repeat(301)],
    ['of two lines', 'Ada\nLovelace'],
  ])
    test(`of a name that was ${what} cannot be taken back, and the email can`, () => {
      const rows = [renamed({ name: 'B', email: 'b@x' }, { name: name!, email: 'a@x' })]
      expect(inverse(rows)).toEqual([{ email: 'a@x' }, ['visitor cannot']])
    })

  test('without a stored value is not known', () => {
    expect(inverse([renamed({ name: 'B' }, undefined)])).toEqual([null, ['visitor not_known']])
  })

  test('beside a note: the note stays', () => {
    const rows = [
      row({ operation: 'note', visitor_id: target, content: 'x' }, undefined),
      renamed({ name: 'B' }, { name: 'A' }),
    ]
    expect(inverse(rows)).toEqual([{ name: 'A' }, ['note cannot']])
  })
})

test('what was not sent needs nothing', () => {
  const statuses = ['draft', 'queued', 'failed', 'conflict', 'cancelled', 'expired'] as const
  expect(inverse(statuses.map((status) => ({ ...handled(true, null), status })))).toEqual([
    null,
    [],
  ])
})

for (const database of databases)
  test(`rows that were sent in another order than queued go back to what was before the first send — ${database.name}`, async () => {
    const { warehouse, admin } = await openOutbox(database)
    const correction = (name: string) =>
      ({
        operation: 'visitor',
        target,
        payload: { name },
        ref: null,
        expect: null,
        expiresAt: null,
      }) as const
    const options = {
      status: 'draft',
      batchId: 'names',
      createdBy: 'ann',
      expiresAt: null,
    } as const
    await admin.enqueue([[correction('One'), correction('Two')]], options)
    const [one, two] = await admin.list({}, 2)
    const sends = [
      { id: two!.id, before: 'Before' },
      { id: one!.id, before: 'Two' },
    ]
    for (const { id, before } of sends) {
      await warehouse.query(
        `update writebacks set status = 'sending', sent_at = '${sentAt}' where id = '${id}'`,
      )
      const evidence = JSON.stringify({ before: { name: before, email: null } })
      await warehouse.query(
        `update writebacks set status = 'succeeded', finished_at = '${sentAt}', evidence = '${evidence}' where id = '${id}'`,
      )
    }
    expect(await revertBatch(admin, { batch: 'names', by: 'ann' })).toMatchObject({
      queued: 1,
      counts: {},
    })
    expect(await admin.list({ batch: 'names-revert' }, 9)).toMatchObject([
      { payload: { name: 'Before' } },
    ])
  })

for (const database of databases) {
  test(`what a stopped batch sends after it was taken back can be taken back then — ${database.name}`, async () => {
    const { admin, outbox } = await openOutbox(database)
    await queueFlags(admin, 5)
    const send = async (rows: number) => {
      for (let n = 0; n < rows; n += 1) {
        const claimed = await claimFirst(outbox)
        await markSending(outbox, claimed)
        await outbox.settleSent(claimed, { event: 'accepted', why: 'it was done' })
      }
    }
    const revert = () => revertBatch(admin, { batch: 'flags', by: 'bea' })
    const targetsOf = async (batch: string) =>
      (await admin.list({ batch }, 9)).map(({ conversationId }) => conversationId)
    await send(2)
    await admin.decideBatch('stopped', 'flags', 'bea')
    expect(await revert()).toMatchObject({ batch: 'flags-revert', queued: 2 })
    await expect(revert()).rejects.toMatchObject({ why: 'flags is taken back by flags-revert' })
    await admin.decideBatch('resumed', 'flags', 'bea')
    await send(2)
    await admin.decideBatch('stopped', 'flags', 'bea')
    expect(await admin.countRevertible('flags')).toBe(2)
    expect(await revert()).toMatchObject({ batch: 'flags-revert-2', queued: 2 })
    expect(await targetsOf('flags-revert-2')).toEqual([conversation(2), conversation(3)])
    await expect(revert()).rejects.toMatchObject({ why: 'flags is taken back by flags-revert-2' })
    await admin.decide('cancelled', { batch: 'flags-revert-2' }, { by: 'bea' })
    expect(await revert()).toMatchObject({ batch: 'flags-revert-3', queued: 2 })
    await admin.decideBatch('resumed', 'flags', 'bea')
    await send(1)
    expect(await revert()).toMatchObject({ batch: 'flags-revert-4', queued: 1 })
    expect(await admin.countRevertible('flags')).toBe(0)
  })
}
