/** Sends write-backs to a service with a wrong clock that changes replies and loses responses. */
import { expect } from 'vitest'
import type { OutboxEntry } from '../../src/outbox/core/outbox-entry.ts'
import { maxSends } from '../../src/outbox/send/settle-request.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import {
  createOutboxFixture,
  type OutboxFixture,
  type OutboxFixtureOptions,
  type RequestLine,
  syncTargets,
} from './outbox-fixture.ts'

type SwitchSets = Readonly<Record<string, Partial<Switches>>>

export const clocks = {
  'an hour behind': { 'rows.offset': -3600, 'date.offset': -3600 },
  'two minutes behind': { 'rows.offset': -120, 'date.offset': -120 },
  'ten minutes ahead': { 'rows.offset': 600, 'date.offset': 600 },
  'in local time with a Z': { 'rows.zone': 2 },
  right: {},
  'in local time west of it': { 'rows.zone': -5, 'date.header': 'absent' },
  'an hour ahead for one message in ten': {
    'misdated.share': 0.1,
    'misdated.of': 'messages',
    'misdated.last': 'greatest',
  },
} as const satisfies SwitchSets

/** `true`: the reply can still be matched. */
export const replyChanges = {
  none: [{}, true],
  trimmed: [{ 'reply.text': 'trimmed' }, true],
  escaped: [{ 'reply.text': 'escaped' }, false],
  'cut short': [{ 'reply.text': 'shortened' }, false],
  signed: [{ 'reply.text': 'signed' }, false],
  'translated, under the name of the team': [
    { 'reply.text': 'translated', 'reply.name': 'team' },
    false,
  ],
  'redacted, without a name': [{ 'reply.text': 'redacted', 'reply.name': 'empty' }, false],
  'under a longer name': [{ 'reply.name': 'extended' }, false],
  "as the visitor's": [{ 'reply.sender': 'visitor' }, true],
  'as a system event': [{ 'reply.sender': 'system', 'reply.kind': 'event' }, true],
  'two minutes early': [{ 'reply.seconds': -120 }, true],
  'a day early': [{ 'reply.seconds': -86_400 }, true],
  'an hour ahead': [{ 'reply.seconds': 3600 }, true],
  late: [{ 'reply.late': 150 }, true],
} as const satisfies Readonly<Record<string, readonly [Partial<Switches>, boolean]>>

/** Used in turn: lost or odd responses, with the write carried out or not. */
const faults =
  'reset-after,reset-before,error-500-after,html-502,html-502-after,truncated,not-json,status-after,status,says-failed-after'

export type ClockScenario = {
  readonly clock: keyof typeof clocks
  readonly change: keyof typeof replyChanges
  readonly writebacks: number
  readonly database?: 'sqlite' | 'postgres'
  readonly switches?: Partial<Switches>
  readonly project?: OutboxFixtureOptions['project']
}

export async function runClockScenario({
  clock,
  change,
  writebacks,
  database,
  switches,
  project,
}: ClockScenario): Promise<OutboxFixture> {
  const targets = Math.ceil(writebacks / 2)
  const fixture = await createOutboxFixture({
    database: database ?? 'sqlite',
    size: { conversations: targets, visitors: targets, calls: 1, messagesPerConversation: [1, 8] },
    switches: { ...clocks[clock], ...replyChanges[change][0], ...switches },
    project: { verifyAfterMs: 200, ...project },
    mirrored: false,
  })
  // Every conversation has a new visitor message.
  for (const id of fixture.conversations()) fixture.sandbox.mutate.visitorWrites(id, 'And?')
  await syncTargets(fixture.instance.url!, fixture.sandbox)
  fixture.sandbox.setSwitches({ 'fault.rate': 0.5, 'fault.on': 'writes', 'fault.kinds': faults })
  await fixture.queue(...createLines(fixture, writebacks, targets))
  await fixture.push({ despiteFailures: true })
  // Write-backs behind an uncertain one stay queued, so a second push changes nothing.
  await fixture.push({ despiteFailures: true })
  return fixture
}

/** Mostly replies, some to the same conversation, with unique contents. */
function createLines(fixture: OutboxFixture, count: number, targets: number): RequestLine[] {
  const [conversations, visitors] = [fixture.conversations(), fixture.visitors()]
  return Array.from({ length: count }, (_, n) => {
    const [conversation_id, visitor_id] = [
      conversations[(n * 7) % targets],
      visitors[(n * 7) % targets],
    ]
    if (n % 10 === 7) return { operation: 'note', visitor_id, content: `Note ${n}` }
    if (n % 10 === 8) return { operation: 'handled', conversation_id, handled: true }
    if (n % 10 === 9) return { operation: 'visitor', visitor_id, name: `Name ${n}` }
    return {
      operation: 'message',
      conversation_id,
      content: `Reply ${n} & what's <b>next</b>.`,
      sender_name: 'Ann',
    }
  })
}

/** Checks outcomes against the service's ledger, and counts write-backs by operation and status. */
export async function checkOutcomes(
  fixture: OutboxFixture,
): Promise<Readonly<Record<string, number>>> {
  const times = new Map<string, number>()
  for (const { operation, body } of fixture.sandbox.ledger()) {
    const { content } = body as { content?: string }
    if (operation === 'sendMessage' || operation === 'addNote')
      times.set(content!, (times.get(content!) ?? 0) + 1)
  }
  const all = await fixture.all()
  for (const entry of all.filter(
    ({ operation }) => operation === 'message' || operation === 'note',
  ))
    checkOutcome(entry, times.get(String(entry.payload.content)) ?? 0)
  return Object.fromEntries(
    Map.groupBy(
      all,
      ({ operation, status, attempts }) =>
        `${operation} ${attempts >= maxSends ? 'given up' : status}`,
    )
      .entries()
      .map(([status, rows]) => [status, rows.length]),
  )
}

function checkOutcome({ payload, status, reason }: OutboxEntry, arrived: number): void {
  const what = `${payload.content} (${status}: ${reason})`
  expect(arrived, what).toBeLessThanOrEqual(1)
  if (status === 'succeeded') expect(arrived, what).toBe(1)
  if (status !== 'succeeded' && status !== 'uncertain') expect(arrived, what).toBe(0)
}
