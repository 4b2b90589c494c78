/**
 * A batch of every kind of row on a sandbox, its review, and what each row did when it was sent.
 */

import { Readable } from 'node:stream'
import { expect } from 'vitest'
import { fileSource, withImportFile } from '../../src/imports/open-file.ts'
import type { ReviewSummary, WritebackReview } from '../../src/outbox/core/review/terms.ts'
import type { WritebackStatus } from '../../src/outbox/core/state.ts'
import { batchSource, reviewSource } from '../../src/outbox/review-rows.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { type OutboxFixture, type RequestLine, singleItem, toRequest } from './outbox-fixture.ts'

export const batch = 'mixed-0123456789ab'

/** Conversations and visitors that the mirror does not have. */
const unknownId = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Several rows for most targets, in a random order. */
export function createMixedRows(fixture: OutboxFixture, count: number): readonly RequestLine[] {
  const random = seededRandom(7)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const conversations = [...fixture.conversations(), unknownId(1), unknownId(2)]
  const visitors = [...fixture.visitors(), unknownId(3)]
  const content = (n: number) =>
    pick([`It is on its way (${n}).`, `Zwölf Boxkämpfer ${n} 🎉`, `"Quoted", ${n};\nnext line`])
  const expectations = () =>
    pick([
      {},
      {},
      {},
      { expect: '2026-01-01T00:00:00Z' },
      { expect: '2038-01-01T00:00:00Z' },
      { expect: 999_999_999 },
    ])
  const makers: readonly ((n: number) => RequestLine)[] = [
    (n) => ({
      operation: 'message',
      conversation_id: pick(conversations),
      content: content(n),
      sender_name: 'Ann',
      ...expectations(),
    }),
    () => ({ operation: 'handled', conversation_id: pick(conversations), handled: true }),
    () => ({
      operation: 'handled',
      conversation_id: pick(conversations),
      handled: random() < 0.7,
      ...expectations(),
    }),
    (n) => ({
      operation: 'note',
      visitor_id: pick(visitors),
      content: content(n),
      ...expectations(),
    }),
    () => ({
      operation: 'visitor',
      visitor_id: pick(visitors),
      name: pick(['Ada Lovelace', 'Grace Hopper', null]),
    }),
    () => ({
      operation: 'visitor',
      visitor_id: pick(visitors),
      name: pick(['Ada Lovelace', 'Eve']),
      email: pick(['ada@example.org', null]),
    }),
  ]
  return Array.from({ length: count }, (_, n) => ({ ...pick(makers)(n), ref: `row-${n}` }))
}

/** Rows that are sent before: their effects are seen by the rows behind them. */
export function createPlainRows({ conversation, visitor }: OutboxFixture): readonly RequestLine[] {
  return [0, 1, 2, 3, 4, 5].flatMap((n) => [
    { operation: 'handled', conversation_id: conversation(n), handled: n % 2 === 0 },
    {
      operation: 'message',
      conversation_id: conversation(n + 6),
      content: 'One moment.',
      sender_name: 'Bo',
    },
    { operation: 'visitor', visitor_id: visitor(n), email: `new-${n}@example.org` },
  ])
}

export async function queueBatch(
  { warehouse, sandbox }: OutboxFixture,
  rows: readonly RequestLine[],
): Promise<void> {
  const options = { status: 'queued', batchId: batch, createdBy: 'test', expiresAt: null } as const
  await createOutbox(warehouse.projectDb(sandbox.projectId)).enqueue(
    singleItem(rows.map(toRequest)),
    options,
  )
}

export type ReviewedRows = {
  readonly summary: ReviewSummary
  readonly reviews: readonly WritebackReview[]
}

function partsOf({ warehouse, sandbox }: OutboxFixture) {
  return { reader: createOutbox(warehouse.projectDb(sandbox.projectId)), now: Date.now() }
}

export async function reviewLines(
  fixture: OutboxFixture,
  rows: readonly RequestLine[],
): Promise<ReviewedRows> {
  const reviews: WritebackReview[] = []
  const source = Readable.from([Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'))])
  const summary = await withImportFile({ source, name: null, parse: {} }, (file) =>
    reviewSource(fileSource(file, null), partsOf(fixture), async (some) => {
      reviews.push(...some)
    }),
  )
  return { summary, reviews }
}

export async function reviewQueued(fixture: OutboxFixture): Promise<ReviewedRows> {
  const parts = partsOf(fixture)
  const reviews: WritebackReview[] = []
  const summary = await reviewSource(batchSource(parts.reader, batch), parts, async (some) => {
    reviews.push(...some)
  })
  return { summary, reviews }
}

/** What a row should do, in words that what it did can be compared with. */
export function expectedEffect(
  review: Pick<WritebackReview, 'outcome' | 'reason' | 'changes' | 'operation'>,
): string {
  const { outcome, reason, changes, operation } = review
  if (outcome === 'stands_against' || outcome === 'not_known') return 'not sent'
  expect(reason).toBeNull()
  const compared = operation === 'handled' || operation === 'visitor' ? changes : []
  return [
    'sent',
    ...compared.map((change) => `${change.field} ${String(change.old)} → ${String(change.new)}`),
  ].join(', ')
}

type SentRow = {
  status: WritebackStatus
  operation: string
  payload: string
  evidence: string | null
}

/**
 * What each row of the batch did, in queue order: its status, and what the service showed just
 * before it was sent.
 */
export async function actualEffects({ warehouse }: OutboxFixture): Promise<readonly string[]> {
  const rows = (await warehouse.query(
    'select status, operation, payload, evidence from writebacks order by seq',
  )) as readonly SentRow[]
  return rows.map(({ status, operation, payload, evidence }) => {
    if (status === 'failed' || status === 'conflict' || status === 'expired') return 'not sent'
    if (status !== 'succeeded') return status
    const wanted = parse(payload)
    const before = parse(evidence).before
    const pairs =
      operation === 'handled'
        ? [['handled', before.handledAt !== null, wanted.handled]]
        : operation === 'visitor'
          ? ['name', 'email']
              .filter((field) => field in wanted)
              .map((field) => [field, before[field], wanted[field]])
          : []
    const changes = pairs.filter(([, old, next]) => old !== next)
    return [
      'sent',
      ...changes.map(([field, old, next]) => `${field} ${String(old)} → ${String(next)}`),
    ].join(', ')
  })
}

/** Postgres returns objects, SQLite text. */
function parse(json: unknown) {
  return typeof json === 'string' ? JSON.parse(json) : json
}
