/**
 * Sends many write-backs under faults and kill -9, and compares the outcomes with the service's
 * ledger.
 */
import { expect } from 'vitest'
import type { OutboxEntry } from '../../src/outbox/core/outbox-entry.ts'
import { createRandomInt, type Kills, pushWithKills, type RandomInt } from './killed-senders.ts'
import { createOutboxFixture, type OutboxFixture, type RequestLine } from './outbox-fixture.ts'

export type KillScenario = Kills & {
  readonly database: 'sqlite' | 'postgres'
  readonly writebacks: number
}

const targets = 40

export async function runKillScenario({
  database,
  processes,
  writebacks,
  kills,
  killIntervalMs,
}: KillScenario): Promise<OutboxFixture> {
  const fixture = await createOutboxFixture({
    database,
    size: { conversations: targets, visitors: targets, calls: 1, messagesPerConversation: [1, 4] },
  })
  const randomInt = createRandomInt(writebacks)
  await fixture.queue(...createLines(fixture, writebacks, randomInt))
  changeTargets(fixture)
  fixture.sandbox.setSwitches({
    'fault.rate': 0.1,
    'fault.kinds':
      'reset-before,reset-after,busy-503,html-502,html-502-after,slow,status-after,says-failed-after',
    'fault.slowMs': 200,
    'latency.after': 3,
  })
  await pushWithKills(fixture, { processes, kills, killIntervalMs }, randomInt)
  return fixture
}

/** Replies, notes, flags and corrections with unique contents, several for each target. */
function createLines(fixture: OutboxFixture, count: number, randomInt: RandomInt): RequestLine[] {
  const [conversations, visitors] = [fixture.conversations(), fixture.visitors()]
  return Array.from({ length: count }, (_, n) => {
    const [conversation_id, visitor_id] = [
      conversations[randomInt(targets)],
      visitors[randomInt(targets)],
    ]
    switch (n % 4) {
      case 0:
        return { operation: 'message', conversation_id, content: `Reply ${n}`, sender_name: 'Ann' }
      case 1:
        return { operation: 'note', visitor_id, content: `Note ${n}` }
      case 2:
        return { operation: 'handled', conversation_id, handled: randomInt(3) > 0 }
      default:
        return randomInt(2) === 0
          ? { operation: 'visitor', visitor_id, name: `Name ${n}` }
          : { operation: 'visitor', visitor_id, email: `${n}@example.com` }
    }
  })
}

/**
 * Changes by others that the mirror does not have: new visitor messages and other email addresses.
 */
function changeTargets(fixture: OutboxFixture): void {
  fixture.sandbox.advance(2000)
  for (const id of fixture.conversations().slice(0, 4))
    fixture.sandbox.mutate.visitorWrites(id, 'Still there?')
  for (const id of fixture.visitors().slice(0, 4))
    fixture.sandbox.mutate.renameVisitor(id, visitorName(fixture, id), 'kept@example.com')
}

export async function checkOutcomes(
  fixture: OutboxFixture,
): Promise<Readonly<Record<string, number>>> {
  const all = await fixture.all()
  const ledger = fixture.sandbox.ledger()
  const times = new Map<string, number>()
  for (const { operation, body } of ledger) {
    const { content } = body as { content?: string }
    if (operation === 'sendMessage' || operation === 'addNote')
      times.set(content!, (times.get(content!) ?? 0) + 1)
  }
  for (const entry of all.filter(
    ({ operation }) => operation === 'message' || operation === 'note',
  )) {
    const arrived = times.get(String(entry.payload.content)) ?? 0
    expect(arrived, `${entry.payload.content} (${entry.status})`).toBeLessThanOrEqual(1)
    if (entry.status === 'succeeded') expect(arrived, `${entry.payload.content} is missing`).toBe(1)
    if (['failed', 'conflict', 'queued', 'cancelled'].includes(entry.status))
      expect(arrived, `${entry.payload.content}`).toBe(0)
  }
  checkOrder(all, ledger)
  checkFinalStates(fixture, all)
  const allowed = ['succeeded', 'uncertain', 'failed', 'conflict', 'queued']
  expect(all.filter(({ status }) => !allowed.includes(status))).toEqual([])
  return Object.fromEntries(
    Map.groupBy(all, ({ status }) => status)
      .entries()
      .map(([status, rows]) => [status, rows.length]),
  )
}

/** Replies of a conversation and notes of a visitor arrived in queue order. */
function checkOrder(
  all: readonly OutboxEntry[],
  ledger: ReturnType<OutboxFixture['sandbox']['ledger']>,
): void {
  const position = new Map(all.map(({ payload, seq }) => [payload.content, seq]))
  const sends = ledger.filter(
    ({ operation }) => operation === 'sendMessage' || operation === 'addNote',
  )
  for (const entries of Map.groupBy(
    sends,
    ({ params }) => params.conversationId ?? params.visitorId,
  ).values()) {
    const order = entries.map(({ body }) => position.get((body as { content: string }).content)!)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  }
}

/** If nothing is pending, each target has the state of its last successful write-back. */
function checkFinalStates(fixture: OutboxFixture, all: readonly OutboxEntry[]): void {
  const lanes = Map.groupBy(all, (entry) => entry.conversationId ?? entry.visitorId ?? '')
  const conversations = new Map(
    [...fixture.sandbox.truth('conversations')].map(({ id, row }) => [
      id!,
      row as { handledAt: string | null },
    ]),
  )
  const visitors = new Map(
    [...fixture.sandbox.truth('visitors')].map(({ id, row }) => [
      id!,
      row as { name: string | null; email: string | null },
    ]),
  )
  for (const [id, entries] of lanes) {
    if (entries.some(({ status }) => status === 'uncertain' || status === 'queued')) continue
    const succeeded = entries.filter(({ status }) => status === 'succeeded')
    const last = succeeded.findLast(
      ({ operation }) => operation === 'handled' || operation === 'message',
    )
    const handled = conversations.get(id)
    if (last !== undefined && handled !== undefined) {
      expect(handled.handledAt !== null, `handled of ${id}`).toBe(
        last.operation === 'handled' && last.payload.handled === true,
      )
    }
    for (const field of ['name', 'email'] as const) {
      const wanted = succeeded.findLast(
        ({ operation, payload }) => operation === 'visitor' && payload[field] !== undefined,
      )
      if (wanted !== undefined)
        expect(visitors.get(id)?.[field], `${field} of ${id}`).toBe(wanted.payload[field])
    }
  }
  for (const id of fixture.visitors().slice(0, 4))
    expect(visitors.get(id)?.email).toBe('kept@example.com')
}

function visitorName(fixture: OutboxFixture, id: string): string | null {
  return (
    [...fixture.sandbox.truth('visitors')].find((row) => row.id === id)!.row as {
      name: string | null
    }
  ).name
}
