/** Clocks that differ, future-dated rows and late rows: incremental syncs miss none of them. */

import { expect, test } from 'vitest'
import { streamNames } from '../../../schema/stream-specs.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { readStatus } from '../../../src/maintenance/sql/status-report.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { Switches } from '../../../src/sandbox/switches.ts'
import { usualPolicy } from '../../support/budget-policy.ts'
import { databases } from '../../support/databases.ts'
import { sampledTest } from '../../support/sampled.ts'
import { findDifferences } from './sync-sandbox.ts'
import { type SandboxContext, withSandbox } from './with-sandbox.ts'

const [sqlite, postgres] = databases
const [hour, day, year] = [3600, 86_400, 31_536_000]

const children = { messagesPerConversation: [1, 3], activityPerVisitor: [0, 2] } as const
/** A clock that is wrong for some rows is wrong for several of these. */
const size = { conversations: 18, visitors: 9, calls: 6, days: 2, ...children }

const optionsOf = (switches: Partial<Switches>, db = sqlite!) => ({
  seed: 5,
  speed: 0,
  size,
  switches,
  db,
  // A row that is dated years ahead would cost a rollup for each day until then.
  streams: streamNames.filter((name) => name !== 'analytics'),
})

async function describeDifferences(warehouse: Warehouse, sandbox: Sandbox) {
  const found = await findDifferences(warehouse, sandbox)
  return found.map(({ stream, key, how }) => `${stream} ${how} ${key.slice(0, 50)}`)
}

/** Ordinary changes, none of which needs a reconcile. */
const added = ['addConversation', 'addVisitor', 'addActivity', 'addCall'] as const
const everydayMutations = ['visitorWrites', 'agentReplies', ...added] as const

const clocks: Record<string, Partial<Switches>> = {
  'agrees with all other clocks': {},
  'dates rows an hour back': { 'rows.offset': -hour },
  'dates rows two minutes back': { 'rows.offset': -120 },
  'dates rows ten minutes ahead': { 'rows.offset': 600 },
  'dates rows a day ahead': { 'rows.offset': day },
  'shows local time east of Greenwich with a Z': { 'rows.zone': 2 },
  'shows local time west of it with a Z': { 'rows.zone': -5 },
  'dates some rows an hour ahead': { 'misdated.share': 0.15, 'misdated.seconds': hour },
  'dates some rows a year ahead': { 'misdated.share': 0.15, 'misdated.seconds': year },
  'dates some rows and messages a year ahead': {
    'misdated.share': 0.15,
    'misdated.seconds': year,
    'misdated.of': 'conversations,visitors,calls,messages,activity',
  },
  'dates some messages ahead, and lets conversations show the greatest time': {
    'misdated.share': 0.2,
    'misdated.seconds': year,
    'misdated.of': 'messages',
    'misdated.last': 'greatest',
  },
  'dates some rows five minutes back': { 'misdated.share': 0.3, 'misdated.seconds': -300 },
  'sends a `Date` of 1970': { 'date.offset': -56 * year },
  'sends a `Date` of 2100': { 'date.offset': 74 * year },
  'sends no `Date`': { 'date.header': 'absent' },
}

/** Back, of another zone, some rows either way, and a service without a clock. */
const sampledClocks = [
  'dates rows an hour back',
  'shows local time east of Greenwich with a Z',
  'dates some rows and messages a year ahead',
  'dates some rows five minutes back',
  'sends no `Date`',
]

for (const [name, switches] of Object.entries(clocks)) {
  const isInSample = sampledClocks.includes(name)
  sampledTest(
    isInSample,
    `two incremental syncs find all changes between them, if the service ${name}`,
    async () => {
      await withSandbox(optionsOf(switches), async ({ sandbox, warehouse, sync }) => {
        const gaps = name.includes('local time') ? ['conversations'] : []
        const streams = (await sync()).gaps.map(({ stream }) => stream)
        expect(streams.filter((stream) => !gaps.includes(stream))).toEqual([])
        for (const seed of [1, 2]) {
          sandbox.advance(120_000)
          sandbox.applyRandomMutations(30, seed, everydayMutations)
          await sync()
          if (streams.length === 0)
            expect(await describeDifferences(warehouse, sandbox)).toEqual([])
        }
      })
    },
  )
}

const lateRowSwitches: Record<string, Partial<Switches>> = {
  'conversations a minute late': { 'late.of': 'conversations' },
  'everything in a list a minute late': {},
  'everything in a list five minutes late': { 'late.seconds': 300 },
  'a minute late by its id, too': { 'late.byId': true },
  'messages twenty seconds late': { 'late.share': 1, 'late.seconds': 20, 'late.of': 'messages' },
  'some messages and activity a minute late': { 'late.of': 'messages,activity' },
}

const sampledLateRows = {
  sqlite: ['everything in a list five minutes late', 'a minute late by its id, too'],
  postgres: ['some messages and activity a minute late'],
}

for (const db of [sqlite!, postgres!]) {
  const cases = Object.entries(lateRowSwitches)
  for (const [name, switches] of cases) {
    // What is late does not depend on the database.
    const isInSample = sampledLateRows[db.name].includes(name)
    sampledTest(
      isInSample,
      `the second incremental sync finds what the first could not see yet: ${name} — ${db.name}`,
      async () => {
        const options = optionsOf({ 'late.share': 0.5, 'late.seconds': 60, ...switches }, db)
        await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
          sandbox.setSwitches({ 'late.share': 0 })
          await sync()
          sandbox.setSwitches({ 'late.share': switches['late.share'] ?? 0.5 })
          sandbox.advance(1_000_000)
          for (let step = 0; step < 10; step += 1) {
            sandbox.applyRandomMutations(5, step, everydayMutations)
            sandbox.advance(10_000)
          }
          await sync()
          sandbox.advance(300_000)
          // New rows that are not late.
          sandbox.setSwitches({ 'late.share': 0 })
          sandbox.applyRandomMutations(3, 99, ['addConversation', 'addVisitor', 'addCall'])
          await warehouse.query('update sync_children set due_at = 0 where due_at is not null')
          await sync()
          expect(await describeDifferences(warehouse, sandbox)).toEqual([])
        })
      },
    )
  }
}

test('sync and status report future-dated rows and clock differences', async () => {
  const options = optionsOf({ 'misdated.share': 0.3, 'misdated.seconds': year })
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    const { notices } = await sync()
    for (const stream of ['conversations', 'visitors', 'calls', 'messages']) {
      const pattern = new RegExp(`^\\d+ rows of ${stream} are dated in the future`)
      expect(notices).toContainEqual(expect.stringMatching(pattern))
    }
    expect(notices).toContainEqual(expect.stringContaining('The clocks differ'))
    const status = await readStatus(warehouse.projectDb(sandbox.projectId), Date.now(), usualPolicy)
    expect(status.clockOffset).toBeLessThan(-year / 12)
    const futureDated = new Map(status.streams.map((it) => [it.stream, it.ahead]))
    for (const stream of ['conversations', 'visitors', 'calls', 'messages'] as const)
      expect(futureDated.get(stream)).toBeGreaterThan(0)
  })
})

test('a stored cursor that is years ahead is not trusted', async () => {
  await withSandbox(optionsOf({}), async ({ sandbox, warehouse, sync }) => {
    await sync()
    await warehouse.query(
      "update sync_cursors set position = '2037-01-01T00:00:00Z/' where stream in ('conversations', 'visitors', 'calls')",
    )
    sandbox.advance(3_600_000)
    sandbox.applyRandomMutations(40, 1, everydayMutations)
    sandbox.advance(3_600_000)
    const { notices } = await sync()
    expect(
      notices.filter((notice) => notice.includes('the whole stream is read again')).length,
    ).toBe(3)
    expect(await describeDifferences(warehouse, sandbox)).toEqual([])
  })
})

for (const [db, back] of [
  [sqlite!, 300] as const,
  [postgres!, 300] as const,
  [sqlite!, hour] as const,
]) {
  sampledTest(
    db === sqlite,
    `a reply dated ${back} seconds back moves the last message time back, and the next run mirrors it — ${db.name}`,
    async () => {
      await withSandbox(
        optionsOf({ 'reply.seconds': -back }, db),
        async ({ sandbox, warehouse, sync }) => {
          const ids = [...sandbox.truth('conversations')].slice(0, 10).map(({ id }) => id!)
          for (const id of ids) sandbox.mutate.visitorWrites(id)
          sandbox.advance(20_000)
          sandbox.mutate.addConversation()
          await sync()
          for (const id of ids) sandbox.mutate.replyArrives(id, 'It is on its way.', 'Support')
          sandbox.advance(20_000)
          sandbox.mutate.addConversation()
          await sync()
          expect(await describeDifferences(warehouse, sandbox)).toEqual([])
          sandbox.resetLog()
          await sync()
          expect(sandbox.log().length).toBeLessThanOrEqual(8)
        },
      )
    },
  )
}

test('a list that shows a stale copy changes no row, and costs one request per copy', async () => {
  await withSandbox(optionsOf({}), async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.advance(600_000)
    const ids = [...sandbox.truth('conversations')].slice(0, 5).map(({ id }) => id!)
    for (const id of ids) sandbox.mutate.visitorWrites(id)
    sandbox.advance(10_000)
    sandbox.mutate.addConversation()
    await sync()
    sandbox.setSwitches({ 'stale.ms': 60_000 })
    sandbox.resetLog()
    await sync()
    const single = sandbox.log().filter(({ path }) => /\/conversations\/[^/]+$/.test(path))
    expect(single.length).toBe(5)
    expect(await describeDifferences(warehouse, sandbox)).toEqual([])
  })
})

/** Lets time pass for the service and for this machine. */
async function advanceTime({ sandbox, warehouse }: SandboxContext, seconds: number) {
  sandbox.advance(seconds * 1000)
  await warehouse.query(
    `update sync_children set due_at = due_at - ${seconds * 1000} where due_at is not null`,
  )
}

test('activity that appears after the new time of its visitor is found long before the look-back ends', async () => {
  await withSandbox(optionsOf({ 'late.of': 'activity', 'late.seconds': 60 }), async (context) => {
    const { sandbox, warehouse, sync } = context
    await sync()
    const ids = [...sandbox.truth('visitors')].slice(0, 5).map(({ id }) => id!)
    sandbox.setSwitches({ 'late.share': 1 })
    for (const id of ids) sandbox.mutate.addActivity(id)
    await advanceTime(context, 20)
    await sync()
    expect((await describeDifferences(warehouse, sandbox)).length).toBe(5)
    await advanceTime(context, 60)
    await sync()
    expect(await describeDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('a message that is dated before the last one is found at the end of the look-back', async () => {
  await withSandbox(optionsOf({}), async (context) => {
    const { sandbox, warehouse, sync } = context
    await sync()
    const ids = [...sandbox.truth('conversations')].slice(0, 5).map(({ id }) => id!)
    for (const id of ids) sandbox.mutate.replyArrives(id, 'It is on its way.', 'Support')
    sandbox.setSwitches({ 'reply.late': 300_000 })
    await advanceTime(context, 20)
    for (const id of ids) sandbox.mutate.agentReplies(id)
    await advanceTime(context, 20)
    await sync()
    await advanceTime(context, 30)
    await sync()
    expect((await describeDifferences(warehouse, sandbox)).length).toBe(5)
    await advanceTime(context, 600)
    await sync()
    expect(await describeDifferences(warehouse, sandbox)).toEqual([])
  })
})
