/** The service's rollups beside counts of our own: what is stored, which days count, and what a change is. */
import { describe, expect, test } from 'vitest'
import type { StreamReport } from '../../../src/core/mirror.ts'
import type { MirrorRow } from '../../../src/core/row.ts'
import { sqliteAndPostgres, type TestDatabase } from '../../support/databases.ts'
import { commit, conversation, message, rollup, timeAt } from '../row-fixtures.ts'
import { openFactsWarehouse, readMessages } from './facts-fixtures.ts'
import { settings } from './facts-settings.ts'

const [minute, hour, day] = [60, 3600, 86_400]
const days = 20

/** On each day some conversations begin, on every other one at midnight, on every third one just before the next. */
const createdOn = (date: number) => {
  const evenly = Array.from(
    { length: 2 + ((date * 7) % 10) },
    (_, n) => date * day + (n * 97 + (date % 2) * 70) * minute,
  )
  return date % 3 === 0 ? [...evenly, date * day + 23.5 * hour] : evenly
}

type Fixture = { readonly id: string; readonly createdAt: number; readonly messagesAt: readonly number[] }

/** Each is answered an hour after its first message and goes on two days later. */
const conversations: readonly Fixture[] = Array.from({ length: days }, (_, date) => date).flatMap((date) =>
  createdOn(date).map((createdAt, n) => ({
    ...{ id: `c${date}-${n}`, createdAt },
    messagesAt: [createdAt, createdAt + hour, createdAt + 2 * day + 5 * minute],
  })),
)

/** Each day is read two hours after its end. */
const readAt = (date: number) => (date + 1) * day + 2 * hour
const isWithin = (at: number | undefined, date: number) => at !== undefined && at >= date * day && at < (date + 1) * day

/** What the service shows of a day: its conversations by their last message so far. */
const activeOn = (date: number) =>
  conversations.filter(({ messagesAt }) => isWithin(messagesAt.filter((at) => at <= readAt(date)).at(-1), date)).length

const rollupOf = (date: number, started = createdOn(date).length) => {
  const row = rollup(timeAt(date * day), timeAt((date + 1) * day), { started, active: activeOn(date), half: 0.5 })
  return { ...row, columns: { ...row.columns, read_at: timeAt(readAt(date)) } }
}

const report = (stream: StreamReport['stream']): StreamReport => ({
  ...{ stream, requests: 1, rows: 1, changed: 1, tookMs: 1, skipped: null, failed: null },
})
const endOfSync = Date.parse(timeAt(40 * day))

/** A mirror of these conversations, and of a rollup for each day. */
async function mirrorDays(db: TestDatabase, fixtures: readonly Fixture[], toRollup: (date: number) => MirrorRow) {
  const opened = await openFactsWarehouse(db)
  const { warehouse, mirror, facts } = opened
  const rows = fixtures.map(({ id, createdAt, messagesAt }) =>
    conversation(id, { created_at: timeAt(createdAt), last_message_at: timeAt(messagesAt.at(-1) ?? 0) }),
  )
  await mirror.commit(commit('conversations', rows))
  for (const { id, messagesAt } of fixtures) {
    const sender = (n: number) => (n === 1 ? 'agent' : 'visitor')
    const messages = messagesAt.map((at, n) => message(id, n + 1, { created_at: timeAt(at), sender_type: sender(n) }))
    await mirror.commit(readMessages(id, messages))
  }
  const dates = Array.from({ length: days }, (_, date) => date)
  for (const date of dates) await mirror.commit(commit('analytics', [toRollup(date)]))
  const run = await mirror.startRun('incremental', endOfSync)
  await mirror.finishRun(run, 'complete', [report('conversations'), report('calls')], endOfSync)
  await facts.refresh()
  const compareAt = async (ms: number) => {
    const rollups = warehouse.rollups('main', { timeZone: 'UTC', analytics: settings }, () => ms)
    const learned = await rollups.learnIfDue()
    if (learned === null) return null
    await rollups.store(learned)
    return { notices: learned.notices }
  }
  return { ...opened, compareAt }
}

const mirrorTwentyDays = (db: TestDatabase) => mirrorDays(db, conversations, (date) => rollupOf(date))

const [first, nextDay] = [endOfSync + hour * 1000, endOfSync + 30 * hour * 1000]

for (const db of sqliteAndPostgres) {
  describe(`comparing rollups — ${db.name}`, () => {
    test('each number has the count that it is, a day at a time', async () => {
      const { all, one, compareAt } = await mirrorTwentyDays(db)
      expect(await compareAt(first)).toEqual({ notices: [] })
      expect(
        await all('select metric, verdict, definition, days, days_equal from rollup_definitions order by metric'),
      ).toEqual([
        // Not what the rows say now: all conversations went on after the day was read.
        { ...{ metric: 'active', verdict: 'proven', definition: 'conversations, by last message' }, ...equalOnAll },
        { metric: 'half', verdict: 'unknown', definition: null, days, days_equal: expect.any(Number) },
        { ...{ metric: 'started', verdict: 'proven', definition: 'conversations, by creation' }, ...equalOnAll },
      ])
      const view = `select service_value, own_value, difference, result, verdict from report_rollup_day`
      expect(await one(`${view} where date = '2026-01-03' and metric = 'started'`)).toEqual({
        ...{ service_value: 6, own_value: 6, difference: 0, result: 'equal', verdict: 'proven' },
      })
      expect(await one(`${view} where date = '2026-01-03' and metric = 'half'`)).toMatchObject({
        ...{ own_value: null, difference: null, result: 'not compared' },
      })
      expect(
        await all("select name, value, evidence from service_behaviours where name = 'analytics.started'"),
      ).toEqual([
        {
          ...{ name: 'analytics.started', value: 'conversations, by creation' },
          evidence: expect.stringMatching(/^equal on 20 of 20 final days; the next best definition on \d+$/),
        },
      ])
    })

    test('a message that a reading saw as the last one counts as such, however soon the next one came', async () => {
      const shown = (date: number) => rollup(timeAt(date * day), timeAt((date + 1) * day), { active: eastern(date) })
      const { compareAt, one } = await mirrorDays(db, soonContinued, (date) => {
        const row = shown(date)
        return { ...row, columns: { ...row.columns, read_at: timeAt(easternReadAt(date)) } }
      })
      await compareAt(first)
      expect(await one('select definition, days, days_equal from rollup_definitions')).toEqual({
        definition: 'conversations, by last message, in the day of America/New_York',
        ...equalOnAll,
      })
    })

    test('it is done once a day', async () => {
      const { compareAt, count } = await mirrorTwentyDays(db)
      await compareAt(first)
      expect(await compareAt(first + 2 * hour * 1000)).toBeNull()
      expect(await compareAt(nextDay)).toEqual({ notices: [] })
      expect(await count('rollup_comparisons')).toBe(3 * days)
    })

    test('a day that matched and does not any more is noticed once, and shown until it matches', async () => {
      const { warehouse, mirror, compareAt, list } = await mirrorTwentyDays(db)
      await compareAt(first)
      await mirror.commit(commit('analytics', [rollupOf(18, 99)]))
      const notice = expect.stringMatching(/started no longer is "conversations, by creation": 1 of the last 20 final/)
      expect(await compareAt(nextDay)).toEqual({ notices: [notice] })
      const different = "select date from report_rollup_day where result = 'different'"
      expect((await list(different)).map(String)).toEqual(['2026-01-19'])
      expect(await list("select verdict from rollup_definitions where metric = 'started'")).toEqual(['likely'])
      const changed = async () =>
        (await warehouse.streamStates.readProjects(Date.parse(timeAt(21 * day)))).get('main')?.changedDefinitions
      expect(await changed()).toBe(1)
      expect(await compareAt(nextDay + 25 * hour * 1000)).toEqual({ notices: [] })
      await mirror.commit(commit('analytics', [rollupOf(18)]))
      await compareAt(nextDay + 50 * hour * 1000)
      expect(await list(different)).toEqual([])
      expect(await changed()).toBe(0)
    })

    test('a day that the mirror does not have completely is not final', async () => {
      const { mirror, facts, compareAt, list, one } = await mirrorTwentyDays(db)
      const gap = { stream: 'calls', from: Date.parse(timeAt(3 * day)) / 1000, to: Date.parse(timeAt(3 * day)) / 1000 }
      await mirror.commit(commit('calls', [], { gaps: [{ ...gap, stream: 'calls', reason: 'a test' }] }))
      await mirror.commit(readMessages('c7-0', [], 'incomplete'))
      await facts.refresh()
      await compareAt(first)
      const open = await list(
        "select date from rollup_comparisons where not is_final and metric = 'started' order by date",
      )
      // The conversation's days are those from its creation to its last message.
      expect(open.map(String)).toEqual(['2026-01-04', '2026-01-08', '2026-01-09', '2026-01-10'])
      expect(await one("select days, days_equal from rollup_definitions where metric = 'started'")).toEqual({
        ...{ days: days - 4, days_equal: days - 4 },
      })
    })

    test('nothing is compared before all facts are derived', async () => {
      const { mirror, facts, compareAt } = await mirrorTwentyDays(db)
      await mirror.commit(commit('conversations', [conversation('c0-0', { last_message_at: timeAt(30 * day) })]))
      expect(await compareAt(first)).toBeNull()
      await facts.refresh()
      expect(await compareAt(first)).toEqual({ notices: [] })
    })
  })
}

const equalOnAll = { days, days_equal: days }

/** A day of New York ends at five in the morning of UTC, so that a day is not over when it is read; odd ones are read later. */
const easternReadAt = (date: number) => (date + 1) * day + (date % 2 === 0 ? 2 : 30) * hour + 7 * minute
const isOfEasternDay = (at: number | undefined, date: number) => isWithin(at === undefined ? at : at - 5 * hour, date)

/** On even days some have messages just before and just after the reading; on odd days some go on a day later. */
const soonContinued: readonly Fixture[] = Array.from({ length: days }, (_, date) => date).flatMap((date) =>
  Array.from({ length: 2 + ((date * 7) % 10) }, (_, n) => {
    const [morning, read] = [date * day + 6 * hour, easternReadAt(date)]
    const messagesAt =
      date % 2 === 0 ? [read - 2 * minute, read + 2 * minute] : n % 2 === 0 ? [morning] : [morning, morning + day]
    return { id: `e${date}-${n}`, createdAt: -30 * day, messagesAt: [-30 * day, ...messagesAt] }
  }),
)

const eastern = (date: number) =>
  soonContinued.filter(({ messagesAt }) =>
    isOfEasternDay(messagesAt.filter((at) => at <= easternReadAt(date)).at(-1), date),
  ).length
