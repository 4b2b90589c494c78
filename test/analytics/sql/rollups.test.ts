/** The service's rollups beside our own numbers: which of ours fits, on which days, and when none does. */

import { describe, expect, test } from 'vitest'
import { chooseReportPeriod } from '../../../src/analytics/core/report-period.ts'
import { readReportData } from '../../../src/analytics/sql/report-data.ts'
import type { StreamReport } from '../../../src/mirror/core/reports.ts'
import { rfc3339 } from '../../../src/values/time.ts'
import { databases, type TestDatabase } from '../../support/databases.ts'
import { commit, conversation, rollup } from '../../warehouse/row-fixtures.ts'
import { openFactsWarehouse } from './facts-fixtures.ts'
import { factsOf, settings } from './facts-settings.ts'

const [hour, day] = [3600, 86_400]
const days = 20
const dates = Array.from({ length: days }, (_, date) => date)
/** Midnight in Calcutta, where the clocks never change, some days ago. */
const zone = 'Asia/Kolkata'
const begin = (Math.floor(Date.now() / 1000 / day) - days - 2) * day - 5.5 * hour
const startOf = (date: number) => begin + date * day
const dayOf = (date: number) => rfc3339(startOf(date) + 5.5 * hour).slice(0, 10)

/** Conversations of each day: the first at its start, the others before its end, which is the next day in UTC. */
const startedOn = (date: number) =>
  Array.from({ length: 2 + ((date * 7) % 10) }, (_, n) => (n === 0 ? startOf(date) : startOf(date + 1) - n))

type Day = { readonly started?: number; readonly readAt?: number }

const rollupOf = (date: number, { started = startedOn(date).length, readAt }: Day) => {
  const others = {
    rounded: started + 0.0001,
    inexact: started + 0.25,
    above: started + 2,
    square: date * date + 500,
    rare: date === 3 ? 7 : 0,
  }
  const shown = { started, ...others }
  const { columns, ...row } = rollup(rfc3339(startOf(date)), rfc3339(startOf(date + 1)), shown)
  const times = { day: dayOf(date), time_zone: zone, read_at: rfc3339(readAt ?? startOf(date + 1) + 2 * hour) }
  return { ...row, columns: { ...columns, ...times } }
}

const reportOf = (stream: StreamReport['stream']): StreamReport => ({
  ...{ stream, requests: 1, rows: 1, changed: 1, tookMs: 1, skipped: null, failed: null },
})

/** A mirror of these conversations and of a rollup for each day. */
async function mirrorDays(db: TestDatabase, make: (date: number) => Day = () => ({})) {
  const opened = await openFactsWarehouse(db)
  const { warehouse, mirror, all } = opened
  const started = dates.flatMap((date) => startedOn(date).map((at, n) => ({ id: `c${date}-${n}`, at: rfc3339(at) })))
  const rows = started.map(({ id, at }) => conversation(id, { created_at: at, last_message_at: at }))
  await mirror.commit(commit('conversations', rows))
  for (const date of dates) await mirror.commit(commit('analytics', [rollupOf(date, make(date))]))
  const run = await mirror.startRun('incremental', Date.now())
  await mirror.finishRun(run, 'complete', [reportOf('conversations'), reportOf('calls')], Date.now())
  await factsOf(warehouse, settings, zone).refresh()
  const fitOf = async (metric: string) =>
    (await all(`select definition from report_rollup_fit where metric = '${metric}' and is_fit`)).map(
      ({ definition }) => definition,
    )
  const resultsOf = (metric: string) =>
    all(
      `select result, count(*) as n from report_rollup_day where metric = '${metric}' group by result order by result`,
    )
  return { ...opened, fitOf, resultsOf }
}

const startedDefinition = 'report_conversation_day.started'

for (const db of databases) {
  describe(`rollups beside our own numbers — ${db.name}`, () => {
    test('a number is the one of ours that is equal on its days, which are those of the configured zone', async () => {
      const { all, one, fitOf, resultsOf } = await mirrorDays(db)
      expect(await fitOf('started')).toEqual([startedDefinition])
      expect(await fitOf('rounded')).toEqual([startedDefinition])
      expect(await resultsOf('started')).toEqual([{ result: 'equal', n: days }])
      const pair = `where metric = 'started' and definition = '${startedDefinition}'`
      expect(await one(`select days, days_equal, mean_difference, place from report_rollup_fit ${pair}`)).toEqual({
        ...{ days, days_equal: days, mean_difference: 0, place: 1 },
      })
      expect(await one(`select service_value, own_value, difference from report_rollup_day ${pair} limit 1`)).toEqual({
        ...{ service_value: expect.any(Number), own_value: expect.any(Number), difference: 0 },
      })
      const places = await all(
        "select count(*) as pairs, max(place) as last from report_rollup_fit where metric = 'rare'",
      )
      expect(Number(places[0]?.['pairs'])).toBe(places[0]?.['last'])
    })

    test('no number of ours is said to fit one that none is, nor one that is nearly always 0', async () => {
      const { all, fitOf, resultsOf } = await mirrorDays(db)
      for (const metric of ['inexact', 'above', 'square', 'rare']) {
        expect(await fitOf(metric), metric).toEqual([])
        expect(await resultsOf(metric), metric).toEqual([{ result: 'not compared', n: days }])
      }
      expect(await all('select own_value from report_rollup_day where own_value is not null')).toHaveLength(2 * days)
    })

    test('a day that differs is shown, also in a report, and the number still fits', async () => {
      const { one, resultsOf, warehouse } = await mirrorDays(db, (date) => (date === 5 ? { started: 99 } : {}))
      expect(await resultsOf('started')).toEqual([
        { result: 'different', n: 1 },
        { result: 'equal', n: days - 1 },
      ])
      const own = startedOn(5).length
      expect(
        await one(
          "select service_value, own_value, difference from report_rollup_day where result = 'different' and metric = 'started'",
        ),
      ).toEqual({ service_value: 99, own_value: own, difference: 99 - own })
      const week = (today: string) => chooseReportPeriod({ from: dayOf(3), to: dayOf(9) }, today)
      const report = await readReportData(warehouse.db, warehouse.kind, 'main', Date.now(), week)
      expect(report?.rollup.find(({ metric }) => metric === 'started')).toEqual({
        ...{ metric: 'started', definition: startedDefinition, equal: 6, different: 1, notFinal: 0, notCompared: 0 },
        largestDifference: 99 - own,
      })
    })

    test('a day counts only if both sides were read after its end, without a gap, and in this zone', async () => {
      const tooEarly = (date: number) => (date === 2 ? { readAt: startOf(date + 1) - hour } : {})
      const { all, mirror, resultsOf } = await mirrorDays(db, tooEarly)
      await all(`update analytics_rollups set time_zone = 'UTC' where window_from = '${rfc3339(startOf(4))}'`)
      const gap = { stream: 'calls', from: startOf(7), to: startOf(8) - 1, reason: 'a test' } as const
      const ofOneRow = { stream: 'messages', from: null, to: null, reason: 'a test', dedupKey: 'parent:c1-1' } as const
      await mirror.commit(commit('calls', [], { gaps: [gap, ofOneRow] }))
      expect(await resultsOf('started')).toEqual([
        { result: 'equal', n: days - 3 },
        { result: 'not final', n: 2 },
      ])
      await all("update sync_streams set synced_at = null where stream = 'conversations'")
      expect(await resultsOf('started')).toEqual([{ result: 'not compared', n: days - 1 }])
    })
  })
}
