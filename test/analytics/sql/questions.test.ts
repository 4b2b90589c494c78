/**
 * Questions of a support head: what docs/analytics.md answers with one statement, and what
 * loops over the rows say.
 */

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Json } from '../../../src/values/json.ts'
import { groupBy, median, sum } from '../../support/analytics-model/grouping.ts'
import { createLocalClock, monthOf } from '../../support/analytics-model/local-clock.ts'
import { mergedSteps } from '../../support/analytics-model/merged-world.ts'
import { deriveModel } from '../../support/analytics-model/model.ts'
import { type ModelRow, type ProjectRows, seconds } from '../../support/analytics-model/raw-rows.ts'
import { storeProjects } from '../../support/analytics-model/store-rows.ts'
import { databases } from '../../support/databases.ts'
import { call, commit, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { factsOf } from './golden-worlds.ts'

const text = readFileSync(new URL('../../../docs/analytics.md', import.meta.url), 'utf8')

/** The first query of a section, for all rows. */
function queryOf(question: string): string {
  const section = text.split('\n## ').find((part) => part.startsWith(`${question}?`)) ?? ''
  return (
    /```sql\n(.*?)```/s.exec(section)?.[1]?.replace(/limit \d+/, 'limit 10000') ??
    `no query: ${question}`
  )
}

type Call = {
  readonly id: string
  readonly at: string
  readonly fields: Readonly<Record<string, Json>>
}
type World = {
  readonly rows: ProjectRows
  readonly calls: readonly Call[]
  readonly plans: ReadonlyMap<string, string>
}

const seeds = Array.from({ length: 40 }, (_, n) => n + 1)

function randomWorld(): World {
  const rows = mergedSteps(0, seeds, 0)[0]!.projects[0]!
  const visitors = [...new Set(rows.conversations.map(({ visitor_id }) => visitor_id))].filter(
    (id) => id !== null,
  )
  const plans = new Map(visitors.map((id, n) => [id, ['free', 'pro', 'business'][n % 3]!]))
  const calls = visitors.flatMap((visitorId, n) => {
    const at = rows.conversations[n]?.created_at ?? '2025-06-10T12:00:00Z'
    const fields = {
      visitorId,
      direction: n % 2 ? 'inbound' : 'outbound',
      outcome: n % 3 ? 'completed' : 'missed',
    }
    const second = { ...fields, agentId: `a${n % 4}`, durationSeconds: 7 * n }
    return [
      { id: `call ${n}`, at, fields },
      ...(n % 4 ? [{ id: `another call ${n}`, at, fields: second }] : []),
    ]
  })
  // On a day without visits and conversations.
  const alone = {
    id: 'alone',
    at: '2025-08-17T12:00:00Z',
    fields: { visitorId: visitors[0] ?? '', direction: 'inbound', outcome: 'missed' },
  }
  return { rows, calls: [...calls, alone], plans }
}

/**
 * By question, in the words of its heading. `today`: the local date of the last day of the backlog.
 */
const answers: Readonly<Record<string, (world: World, today: string) => readonly ModelRow[]>> = {
  'How was the day': ({ rows }, today) => {
    const of = deriveModel(rows, today)
    const days = of.report_backlog_day.filter(({ date }) => String(date) >= '2025-09-27')
    return days.toReversed().map(({ date, handlings, open_at_end }) => {
      const waits = of.report_wait_day.find((row) => row['date'] === date)
      const human = of.report_answer_day.find(
        (row) => row['date'] === date && row['clock'] === 'human' && row['hours'] === 'all',
      )
      return {
        date: date ?? null,
        started: of.report_conversation_day.find((row) => row['date'] === date)?.['started'] ?? 0,
        waits: waits?.['waits'] ?? 0,
        ongoing_waits: waits?.['ongoing_waits'] ?? 0,
        human_answer_median_seconds: human?.['median_seconds'] ?? null,
        handlings: handlings ?? null,
        open_at_end: open_at_end ?? null,
      }
    })
  },
  'How long do visitors wait for an answer': ({ rows }, today) =>
    deriveModel(rows, today)
      .report_answer_week.filter((row) => row['clock'] === 'human' && row['hours'] === 'business')
      .toSorted(latestFirst('week')),
  'How long does the first response take': ({ rows }, today) =>
    deriveModel(rows, today)
      .report_duration_week.filter(
        (row) => row['until'] === 'first human answer' && row['hours'] === 'business',
      )
      .toSorted(latestFirst('week')),
  'How long does it take until a conversation is resolved': ({ rows }, today) =>
    deriveModel(rows, today)
      .report_duration_month.filter(
        (row) => String(row['until']).endsWith('handling') && row['hours'] === 'all',
      )
      .toSorted(
        (a, b) => latestFirst('month')(a, b) || (String(a['until']) < String(b['until']) ? -1 : 1),
      )
      .map(({ median_seconds, p90_seconds, ...row }) => ({
        ...row,
        median_hours: Number(median_seconds) / 3600,
        p90_hours: Number(p90_seconds) / 3600,
      })),
  'How many conversations does each agent have in a month': ({ rows }, today) =>
    deriveModel(rows, today)
      .report_agent_month.filter((row) => String(row['month']) >= '2025-01-01')
      .toSorted(
        (a, b) =>
          latestFirst('month')(a, b) ||
          Number(b['conversations']) - Number(a['conversations']) ||
          (String(a['agent_name']) < String(b['agent_name']) ? -1 : 1),
      ),
  'Who had how much to do': ({ rows }, today) => {
    const noon = '2025-09-29T12:00:00Z'
    const isNow = (from: unknown, to: unknown) =>
      String(from) <= noon && (to === null || String(to) > noon)
    const { fct_assignment, fct_state } = deriveModel(rows, today)
    const assigned = fct_assignment.filter(
      (row) =>
        isNow(row['from_at'], row['to_at']) &&
        fct_state.some(
          (state) =>
            state['conversation_id'] === row['conversation_id'] &&
            state['state'] === 'open' &&
            isNow(state['from_at'], state['to_at']),
        ),
    )
    return [...groupBy(assigned, (row) => String(row['assigned_agent_id']))]
      .map(([agent, ofAgent]) => ({
        assigned_agent_id: agent,
        open_conversations: ofAgent.length,
      }))
      .toSorted(
        (a, b) =>
          b.open_conversations - a.open_conversations ||
          (a.assigned_agent_id < b.assigned_agent_id ? -1 : 1),
      )
  },
  'How much comes as conversations, and how much as calls': ({ rows, calls }) => {
    const clock = createLocalClock(rows.settings)
    const contacts = [
      ...rows.conversations.flatMap(({ created_at: at, visitor_id: visitor, deleted_at }) =>
        at === null || deleted_at !== null
          ? []
          : [{ kind: 'conversation', at, visitor, length: 0 }],
      ),
      ...calls.map(({ at, fields }) => ({
        kind: 'call',
        at,
        visitor: String(fields['visitorId']),
        length: Number(fields['durationSeconds'] ?? 0),
      })),
    ]
    const byMonth = groupBy(contacts, ({ at }) => monthOf(clock.localTime(seconds(at)).date))
    const months = [...byMonth].map(([month, ofMonth]) => {
      const visitorsOf = (...kinds: readonly string[]) =>
        new Set(
          ofMonth
            .filter(({ kind, visitor }) => visitor !== null && kinds.includes(kind))
            .map(({ visitor }) => visitor),
        ).size
      return {
        month,
        conversations: ofMonth.filter(({ kind }) => kind === 'conversation').length,
        calls: ofMonth.filter(({ kind }) => kind === 'call').length,
        call_hours: sum(ofMonth.map(({ length }) => length)) / 3600,
        writing_visitors: visitorsOf('conversation'),
        calling_visitors: visitorsOf('call'),
        visitors: visitorsOf('conversation', 'call'),
      }
    })
    return months.toSorted(latestFirst('month'))
  },
  'Who visits, and how many call': ({ rows, calls }, today) => {
    const clock = createLocalClock(rows.settings)
    const visitors = deriveModel(rows, today).report_visitor_day
    const called = groupBy(calls, ({ at }) => clock.localTime(seconds(at)).date)
    const dates = new Set([...visitors.map((row) => String(row['date'])), ...called.keys()])
    return [...dates]
      .toSorted()
      .map((date) => {
        const day = visitors.find((row) => row['date'] === date)
        const ofDay = called.get(date)
        const lengths = (ofDay ?? []).flatMap(({ fields }) =>
          'durationSeconds' in fields ? [Number(fields['durationSeconds'])] : [],
        )
        return {
          date,
          visits: day?.['visits'] ?? null,
          new_visitors: day?.['new_visitors'] ?? null,
          contacting_visitors: day?.['contacting_visitors'] ?? null,
          calls: ofDay?.length ?? null,
          with_length: ofDay === undefined ? null : lengths.length,
          median_seconds: median(lengths),
        }
      })
      .toReversed()
  },
  'Which calls come in, and how do they end': ({ rows, calls }) => {
    const clock = createLocalClock(rows.settings)
    const counted = calls.filter(({ at }) => clock.localTime(seconds(at)).date.startsWith('2025-'))
    const groups = groupBy(counted, ({ fields }) =>
      JSON.stringify([fields['direction'], fields['outcome'], fields['agentId'] ?? null]),
    )
    return [...groups].map(([key, ofGroup]) => {
      const [direction = null, outcome = null, agent = null] = JSON.parse(key) as (string | null)[]
      const lengths = ofGroup.flatMap(({ fields }) =>
        'durationSeconds' in fields ? [Number(fields['durationSeconds'])] : [],
      )
      return {
        direction,
        outcome,
        agent,
        calls: ofGroup.length,
        seconds: lengths.length === 0 ? null : sum(lengths),
      }
    })
  },
  'Which customers write to us': ({ rows, plans }) => {
    const counts = new Map<string, { visitors: number; conversations: number }>()
    for (const [id, plan] of plans) {
      const own = rows.conversations.filter(
        ({ visitor_id, deleted_at }) => visitor_id === id && deleted_at === null,
      )
      if (own.length === 0) continue
      const { visitors, conversations } = counts.get(plan) ?? { visitors: 0, conversations: 0 }
      counts.set(plan, { visitors: visitors + 1, conversations: conversations + own.length })
    }
    return [...counts].map(([plan, count]) => ({ plan, ...count }))
  },
  'Is the backlog growing': ({ rows }, today) =>
    deriveModel(rows, today).report_backlog_day.toReversed(),
  'What does the AI do': ({ rows }, today) =>
    deriveModel(rows, today).report_ai_month.toSorted(latestFirst('month')),
}

const latestFirst = (column: string) => (a: ModelRow, b: ModelRow) =>
  String(a[column]) < String(b[column]) ? 1 : String(a[column]) > String(b[column]) ? -1 : 0

/** Their order says nothing beyond the number of rows. */
const unordered = new Set([
  'Which calls come in, and how do they end',
  'Which customers write to us',
])

for (const db of databases) {
  test(`twelve questions of a support head have the answers of plain loops — ${db.name}`, async () => {
    const world = randomWorld()
    const { warehouse } = await openTestWarehouse(db)
    await storeProjects(warehouse, [world.rows])
    const mirror = openMirror(warehouse, world.rows.project)
    await mirror.commit(
      commit(
        'visitors',
        [...world.plans].map(([id, plan]) => visitor(id, { plan })),
      ),
    )
    await mirror.commit(
      commit(
        'calls',
        world.calls.map(({ id, at, fields }) => call(id, { occurred_at: at }, fields)),
      ),
    )
    await factsOf(warehouse, world.rows).refresh()
    const today = createLocalClock(world.rows.settings).localTime(
      Math.floor(Date.now() / 1000),
    ).date
    expect(Object.keys(answers)).toHaveLength(12)
    for (const [question, answer] of Object.entries(answers)) {
      const found = (await warehouse.query(queryOf(question))) as readonly ModelRow[]
      const columns = Object.keys(found[0] ?? {})
      const toLine = (row: ModelRow) =>
        columns.map((column) => `${column} ${comparable(row[column])}`).join(', ')
      const [actual, expected] = [found, answer(world, today)].map((rows) => rows.map(toLine))
      expect(actual!.length, question).toBeGreaterThan(0)
      if (unordered.has(question))
        expect(actual!.toSorted(), question).toEqual(expected!.toSorted())
      else expect(actual, question).toEqual(expected)
    }
  })
}

/** SQLite has no booleans, and the databases add numbers up in different orders. */
function comparable(value: unknown): string {
  if (typeof value === 'boolean') return String(Number(value))
  return typeof value === 'number' ? String(Number(value.toPrecision(9))) : String(value)
}
