/**
 * What the tables and views for analysts cost in one warehouse: time, storage, and how fast they
 * answer.
 */

import { readFileSync } from 'node:fs'
import { createProjectFacts } from '../../src/analytics/sql/project-facts.ts'
import { analyticsViews } from '../../src/analytics/views/all-views.ts'
import type { AnalyticsView } from '../../src/analytics/views/view-spec.ts'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import type { AnalyticsSettings } from '../../src/config/analytics-settings.ts'
import { noColumnRules } from '../../src/values/private-columns.ts'
import { analyzeAllTables } from '../../src/warehouse/statistics.ts'
import { median, printFigure } from '../figures.ts'
import { benchProject, dashboardDays } from './synthetic-project.ts'

const workday = [
  { opens: 9 * 60, closes: 12 * 60 + 30 },
  { opens: 13 * 60, closes: 18 * 60 },
]
const target = {
  clock: 'human',
  which: 'first',
  withinSeconds: 3600,
  inBusinessHours: true,
  from: null,
  to: null,
} as const

const analytics: AnalyticsSettings = {
  roles: { visitor: 'visitor', agent: 'human', ai: 'ai' },
  hours: {
    1: workday,
    2: workday,
    3: workday,
    4: workday,
    5: workday,
    6: [{ opens: 600, closes: 840 }],
  },
  holidays: {
    '2025-01-01': [],
    '2025-05-01': [],
    '2025-12-24': [{ opens: 540, closes: 720 }],
    '2025-12-25': [],
  },
  visitGapSeconds: 1800,
  availabilityHoldSeconds: 600,
  targets: [
    { ...target, name: 'first human answer' },
    { ...target, name: 'first answer', clock: 'any', withinSeconds: 900 },
    {
      ...target,
      name: 'every answer',
      clock: 'any',
      which: 'every',
      withinSeconds: 7200,
      inBusinessHours: false,
    },
  ],
  calls: {
    visitor: null,
    ended: null,
    outcome: null,
    duration: null,
    direction: null,
    agent: null,
  },
  fields: { activityKind: 'type', activityPage: 'url' },
  personalData: true,
}

/** A dashboard that takes longer than that is not used. */
const goalSeconds = 1
const repetitions = 3

export const benchFacts = (warehouse: Warehouse) =>
  createProjectFacts(warehouse.projectDb(benchProject), { timeZone: 'Europe/Berlin', analytics })

export async function measureLayer(warehouse: Warehouse): Promise<void> {
  const facts = benchFacts(warehouse)
  const before = await storedMb(warehouse)
  const rebuilt = await timed(() => facts.rebuild())
  printFigure('  full rebuild', rebuilt, 's')
  await analyzeAllTables(warehouse.db, warehouse.kind)
  const after = await storedMb(warehouse)
  printFigure('  storage of the mirror alone', before, 'MB')
  printFigure('  storage added', (100 * (after - before)) / before, '%', 'goal: at most 30')
  await changeConversations(warehouse, 100)
  printFigure(
    '  refresh of 100 changed conversations',
    await timed(() => facts.refresh()),
    's',
    'goal: under 1',
  )
  printFigure('  refresh with nothing changed', await timed(() => facts.refresh()), 's')
  await discoverPlan(warehouse)
  await measureQuestions(warehouse, 'view', viewQuestions())
  await measureQuestions(warehouse, 'question', documentedQuestions())
}

/** Seconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1000
}

/** Tables and indexes but those of the search, which a rebuild fills as well; in 10^6 bytes. */
async function storedMb(warehouse: Warehouse): Promise<number> {
  const size =
    warehouse.kind === 'sqlite'
      ? "select sum(pgsize) as bytes from dbstat where name not like '%search_%'"
      : `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
         where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
           and c.relname not like 'search_%'`
  const [row] = await warehouse.query(size)
  return Number(row?.['bytes']) / 1e6
}

/** A new message of the visitor in each of some conversations, spread over the whole project. */
async function changeConversations(warehouse: Warehouse, count: number): Promise<void> {
  const mirror = openMirror(warehouse, benchProject)
  const ids = await warehouse.query(
    `select conversation_id from fct_conversation order by conversation_id limit ${count}`,
  )
  for (const { conversation_id } of ids) {
    const sender = { sender_type: 'visitor', sender_display_name: 'Visitor' }
    const text = {
      id: 1_000_000_000,
      kind: 'utterance',
      content: 'One more thing',
      created_at: '2025-12-31T23:00:00Z',
    }
    const columns = { conversation_id: String(conversation_id), ...text, ...sender }
    const row = { columns, extraFields: new Map(), item: noColumnRules.keep('messages', columns) }
    await mirror.commit({ stream: 'messages', rows: [row], requestedAt: Date.now() })
  }
}

/** The undocumented field of visitors that a question names. */
export async function discoverPlan(warehouse: Warehouse): Promise<void> {
  const columns = { id: 'visitor with a plan', name: null, email: null }
  const extraFields = new Map([['plan', { value: 'pro', isJsonText: false }]])
  const row = {
    columns,
    extraFields,
    item: noColumnRules.keep('visitors', { ...columns, plan: 'pro' }),
  }
  await openMirror(warehouse, benchProject).commit({
    stream: 'visitors',
    rows: [row],
    requestedAt: Date.now(),
  })
}

type Question = { readonly title: string; readonly sql: string }

/** Prints those that miss the goal, the slowest, and how many there are. */
async function measureQuestions(
  warehouse: Warehouse,
  what: string,
  questions: readonly Question[],
): Promise<void> {
  let slowest = { title: '', seconds: 0 }
  for (const { title, sql } of questions) {
    const times: number[] = []
    for (let n = 0; n < repetitions; n++) times.push(await timed(() => warehouse.query(sql)))
    const seconds = median(times)
    if (seconds > slowest.seconds) slowest = { title, seconds }
    printFigure(
      `  ${what}: ${title}`,
      seconds,
      's',
      seconds > goalSeconds ? 'over the goal of 1' : '',
    )
  }
  printFigure(
    `  slowest of ${questions.length}: ${slowest.title}`,
    slowest.seconds,
    's',
    'goal: under 1',
  )
}

/**
 * Each view as a dashboard asks for it: one project, the last 90 days, and one kind of times where
 * it has several.
 */
export function viewQuestions(): Question[] {
  return Object.entries<AnalyticsView>(analyticsViews).map(([name, { columns }]) => {
    const dateColumn = Object.entries(columns).find(([, { type }]) => type === 'local_date')?.[0]
    const conditions = [
      ...('project_id' in columns ? [`project_id = '${benchProject}'`] : []),
      ...(dateColumn === undefined
        ? []
        : [`${dateColumn} >= '${dashboardDays.from}'`, `${dateColumn} < '${dashboardDays.to}'`]),
      ...('hours' in columns && columns['hours']?.type === 'text' ? ["hours = 'business'"] : []),
      ...('clock' in columns ? ["clock = 'human'"] : []),
      ...('until' in columns ? ["until = 'first human answer'"] : []),
    ]
    const filter = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
    return { title: name, sql: `select * from ${name}${filter}` }
  })
}

/** The queries of the documentation, by the heading above them. */
export function documentedQuestions(): Question[] {
  const text = readFileSync(new URL('../../docs/analytics.md', import.meta.url), 'utf8')
  return [...text.matchAll(/^## (.*)\n\n```sql\n([^`]*?);?\n```/gm)].map(
    ([, title = '', sql = '']) => ({ title, sql }),
  )
}
