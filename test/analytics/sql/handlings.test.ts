/**
 * A conversation that is handled, and comes back after a month: what syncs store of it, and what
 * the views show then.
 */
import { expect, test } from 'vitest'
import type { MirrorCommit } from '../../../src/mirror/core/mirror.ts'
import { databases } from '../../support/databases.ts'
import { conversation, message } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { factsOf } from './facts-settings.ts'

type Said = readonly [senderType: string, at: string]

const thanks: readonly Said[] = [
  ['agent', '2025-09-01T08:05:00Z'],
  ['visitor', '2025-09-01T10:00:00Z'],
]
const question: Said = ['visitor', '2025-10-01T10:06:06Z']
const answer: Said = ['agent', '2025-10-01T10:11:06Z']

for (const db of databases) {
  test(`nobody has waited for a month, and the month stays as it was — ${db.name}`, async () => {
    const { warehouse, mirror, all } = await openTestWarehouse(db)
    const sync = async (at: string, handledAt: string | null, said: readonly Said[]) => {
      const requestedAt = Date.parse(at)
      await mirror.startRun('incremental', requestedAt)
      const page = (stream: MirrorCommit['stream'], rows: MirrorCommit['rows']) =>
        mirror.commit({ stream, rows, requestedAt, isAuthoritative: true })
      const [, lastAt = null] = said.at(-1) ?? []
      const columns = {
        created_at: '2025-09-01T08:00:00Z',
        handled_at: handledAt,
        last_message_at: lastAt,
      }
      await page('conversations', [conversation('c1', columns)])
      const rows = said.map(([sender_type, created_at], index) =>
        message('c1', index + 1, { sender_type, created_at }),
      )
      await page('messages', rows)
      await factsOf(warehouse).refresh()
    }
    const days = () =>
      all(`select date, handlings, reopenings, open_at_end, waiting_at_end from report_backlog_day
        where date in ('2025-09-01', '2025-09-15', '2025-09-30') order by date`)
    const quiet = { reopenings: 0, open_at_end: 0, waiting_at_end: 0 }
    const september = [
      { date: '2025-09-01', handlings: 1, ...quiet },
      { date: '2025-09-15', handlings: 0, ...quiet },
      { date: '2025-09-30', handlings: 0, ...quiet },
    ]

    await sync('2025-09-01T12:00:00Z', '2025-09-01T10:10:00Z', thanks)
    expect(await days()).toEqual(september)
    await sync('2025-10-01T10:07:00Z', null, [...thanks, question])
    expect(await days()).toEqual(september)
    expect(await all('select waiting_since from report_open')).toEqual([
      { waiting_since: question[1] },
    ])
    expect(await all('select old_read_at from conversation_changes')).toContainEqual({
      old_read_at: '2025-09-01T12:00:00Z',
    })
    await sync('2025-10-02T12:00:00Z', '2025-10-02T09:00:00Z', [...thanks, question, answer])
    expect(await days()).toEqual(september)
    expect(
      await all(
        'select started_date, ended_by, ended_at, answer_seconds from fct_wait order by wait_number',
      ),
    ).toEqual([
      {
        started_date: '2025-09-01',
        ended_by: 'handled',
        ended_at: '2025-09-01T10:10:00Z',
        answer_seconds: null,
      },
      { started_date: '2025-10-01', ended_by: 'human', ended_at: answer[1], answer_seconds: 300 },
    ])
  })
}
