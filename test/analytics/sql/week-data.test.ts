/** The last seven whole days beside the seven before them: the numbers of the report, and where the mirror begins. */
import { expect, test } from 'vitest'
import { chooseReportPeriod } from '../../../src/analytics/core/report-period.ts'
import { buildReport } from '../../../src/analytics/report/report.ts'
import { buildWeek } from '../../../src/analytics/report/week.ts'
import { readReportData } from '../../../src/analytics/sql/report-data.ts'
import { readWeekData } from '../../../src/analytics/sql/week-data.ts'
import { databases } from '../../support/databases.ts'
import { openViewsWarehouse } from './view-fixtures.ts'

const monday = Date.UTC(2025, 10, 3, 12)

for (const db of databases) {
  test(`a week has the numbers that the report has of its days; one that is not read to its end is left out — ${db.name}`, async () => {
    const { warehouse } = await openViewsWarehouse(db)
    expect(await readWeekData(warehouse.projectDb('main'), monday)).toBeNull()
    const readUntil = async (time: string) => {
      for (const stream of ['conversations', 'messages'])
        await warehouse.query(`insert into sync_streams (project_id, stream, synced_at) values ('main', '${stream}', '${time}')
          on conflict (project_id, stream) do update set synced_at = excluded.synced_at`)
    }
    await readUntil('2025-11-03T11:00:00Z')
    const weekAt = async (now: number) => {
      const data = await readWeekData(warehouse.projectDb('main'), now)
      return data === null ? null : buildWeek(data)
    }
    const week = await weekAt(monday)
    const choosePeriod = (today: string) => chooseReportPeriod({}, today)
    const data = await readReportData(warehouse.db, warehouse.kind, 'main', monday, choosePeriod)
    if (week === null || data === null) throw new Error('the project has no facts')
    const { ai, volume, backlog, responseTimes } = buildReport('main', data, monday)
    expect(week.period).toEqual({ from: '2025-10-27', to: '2025-11-02' })
    expect(week.before).toEqual({ from: '2025-10-20', to: '2025-10-26', isWhole: true })
    expect(week.changes).toEqual({
      started: volume.conversationsStarted,
      medianSeconds: responseTimes.find(({ which, clock, hours }) => `${which} ${clock} ${hours}` === 'every human all')
        ?.medianSeconds,
      waitingAtEnd: backlog.waitingAtEnd,
      openAtEnd: backlog.openAtEnd,
      handlings: backlog.handlings,
      aiOnlyShare: ai.aiOnlyShare,
    })
    expect(week.changes.started).toMatchObject({ value: 3, before: 2 })
    expect(week.changes.aiOnlyShare.value).toBeGreaterThan(0)
    expect(week.days.map((day) => day?.openAtEnd).at(-1)).toBe(backlog.openAtEnd.value)
    expect(week.days.reduce((sum, day) => sum + (day?.started ?? 0), 0)).toBe(3)

    await readUntil('2025-11-02T11:00:00Z')
    expect((await weekAt(monday))?.period).toEqual({ from: '2025-10-26', to: '2025-11-01' })
    // The oldest conversation is of 2025-03-30.
    const young = await weekAt(Date.UTC(2025, 3, 8, 12))
    expect(young?.before).toEqual({ from: '2025-03-30', to: '2025-03-31', isWhole: false })
    expect(young?.daysBefore.map((day) => day === null)).toEqual([true, true, true, true, true, false, false])
    expect((await weekAt(Date.UTC(2025, 3, 2, 12)))?.changes.started).toMatchObject({ before: null, change: null })
    expect(await readWeekData(warehouse.projectDb('other'), monday)).toBeNull()
  })
}
