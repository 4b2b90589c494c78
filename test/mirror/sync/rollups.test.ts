/** The rollups: how far back they go, their time zone, and when they are read again. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { type StreamName, streamNames } from '../../../schema/stream-specs.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { secret } from '../../../src/values/secret.ts'
import { databases, type TestDatabase } from '../../support/databases.ts'
import { createTestOnOne, sampled } from '../../support/sampled.ts'
import { type SyncOverrides, syncOnce } from './sync-sandbox.ts'

const testOnOne = createTestOnOne()

const hour = 3_600_000
/** The sandbox's history begins and ends at noon, so it touches one more day. */
const [size, days] = [7, 8]

async function startSyncedSandbox(
  db: TestDatabase,
  options: Parameters<typeof startSandbox>[0] = {},
) {
  const database = await db.makeForSandbox()
  const rows = {
    conversations: 40,
    visitors: 10,
    calls: 20,
    messagesPerConversation: [1, 3],
  } as const
  const defaults = { seed: 7, speed: 0, now: '2026-06-15T12:00:00Z', size: { ...rows, days: size } }
  const sandbox = await startSandbox({ ...defaults, ...options, switches: { 'rate.kind': 'off' } })
  onTestFinished(async () => {
    await sandbox.stop()
    await database.drop()
  })
  const warehouse = await database.open()
  const sync = (over: SyncOverrides = {}) => {
    sandbox.resetLog()
    return syncOnce(database.url!, sandbox, { streams, ...over })
  }
  return { sandbox, warehouse, sync, open: database.open }
}

/** The children of lists change no rollup. */
const streams: readonly StreamName[] = [
  'availability',
  'conversations',
  'visitors',
  'calls',
  'analytics',
]
/** The availability is requested first and shows the service's time. */
const rollups: SyncOverrides = { streams: ['availability', 'analytics'] }
const only = (...streams: StreamName[]): SyncOverrides => ({ streams })
function requestedDays(sandbox: Sandbox) {
  const requests = sandbox.log().filter(({ path }) => path.endsWith('/analytics'))
  return requests.map(({ query }) => String(new URLSearchParams(query).get('from')))
}

async function column(warehouse: Warehouse, sql: string): Promise<unknown[]> {
  return (await warehouse.query(sql)).map((row) => Object.values(row)[0])
}
const storedDays = (warehouse: Warehouse) =>
  column(warehouse, 'select day from analytics_rollups order by window_from')
const timeZones = ['rollups', 'metrics']
  .map((table) => `select time_zone from analytics_${table}`)
  .join(' union ')
const zones = (warehouse: Warehouse) => column(warehouse, `${timeZones} order by time_zone`)
const gaps = (warehouse: Warehouse) =>
  column(
    warehouse,
    "select reason from sync_gaps where stream = 'analytics' and resolved_at is null",
  )

/** The sum over the metrics, and the actual number. */
async function startedConversations(warehouse: Warehouse, sandbox: Sandbox) {
  const started = "from analytics_metrics where metric = 'conversations.started'"
  const [sum] = await column(warehouse, `select coalesce(sum(value), 0) ${started}`)
  return { sum: Number(sum), actual: [...sandbox.truth('conversations')].length }
}

/** Pairs of windows that share a second. */
const overlapping = (warehouse: Warehouse) =>
  warehouse.query(`select a.window_from, b.window_from as other from analytics_rollups a
    join analytics_rollups b on a.project_id = b.project_id and a.window_from < b.window_to and b.window_from < a.window_to
      and (a.window_from <> b.window_from or a.window_to <> b.window_to)`)

/** A western zone, a half-hour offset, and the two extremes: a date of both shares no second. */
const testedZones = sampled(
  ['America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC'],
  (zone) => /Kolkata|Pacific/.test(zone),
)

const [sqlite, postgres] = databases

describe('the history of the rollups', () => {
  test('does not begin before the lists have been read once, which is a gap', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    const first = await sync(rollups)
    expect(first).toMatchObject({ outcome: 'gaps', gaps: [{ stream: 'analytics' }] })
    expect(first.gaps[0]?.reason).toMatch(
      /conversations, visitors, calls .* never been read to the end/,
    )
    expect(requestedDays(sandbox)).toEqual([])
    expect(
      await column(warehouse, "select synced_at from sync_streams where stream = 'analytics'"),
    ).toEqual([])

    expect((await sync(only('conversations', 'calls'))).outcome).toBe('complete')
    expect((await sync(rollups)).gaps[0]?.reason).toMatch(/, as visitors has never/)
    await sync(only('visitors'))
    expect(await sync(rollups)).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await storedDays(warehouse)).toHaveLength(days)
  })

  test('needs no lists if there is a start date', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    const startDate = Math.floor(sandbox.now() / 1000) - 3 * 86_400
    expect((await sync({ ...rollups, project: { startDate } })).outcome).toBe('complete')
    expect(await storedDays(warehouse)).toEqual([
      '2026-06-12',
      '2026-06-13',
      '2026-06-14',
      '2026-06-15',
    ])
    // An earlier start date adds the days between, and only those are requested besides today.
    expect((await sync({ ...rollups, project: { startDate: startDate - 86_400 } })).outcome).toBe(
      'complete',
    )
    expect(requestedDays(sandbox).map((from) => from.slice(0, 10))).toEqual([
      '2026-06-15',
      '2026-06-11',
    ])
  })

  test('begins earlier when an earlier row appears, or a list that the key could not read before', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    sandbox.addKey({
      key: 'svc_live_few',
      scopes: ['calls:read', 'visitors:read', 'analytics:read'],
    })
    await sync({ project: { apiKey: secret('svc_live_few') } })
    const few = (await storedDays(warehouse)).length
    expect(few).toBeGreaterThan(0)
    sandbox.mutate.addCall(undefined, 30 * 24 * hour)
    await sync({ mode: 'reconcile' })
    expect(await storedDays(warehouse)).toHaveLength(31)
    expect((await startedConversations(warehouse, sandbox)).sum).toBe(40)
  })

  test('is a gap if no list is mirrored, and grows from its first day', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    const project = { streams: ['availability', 'analytics'] as const }
    const first = await sync({ ...rollups, project })
    expect(first.gaps).toMatchObject([
      { stream: 'analytics', from: null, reason: /set DESKMIRROR_START_DATE/ },
    ])
    sandbox.advance(24 * hour)
    await sync({ ...rollups, project })
    expect(await storedDays(warehouse)).toEqual(['2026-06-15', '2026-06-16'])
    expect(await gaps(warehouse)).toHaveLength(1)
  })

  test('ends where the rows end, whatever year the `Date` of a response names', async () => {
    const today = new Date().toISOString().slice(0, 10)
    for (const far of ['9998-12-31T00:00:00Z', '1970-01-02T00:00:00Z']) {
      const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite, {
        now: `${today}T12:00:00Z`,
      })
      sandbox.setSwitches({ 'date.offset': Math.round((Date.parse(far) - sandbox.now()) / 1000) })
      await sync({ streams: streamNames })
      const dates = await storedDays(warehouse)
      expect(dates).toContain(today)
      expect(dates.length - days).toBeOneOf([0, 1])
      expect((await startedConversations(warehouse, sandbox)).sum).toBe(40)
    }
  })

  test('ends with the current day of the service if the clock of this machine is months ahead', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    const project = { startDate: Math.floor(Date.parse('2026-06-13T00:00:00Z') / 1000) }
    expect((await sync({ ...only('analytics'), project })).outcome).toBe('complete')
    expect(await storedDays(warehouse)).toEqual(['2026-06-13', '2026-06-14', '2026-06-15'])
    expect(requestedDays(sandbox)).toHaveLength(4)
  })

  test('begins today and is complete for an account without rows', async () => {
    const size = { conversations: 0, visitors: 0, calls: 0, days: 1 }
    const { warehouse, sync } = await startSyncedSandbox(sqlite, { size })
    expect((await sync()).outcome).toBe('complete')
    expect(await storedDays(warehouse)).toEqual(['2026-06-15'])
  })

  test('does not begin at a row dated 1970', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    sandbox.mutate.addCall(undefined, sandbox.now())
    await sync()
    expect(await storedDays(warehouse)).toHaveLength(days)
  })
})

test.each(['list', 'text'] as const)(
  'an availability that is a %s is no row, and a gap until one can be read',
  async (shape) => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    sandbox.setSwitches({ 'availability.answer': shape })
    const unreadable = await sync(only('availability'))
    expect(unreadable).toMatchObject({
      outcome: 'gaps',
      gaps: [{ reason: expect.stringContaining('not a JSON object') }],
    })
    expect(await column(warehouse, 'select count(*) from availability_snapshots')).toEqual([0])
    sandbox.setSwitches({ 'availability.answer': 'plain' })
    expect(await sync(only('availability'))).toMatchObject({ outcome: 'complete', gaps: [] })
  },
)

describe('a day whose rollup cannot be read', () => {
  const bad = '2026-06-10'
  const answers = ['400', '404', 'null', 'other-project', 'too-large'] as const
  const callsOn = async (warehouse: Warehouse, day: string) =>
    column(
      warehouse,
      `select value from analytics_metrics where metric = 'calls.total' and day = '${day}'`,
    )

  test.each(answers)(
    'is a gap of that day; all others are read, and read again (%s)',
    async (answer) => {
      const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
      sandbox.setSwitches({ 'analytics.unreadable': bad, 'analytics.answer': answer })
      const first = await sync()
      expect(first).toMatchObject({
        outcome: 'gaps',
        gaps: [{ stream: 'analytics', from: `${bad}T00:00:00Z` }],
      })
      expect(await storedDays(warehouse)).toHaveLength(days - 1)
      const before = await callsOn(warehouse, '2026-06-15')
      sandbox.mutate.addCall(undefined, 0)
      sandbox.advance(24 * hour)
      expect(await sync({ ...rollups })).toMatchObject({ outcome: 'gaps' })
      expect(await callsOn(warehouse, '2026-06-15')).toEqual([Number(before[0]) + 1])
      expect(await storedDays(warehouse)).toHaveLength(days)
      expect(await gaps(warehouse)).toHaveLength(1)

      sandbox.setSwitches({ 'analytics.unreadable': '' })
      expect(await sync({ ...rollups })).toMatchObject({ outcome: 'complete', gaps: [] })
      expect(await storedDays(warehouse)).toHaveLength(days + 1)
    },
  )

  test('keeps what was stored of it, and does not delay the others', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    await sync()
    sandbox.advance(3 * hour)
    sandbox.setSwitches({ 'analytics.unreadable': '2026-06-14,2026-06-15' })
    for (let n = 0; n < 4; n++) {
      sandbox.advance(24 * hour)
      sandbox.mutate.addCall(undefined, 0)
      await sync(rollups)
      const today = new Date(sandbox.now()).toISOString().slice(0, 10)
      expect(await callsOn(warehouse, today)).toEqual([1])
    }
    expect(await gaps(warehouse)).toHaveLength(2)
    expect(await storedDays(warehouse)).toHaveLength(days + 4)
  })

  test('fails the stream if no day at all can be read, after few requests', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    const all = Array.from({ length: 30 }, (_, n) => `2026-06-${String(n + 1).padStart(2, '0')}`)
    sandbox.setSwitches({ 'analytics.unreadable': all.join() })
    expect(await sync()).toMatchObject({ outcome: 'failed' })
    expect(requestedDays(sandbox).length).toBeLessThanOrEqual(6)
    sandbox.setSwitches({ 'analytics.unreadable': '' })
    expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
    expect(await storedDays(warehouse)).toHaveLength(days)
  })

  test('is no gap any more when it is a day of no zone that is mirrored', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    sandbox.setSwitches({ 'analytics.unreadable': bad })
    const startDate = Math.floor(Date.parse(`${bad}T00:00:00Z`) / 1000)
    await sync({ ...rollups, project: { startDate } })
    expect(await gaps(warehouse)).toHaveLength(1)
    const later = { ...rollups, project: { startDate: startDate + 86_400 } }
    expect(await sync(later)).toMatchObject({ outcome: 'complete', gaps: [] })
  })

  test('is not requested while the start date lies in the future', async () => {
    const { sandbox, warehouse, sync } = await startSyncedSandbox(sqlite)
    const startDate = Math.floor(sandbox.now() / 1000) + 3 * 86_400
    const result = await sync({ ...rollups, project: { startDate } })
    expect(result.notices.join()).toContain('start date')
    expect(await storedDays(warehouse)).toEqual([])
  })
})

for (const db of [sqlite, postgres]) {
  describe(`another time zone — ${db.name}`, () => {
    testOnOne(
      db.name,
      'replaces the old rollups one by one, and only when a person has confirmed it',
      async () => {
        const { sandbox, warehouse, sync } = await startSyncedSandbox(db)
        await sync()
        expect(await startedConversations(warehouse, sandbox)).toEqual({ sum: 40, actual: 40 })
        let previous = 'UTC'
        for (const timeZone of db === sqlite ? testedZones : testedZones.slice(0, 2)) {
          await expect(sync({ ...rollups, project: { timeZone } })).rejects.toMatchObject({
            exitCode: 2,
          })
          expect(await zones(warehouse)).toEqual([previous])
          const stop = new AbortController()
          const onProgress: SyncOverrides['onProgress'] = ({ rows }) => rows >= 4 && stop.abort()
          const confirmed = { ...rollups, project: { timeZone }, changeTimeZone: true }
          const cut = await sync({ ...confirmed, signal: stop.signal, onProgress })
          expect(cut.outcome).toBe('interrupted')
          expect(cut.notices.join()).toContain(`days of ${timeZone}`)
          expect(await zones(warehouse)).toEqual([previous, timeZone].toSorted())
          // No second is lost, and at most one old day is beside days that cover a part of it.
          // Each pair is found twice.
          expect((await overlapping(warehouse)).length).toBeLessThanOrEqual(2)
          expect((await startedConversations(warehouse, sandbox)).sum).toBeGreaterThanOrEqual(40)
          expect(await gaps(warehouse)).toEqual([
            `the rollups of these days are read again, as days of ${timeZone}`,
          ])

          expect((await sync({ ...rollups, project: { timeZone } })).outcome).toBe('complete')
          expect(await zones(warehouse)).toEqual([timeZone])
          expect(await overlapping(warehouse)).toEqual([])
          expect(await startedConversations(warehouse, sandbox)).toEqual({ sum: 40, actual: 40 })
          expect(new Set(await storedDays(warehouse)).size).toBe(
            (await storedDays(warehouse)).length,
          )
          expect(await gaps(warehouse)).toEqual([])
          previous = timeZone
        }
      },
    )

    testOnOne(
      db.name,
      'keeps the old rollups of a day that cannot be read in the new zone',
      async () => {
        const { sandbox, warehouse, sync } = await startSyncedSandbox(db)
        await sync()
        sandbox.setSwitches({ 'analytics.unreadable': '2026-06-09' })
        const project = { timeZone: 'Asia/Tokyo' }
        expect((await sync({ ...rollups, project, changeTimeZone: true })).outcome).toBe('gaps')
        const old = `select day from analytics_rollups where time_zone = 'UTC' order by day`
        expect(await column(warehouse, old)).toEqual(['2026-06-09', '2026-06-10'])
        sandbox.setSwitches({ 'analytics.unreadable': '' })
        expect((await sync({ ...rollups, project })).outcome).toBe('complete')
        expect(await column(warehouse, old)).toEqual([])
        expect(await startedConversations(warehouse, sandbox)).toEqual({ sum: 40, actual: 40 })
      },
    )

    testOnOne(
      db.name,
      'costs nothing if its days are the same: another name, or a winter',
      async () => {
        const { sandbox, warehouse, sync } = await startSyncedSandbox(db, {
          now: '2026-02-15T12:00:00Z',
        })
        await sync()
        for (const timeZone of ['Etc/UTC', 'Europe/London', 'Africa/Accra']) {
          await sync({ ...rollups, project: { timeZone } })
          expect(requestedDays(sandbox)).toHaveLength(1)
          expect(await zones(warehouse)).toEqual([timeZone])
        }
        expect(await storedDays(warehouse)).toHaveLength(days)
      },
    )

    testOnOne(
      db.name,
      'removes days by earlier rules of the zone, and keeps those by the present ones',
      async () => {
        const { sandbox, warehouse, sync } = await startSyncedSandbox(db)
        await sync()
        const columns = 'project_id, raw, synced_at, run_id, asked_at, read_at, day, time_zone'
        const doubled = "'2026-06-14T15:00:00Z', '2026-06-15T15:00:00Z'"
        await warehouse.query(`insert into analytics_rollups (${columns}, window_from, window_to)
        select ${columns}, ${doubled} from analytics_rollups where window_from = '2026-06-14T00:00:00Z'`)
        await warehouse.query(`insert into analytics_metrics (project_id, window_from, window_to, day, time_zone, metric, value)
        select project_id, ${doubled}, day, time_zone, metric, value from analytics_metrics where window_from = '2026-06-14T00:00:00Z'`)
        expect(await storedDays(warehouse)).toHaveLength(days + 1)

        expect((await sync(rollups)).outcome).toBe('complete')
        expect(requestedDays(sandbox)).toHaveLength(1)
        expect(await startedConversations(warehouse, sandbox)).toEqual({ sum: 40, actual: 40 })
        expect([await zones(warehouse), await overlapping(warehouse)]).toEqual([['UTC'], []])
        expect(await storedDays(warehouse)).toHaveLength(days)
      },
    )

    testOnOne(
      db.name,
      'does not change the stored rollups before the service has answered for the first new day',
      async () => {
        const { sandbox, warehouse, sync } = await startSyncedSandbox(db)
        await sync()
        sandbox.addKey({ key: 'svc_live_none', scopes: ['conversations:read'] })
        const project = { timeZone: 'Asia/Tokyo', apiKey: secret('svc_live_none') }
        expect((await sync({ ...rollups, project, changeTimeZone: true })).outcome).toBe('gaps')
        expect(await startedConversations(warehouse, sandbox)).toEqual({ sum: 40, actual: 40 })
        expect(await zones(warehouse)).toEqual(['UTC'])
      },
    )
  })
}

describe('an old rollup', () => {
  const smallest = { conversations: 1, visitors: 1, calls: 0 }

  test('is read again by reconciles, thirty older days each, least recently read first', async () => {
    const { sandbox, warehouse, sync: read } = await startSyncedSandbox(sqlite, { size: smallest })
    const project = { startDate: Math.floor(sandbox.now() / 1000) - 60 * 86_400 }
    const sync = (over: SyncOverrides = {}) => read({ ...rollups, project, ...over })
    await sync()
    sandbox.advance(24 * hour)
    await sync()
    // A new call dated weeks ago: an incremental sync has no reason to request that day.
    sandbox.mutate.addCall(undefined, 50 * 24 * hour)
    await sync()
    expect(requestedDays(sandbox).length).toBeLessThan(5)
    const calls = () =>
      column(warehouse, "select sum(value) from analytics_metrics where metric = 'calls.total'")
    expect(await calls()).toEqual([0])

    const dates = new Set<string>()
    for (let night = 0; night < 2; night++) {
      sandbox.advance(24 * hour)
      await sync({ mode: 'reconcile' })
      expect(requestedDays(sandbox).length).toBeLessThanOrEqual(3 + 7 + 30)
      for (const from of requestedDays(sandbox)) dates.add(from)
    }
    expect(dates.size).toBe((await storedDays(warehouse)).length)
    expect(await calls()).toEqual([1])
    const [oldest] = await column(warehouse, 'select min(read_at) from analytics_rollups')
    expect(Date.parse(String(oldest))).toBeGreaterThanOrEqual(sandbox.now() - 24 * hour)
  })

  test('is read again once, however often the reconcile is interrupted', async () => {
    const { sandbox, sync: runSync } = await startSyncedSandbox(sqlite, { size: smallest })
    const project = { startDate: Math.floor(sandbox.now() / 1000) - 45 * 86_400 }
    const sync = (over: SyncOverrides = {}) => runSync({ ...rollups, project, ...over })
    await sync()
    sandbox.advance(24 * hour)
    const read: string[] = []
    for (let outcome = 'interrupted', runs = 0; outcome === 'interrupted'; runs++) {
      const stop = new AbortController()
      const onProgress: SyncOverrides['onProgress'] = ({ rows }) => rows >= 15 && stop.abort()
      const cut = await sync({ mode: 'reconcile', signal: stop.signal, onProgress })
      outcome = cut.outcome
      read.push(...requestedDays(sandbox))
      expect(runs).toBeLessThan(10)
    }
    // Each run reads today; the last seven days and thirty of the others are read once.
    const today = read.toSorted().at(-1)
    const others = read.filter((from) => from !== today)
    expect(new Set(others).size).toBe(others.length)
    expect(others.length).toBeGreaterThanOrEqual(7 + 30)
    expect(others.length).toBeLessThanOrEqual(2 + 7 + 30)
    await sync({ mode: 'reconcile' })
    expect(requestedDays(sandbox)).toEqual([today])
  })
})
