/**
 * A batch that is approved, stopped in the middle, resumed and taken back, while processes are
 * killed and answers are lost. In the end the service is as it was before, except for what cannot
 * be taken back and what someone else changed.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { decideBatch, revertBatchOf, showBatch } from '../../src/app/batches.ts'
import { decideWritebacks } from '../../src/app/outbox.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { configOf, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { createRandomInt, type Kills, pushWithKills, type RandomInt } from './killed-senders.ts'
import {
  createOutboxFixture,
  type OutboxFixture,
  type RequestLine,
  syncTargets,
  toRequest,
} from './outbox-fixture.ts'

export type BatchScenario = {
  readonly database: 'sqlite' | 'postgres'
  readonly rows: number
  readonly targets: number
  readonly processes: number
  /** How many of them are workers; the others are `push`. */
  readonly workers: number
  /**
   * While the batch is sent until it is stopped, once it was resumed, and while it is taken back.
   * 0: without other processes.
   */
  readonly kills: readonly [sending: number, resumed: number, reverting: number]
}

const batchName = 'spring-cleaning'
const everyKill: Kills['killIntervalMs'] = [300, 900]

export async function runBatchScenario(scenario: BatchScenario): Promise<void> {
  const { database, rows, targets, processes, workers, kills } = scenario
  const size = { conversations: targets, visitors: targets, calls: 1, messagesPerConversation: 2 }
  const fixture = await createOutboxFixture({ database, size })
  const run = createRun(fixture)
  const randomInt = createRandomInt(rows)
  const send = async (count: number) => {
    if (count === 0) await fixture.push({ despiteFailures: true })
    else
      await pushWithKills(
        fixture,
        { processes, workers, kills: count, killIntervalMs: everyKill },
        randomInt,
      )
  }
  const before = readService(fixture)
  await run.queueDrafts(createLines(fixture, rows, randomInt))
  setFaults(fixture)

  await run.approve(batchName)
  const sending = send(kills[0])
  await run.waitUntilSettled(rows / 3)
  const stopped = await run.stop()
  await sending
  await run.expectStopped('moved' in stopped ? stopped.moved : 0)
  await run.resume()
  await send(kills[1])
  await run.resolveUncertain()
  await run.checkLedger(batchName)

  const changedByOthers = await changeByOthers(fixture)
  const revert = await run.revert()
  await run.approve(revert.batch ?? '')
  await send(kills[2])
  await run.resolveUncertain()
  await run.retryFailed(revert.batch ?? '')
  await run.checkLedger(revert.batch ?? '')
  await expectRestored(fixture, before, changedByOthers)
}

function createRun(fixture: OutboxFixture) {
  const { instance, sandbox, warehouse } = fixture
  const project = projectConfigOf(sandbox, { approveGraceMs: 0, approveOwn: false })
  const config = configOf(instance.url ?? '', project)
  const admin: Outbox = createOutbox(warehouse.projectDb(sandbox.projectId))
  const countsOf = async (batch: string) => (await admin.findBatch(batch))?.counts ?? {}
  return {
    queueDrafts: async (lines: readonly RequestLine[]) => {
      const description = { title: 'Spring cleaning', source: 'test', note: null, reverts: null }
      const options = {
        status: 'draft',
        batchId: batchName,
        createdBy: 'ann',
        expiresAt: null,
      } as const
      await admin.enqueue([lines.map(toRequest)], { ...options, batch: description })
    },
    approve: async (batch: string) => {
      const { approval } = await showBatch(config, project, batch)
      const shown = { filter: { batch }, digest: approval?.digest ?? '' }
      const named = { selection: { batch }, by: 'bea', shown }
      expect(await decideWritebacks(config, project, 'approved', named)).toMatchObject({
        moved: approval?.count,
        stayed: [],
      })
    },
    waitUntilSettled: async (count: number) => {
      for (;;) {
        const { succeeded = 0, queued = 0, sending = 0 } = await countsOf(batchName)
        if (succeeded >= count || queued + sending === 0) return
        await sleep(50)
      }
    },
    stop: () => decideBatch(config, project, 'stopped', { batch: batchName, by: 'carl' }),
    resume: () => decideBatch(config, project, 'resumed', { batch: batchName, by: 'carl' }),
    /** Nothing is left that could be sent, and every row that was kept back says so. */
    expectStopped: async (moved: number) => {
      const { draft = 0, queued = 0, sending = 0 } = await countsOf(batchName)
      expect([queued, sending]).toEqual([0, 0])
      expect(draft).toBeGreaterThanOrEqual(moved)
      expect(draft).toBeGreaterThan(0)
    },
    /** A person looks into the service; lanes go on behind what was uncertain. */
    resolveUncertain: async () => {
      for (;;) {
        const uncertain = (await fixture.all()).filter(({ status }) => status === 'uncertain')
        if (uncertain.length === 0) return
        for (const entry of uncertain) {
          const decision = hasArrived(fixture, entry) ? 'arrived' : 'lost'
          await decideWritebacks(config, project, decision, {
            selection: { ids: [entry.id] },
            by: 'bea',
          })
        }
        await fixture.push({ despiteFailures: true })
      }
    },
    /** What the service refused, a person tries again. */
    retryFailed: async (batch: string) => {
      while (((await countsOf(batch)).failed ?? 0) > 0) {
        const selection = { batch, statuses: ['failed'] } as const
        await decideWritebacks(config, project, 'retried', { selection, by: 'bea' })
        await fixture.push({ despiteFailures: true })
      }
    },
    revert: async () => {
      const revert = await revertBatchOf(config, project, { batch: batchName, by: 'ann' })
      expect(revert.counts.cannot).toBe(await countLasting(admin))
      return revert
    },
    /** The ledger of the service, the batch's counts and the event log agree. */
    checkLedger: async (batch: string) => {
      const summary = await admin.findBatch(batch)
      const entries = (await fixture.all()).filter(({ batchId }) => batchId === batch)
      const open = entries.filter(
        ({ finishedAt, status }) => finishedAt === null || status === 'uncertain',
      )
      expect(open).toEqual([])
      expect(summary).toMatchObject({ rows: entries.length, state: 'done' })
      const byStatus = Map.groupBy(entries, ({ status }) => status)
      expect(summary?.counts).toEqual(
        Object.fromEntries([...byStatus].map(([status, all]) => [status, all.length])),
      )
      for (const { id, status } of entries) {
        const events = await admin.listEvents(id)
        expect(events.map(({ from }) => from)).toEqual([
          null,
          ...events.slice(0, -1).map(({ to }) => to),
        ])
        expect(events.at(-1)?.to).toBe(status)
      }
      checkReplies(fixture, entries)
    },
  }
}

type Entries = Awaited<ReturnType<OutboxFixture['all']>>

function checkReplies({ sandbox }: OutboxFixture, entries: Entries): void {
  const sent = Map.groupBy(
    sandbox.ledger(),
    ({ body }) => (body as { content?: string }).content ?? '',
  )
  for (const { operation, payload, status } of entries) {
    if (operation !== 'message' && operation !== 'note') continue
    expect(sent.get(String(payload.content))?.length ?? 0, `${payload.content} is ${status}`).toBe(
      status === 'succeeded' ? 1 : 0,
    )
  }
}

/** A reply or a note is in the ledger; a flag or a correction is there if the service shows it. */
function hasArrived(
  fixture: OutboxFixture,
  { operation, payload, conversationId, visitorId }: Entries[number],
): boolean {
  if (operation === 'message' || operation === 'note')
    return fixture.sandbox
      .ledger()
      .some(({ body }) => (body as { content?: string }).content === payload.content)
  const state = readService(fixture).get(conversationId ?? visitorId ?? '')
  if (operation === 'handled') return state === (payload.handled === true ? 'handled' : 'open')
  return Object.entries(payload).every(
    ([field, value]) => (state as Record<string, unknown>)[field] === value,
  )
}

async function countLasting(admin: Outbox): Promise<number> {
  const counts = await admin.countByOperation({ batch: batchName, statuses: ['succeeded'] })
  const lasting = counts.filter(({ operation }) => operation === 'message' || operation === 'note')
  return lasting.reduce((sum, { count }) => sum + count, 0)
}

/** Several rows for each target, in all orders. */
function createLines(
  { conversations, visitors }: OutboxFixture,
  rows: number,
  randomInt: RandomInt,
): RequestLine[] {
  const [conversationIds, visitorIds] = [conversations(), visitors()]
  return Array.from({ length: rows }, (_, n): RequestLine => {
    const conversation_id = conversationIds[randomInt(conversationIds.length)]
    const visitor_id = visitorIds[randomInt(visitorIds.length)]
    switch (n % 8) {
      case 0:
        return { operation: 'message', conversation_id, content: `Reply ${n}`, sender_name: 'Ann' }
      case 1:
        return { operation: 'note', visitor_id, content: `Note ${n}` }
      case 2:
      case 3:
      case 4:
        return { operation: 'handled', conversation_id, handled: randomInt(2) === 0 }
      case 5:
        return { operation: 'visitor', visitor_id, name: `Name ${n}`, email: null }
      default:
        return randomInt(2) === 0
          ? { operation: 'visitor', visitor_id, name: `Name ${n}` }
          : { operation: 'visitor', visitor_id, email: `${n}@example.com` }
    }
  })
}

function setFaults({ sandbox }: OutboxFixture): void {
  sandbox.setSwitches({
    'fault.rate': 0.1,
    'fault.kinds': 'reset-before,reset-after,busy-503,html-502,html-502-after,slow,status-after',
    'fault.slowMs': 200,
    'latency.after': 3,
  })
}

type ServiceState = ReadonlyMap<string, unknown>

/** The flag of every conversation, the name and email of every visitor. */
function readService({ sandbox }: OutboxFixture): ServiceState {
  const flags = [...sandbox.truth('conversations')].map(({ id, row }) => {
    const { handledAt } = row as { handledAt: string | null }
    return [String(id), handledAt === null ? 'open' : 'handled'] as const
  })
  const visitors = [...sandbox.truth('visitors')].map(({ id, row }) => {
    const { name, email } = row as { name: string | null; email: string | null }
    return [String(id), { name, email }] as const
  })
  return new Map<string, unknown>([...flags, ...visitors])
}

/**
 * Of some, the mirror knows it before the revert; of others, the check before sending finds it.
 * Returns their ids.
 */
async function changeByOthers(fixture: OutboxFixture): Promise<ReadonlyMap<string, unknown>> {
  const { sandbox, instance } = fixture
  const [seen, unseen] = fixture.visitors()
  const changed = new Map<string, unknown>()
  const rename = (id: string | undefined, name: string) => {
    if (id === undefined) return
    sandbox.mutate.renameVisitor(id, name, `${name}@example.com`)
    changed.set(id, { name, email: `${name}@example.com` })
  }
  sandbox.setSwitches({ 'fault.rate': 0 })
  sandbox.advance(2000)
  rename(seen, 'seen')
  await syncTargets(instance.url ?? '', sandbox)
  sandbox.advance(2000)
  rename(unseen, 'unseen')
  setFaults(fixture)
  return changed
}

async function expectRestored(
  fixture: OutboxFixture,
  before: ServiceState,
  changedByOthers: ServiceState,
) {
  const after = readService(fixture)
  const wanted = new Map([...before, ...changedByOthers])
  const differing = [...wanted].filter(
    ([id, state]) => JSON.stringify(after.get(id)) !== JSON.stringify(state),
  )
  const found = differing.map(async ([id, state]) => ({
    id,
    wanted: state,
    found: after.get(id),
    writebacks: await readHistory(fixture, id),
  }))
  expect(await Promise.all(found)).toEqual([])
}

/** Everything that is stored of the write-backs to a target, to understand a failure. */
async function readHistory(
  { warehouse }: OutboxFixture,
  target: string,
): Promise<readonly unknown[]> {
  const own = `'${target}' in (conversation_id, visitor_id)`
  return [
    ...(await warehouse.query(
      `select id, seq, batch_id, operation, payload, status, target_snapshot, evidence, error, sent_at, finished_at, decided_by
      from writebacks where ${own} order by seq`,
    )),
    ...(await warehouse.query(
      `select seq, writeback_id, at, from_status, to_status, detail, person from writeback_events
      where writeback_id in (select id from writebacks where ${own}) order by seq`,
    )),
    ...(await warehouse.query(
      `select * from conversation_changes where conversation_id = '${target}'`,
    )),
  ]
}
