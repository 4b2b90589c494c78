/** What the pages for those who look after the mirror read, on each database. */

import { describe, expect, test } from 'vitest'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { readPeriodTable } from '../../../src/analytics/sql/read-period-table.ts'
import { defaultProject } from '../../../src/config/config.ts'
import { readOverview } from '../../../src/console/sql/overview.ts'
import { listRuns, readRun } from '../../../src/console/sql/runs.ts'
import {
  readFailingParents,
  readFields,
  readGaps,
  readStreams,
} from '../../../src/console/sql/streams.ts'
import { readProjectState } from '../../../src/maintenance/sql/status-report.ts'
import { readMirrorState } from '../../../src/mirror/sql/mirror-state.ts'
import {
  addMinutes,
  deleteBudgetHistory,
  readBudget,
  recordPause,
} from '../../../src/service/sql/request-counts.ts'
import { secret } from '../../../src/values/secret.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { databases } from '../../support/databases.ts'
import { commit, conversation, message, timeAt, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'

const { timeZone, analytics } = defaultProject({
  name: 'main',
  projectId: 'main',
  baseUrl: new URL('https://x.example'),
  apiKey: secret('x'),
})
const now = Date.parse(timeAt(100_000))
const minute = 60_000

for (const db of databases) {
  describe(db.name, () => {
    test('visitors, which no documented field dates, are as new as their list was when it was read to its end', async () => {
      const { warehouse } = await openTestWarehouse(db)
      const reads = warehouse.projectDb('main')
      const newest = async (position: string) => {
        await warehouse.query("delete from sync_cursors where stream = 'visitors'")
        await warehouse.query(`insert into sync_cursors (project_id, stream, position)
          values ('main', 'visitors', '${position}')`)
        const [row] = await readStreams(reads, ['visitors'], now)
        const state = await readMirrorState(reads, ['visitors'], now)
        return [row?.newest, state.streams.find(({ stream }) => stream === 'visitors')?.newest]
      }
      expect(await newest(`${timeAt(9)}/`)).toEqual([timeAt(9), timeAt(9)])
      for (const position of [
        '1970-01-01T00:00:00Z/',
        `=${timeAt(9)}/`,
        `${timeAt(1)}/${timeAt(5)}= ${timeAt(9)}/`,
      ])
        expect(await newest(position), position).toEqual([null, null])
    })

    test('requests of all processes are added up by the minute and the priority', async () => {
      const { warehouse } = await openTestWarehouse(db)
      const at = Math.floor(now / minute) * minute
      const count = (
        start: number,
        priority: 'fresh' | 'write',
        requests: number,
        throttled = 0,
      ) => ({
        project: 'main',
        minute: start,
        priority,
        requests,
        throttled,
      })
      await addMinutes(warehouse.db, [count(at, 'fresh', 3), count(at, 'write', 1, 1)])
      await addMinutes(warehouse.db, [
        count(at, 'fresh', 4),
        count(at - 30 * minute, 'fresh', 9),
        count(at - 300 * minute, 'fresh', 50),
      ])
      const reads = warehouse.projectDb('main')
      const { bars } = await readBudget(reads, at - 60 * minute, at, minute)
      expect(bars).toEqual([
        { at: at - 30 * minute, requests: { fresh: 9 }, throttled: 0 },
        { at, requests: { fresh: 7, write: 1 }, throttled: 1 },
      ])
      const hours = await readBudget(reads, at - 600 * minute, at, 60 * minute)
      expect(hours.bars.reduce((sum, { requests }) => sum + (requests.fresh ?? 0), 0)).toBe(66)
      for (const bar of hours.bars) expect(bar.at % (60 * minute)).toBe(0)

      const pause = (from: number, to: number) =>
        recordPause(warehouse.db, 'main', { kind: 'throttled', from, to })
      await pause(at - 5 * minute, at - 4 * minute)
      await pause(at - 5 * minute + 10, at - 3 * minute)
      await pause(at - minute, at)
      expect((await readBudget(reads, at - 60 * minute, at, minute)).pauses).toEqual([
        { kind: 'throttled', from: at - 5 * minute, to: at - 3 * minute },
        { kind: 'throttled', from: at - minute, to: at },
      ])
      await deleteBudgetHistory(warehouse.db, at)
      const kept = await readBudget(reads, at - 600 * minute, at, minute)
      expect([kept.bars.length, kept.pauses.length]).toEqual([1, 1])
    })

    test('streams, gaps, parents that cannot be read, and runs', async () => {
      const { warehouse, mirror, all } = await openTestWarehouse(db)
      await mirror.commit(commit('conversations', [conversation('c1'), conversation('c2')]))
      const insert = (table: string, row: Record<string, string | number | null>) => {
        const values = Object.values(row).map((value) =>
          value === null ? 'null' : typeof value === 'number' ? value : `'${value}'`,
        )
        return all(`insert into ${table} (${Object.keys(row).join()}) values (${values.join()})`)
      }
      const gap = {
        project_id: 'main',
        stream: 'calls',
        reason: 'unsorted',
        found_at: timeAt(1),
        seen_at: 1,
      }
      await insert('sync_gaps', { ...gap, id: 'g1', dedup_key: 's1', resolved_at: timeAt(2) })
      await insert('sync_gaps', { ...gap, id: 'g2', dedup_key: 's2' })
      for (const parent_id of ['p1', 'p2', 'p3'])
        await insert('sync_children', {
          project_id: 'main',
          stream: 'messages',
          parent_id,
          requested_version: 1,
          read_version: 0,
          attempts: 1,
          error: parent_id === 'p3' ? 'timeout' : 'status 500',
        })
      await insert('sync_streams', {
        project_id: 'main',
        stream: 'calls',
        synced_at: timeAt(3),
        failed: 'x',
        failed_since: timeAt(4),
      })
      const run = {
        project_id: 'main',
        mode: 'full',
        started_at: timeAt(1),
        requests: 2,
        rows_read: 3,
        rows_changed: 4,
        strings_escaped: 0,
        beat_at: 0,
      }
      const report = {
        stream: 'calls',
        requests: 2,
        rows: 3,
        changed: 4,
        tookMs: 5,
        skipped: null,
        failed: null,
      }
      await insert('sync_runs', {
        ...run,
        id: 'r1',
        outcome: 'complete',
        finished_at: timeAt(2),
        streams: JSON.stringify([report]),
      })
      await insert('sync_runs', { ...run, id: 'r2' })

      const reads = warehouse.projectDb('main')
      expect((await readGaps(reads, 'calls')).map(({ resolvedAt }) => resolvedAt)).toEqual([
        null,
        timeAt(2),
      ])
      expect(await readGaps(reads, null)).toHaveLength(1)
      expect(await readFailingParents(reads, null)).toEqual([
        { reason: 'status 500', count: 2, example: 'p1' },
        { reason: 'timeout', count: 1, example: 'p3' },
      ])
      const streams = await readStreams(reads, ['calls', 'conversations'], now)
      expect(streams.map(({ stream, rows, newest }) => [stream, rows, newest])).toEqual([
        ['conversations', 2, timeAt(0)],
        ['calls', 0, null],
      ])
      const { lastSyncOf, blockedLanes } = await readProjectState(reads, now)
      expect([lastSyncOf('calls'), lastSyncOf('conversations'), blockedLanes]).toMatchObject([
        { syncedAt: timeAt(3), failed: 'x' },
        { syncedAt: null, failed: null },
        0,
      ])
      expect((await listRuns(reads, null, null, 5)).map(({ id }) => id)).toEqual(['r2', 'r1'])
      expect((await listRuns(reads, 'complete', 'r2', 5)).map(({ id }) => id)).toEqual(['r1'])
      expect((await readRun(reads, 'r1'))?.streams).toEqual([report])
      expect([(await readRun(reads, 'r2'))?.streams, await readRun(reads, 'r3')]).toEqual([
        [],
        null,
      ])
      expect(await readOverview(reads, now)).toMatchObject({
        gaps: 1,
        waiting: { count: 0, since: null },
      })
    })

    test('days and discovered fields', async () => {
      const { warehouse, mirror } = await openTestWarehouse(db)
      await mirror.commit(commit('visitors', [visitor('v1', { plan: 'gold' }), visitor('v2')]))
      await mirror.commit(commit('conversations', [conversation('c1', { handled_at: null })]))
      await mirror.commit(
        commit('messages', [
          message('c1', 1, { sender_type: 'visitor', created_at: timeAt(0) }),
          message('c1', 2, { created_at: timeAt(60) }),
        ]),
      )
      await createProjectFacts(warehouse.projectDb('main'), { timeZone, analytics }).refresh()
      const reads = warehouse.projectDb('main')
      const january = { from: '2026-01-01', to: '2026-01-31', agent: null }
      const [day] = (await readPeriodTable(reads, 'charts', january)).days
      expect(day).toMatchObject({
        date: '2026-01-01',
        visitor_messages: 1,
        answered_by_human: 1,
        open_at_end: 1,
        calls: 0,
      })
      expect(await readFields(reads)).toMatchObject([
        { stream: 'visitors', path: 'plan', column: 'plan', filled: 0.5 },
      ])
    })

    test('the audit log is only ever added to, and a link is used once', async () => {
      const { warehouse, all } = await openTestWarehouse(db)
      const { append, list, storeLink, useLink } = createAuditLog(warehouse.db)
      const event = {
        project: '',
        person: 'ann',
        role: 'approver',
        action: 'signed_in',
        subject: null,
        count: null,
        detail: null,
      }
      for (const second of [1, 2, 3])
        await append({ ...event, person: `p${second}` }, Date.now() + second * 1000)
      const [newest, ...others] = await list(null, 10)
      expect([
        newest?.person,
        (await list(newest?.id ?? null, 1))[0]?.person,
        others.length,
      ]).toEqual(['p3', 'p2', 2])
      await expect(all('delete from console_events')).rejects.toThrow()
      await expect(all("update console_events set person = 'x'")).rejects.toThrow()
      await storeLink('code', minute, now)
      expect([
        await useLink('other', now),
        await useLink('code', now),
        await useLink('code', now),
      ]).toEqual([false, true, false])
    })
  })
}
