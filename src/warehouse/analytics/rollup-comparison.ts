/**
 * Compares each number of the service's daily rollups with counts of our own, and learns which count it is. The result is
 * stored beside the facts; a definition that is proven is a behaviour of the service.
 */
import { sql } from 'kysely'
import { createCalendar } from '../../core/analytics/calendar.ts'
import { asShown } from '../../core/analytics/compare-rollup-day.ts'
import {
  isEnoughToProve,
  type LearnedDefinition,
  learnDefinition,
  minFinalDays,
  ownValue,
} from '../../core/analytics/learn-rollup-definition.ts'
import { definitionBehaviours, toDefinitionChange } from '../../core/analytics/proven-definition.ts'
import { createRollupDays, likelyZones, otherZones, rollupBorders } from '../../core/analytics/rollup-days.ts'
import { type Candidate, candidatesOf } from '../../core/analytics/rollup-definitions.ts'
import { eventsOf } from '../../core/analytics/rollup-events.ts'
import { groupMeasures } from '../../core/analytics/rollup-measure-groups.ts'
import { rollupMeasures } from '../../core/analytics/rollup-measures.ts'
import { vocabularyOf } from '../../core/analytics/rollup-vocabulary.ts'
import type { ServiceBehaviour } from '../../core/row.ts'
import { type EpochSeconds, rfc3339 } from '../../core/time.ts'
import { decodeText, encodeText } from '../database/escape.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { readBehaviours, recordBehaviours } from '../mirror/learned-behaviours.ts'
import { inTransaction } from '../mirror/project-context.ts'
import { insertRows, replaceRows } from './fact-rows.ts'
import type { FactsSettings } from './facts-state.ts'
import { isComparisonDue } from './rollup-comparison-due.ts'
import { countOrigins, readConversationCandidates } from './rollup-conversations.ts'
import { readAnswerCandidates, readVisitorCandidates } from './rollup-day-parts.ts'
import { readRollupMessages } from './rollup-messages.ts'
import { toRange } from './rollup-range.ts'
import { type RollupReading, readRollupReadings } from './rollup-readings.ts'
import { findUndocumentedColumns, readCalls, readVisitors } from './rollup-undocumented.ts'

/** Two steps, so that each can be repeated when the response of the database is lost. */
export type RollupComparison = {
  /** Null: it is not due, or there is nothing to compare. Stores nothing. */
  readonly learnIfDue: () => Promise<LearnedRollups | null>
  readonly store: (learned: LearnedRollups) => Promise<void>
}

/** `notices`: sentences for people. */
export type LearnedRollups = Learned & {
  readonly behaviours: readonly ServiceBehaviour[]
  readonly notices: readonly string[]
}

/** Numbers of a rollup that are compared; a hostile service may show any number of them. */
const maxMetrics = 200

export function createRollupComparison(context: ProjectDb, settings: FactsSettings): RollupComparison {
  return {
    learnIfDue: async () => {
      const now = Math.floor(context.clock() / 1000)
      if (!(await isComparisonDue(context, now))) return null
      const readings = await readRollupReadings(context)
      const metrics = [...new Set(readings.flatMap((reading) => [...reading.metrics.keys()]))].sort()
      if (metrics.length === 0) return null
      const before = await readProvenDefinitions(context)
      const learned = await learnMetrics(context, settings, readings, (candidates) =>
        metrics
          .slice(0, maxMetrics)
          .map((metric) => learnMetric(metric, readings, candidates, before.get(metric)?.definition ?? null)),
      )
      const changes = learned.map(({ metric, ...definition }) => {
        const { definition: proven = null, isEqual: wasEqual = false } = before.get(metric) ?? {}
        return toDefinitionChange(decodeText(metric), definition, { proven, wasEqual })
      })
      const behaviours = changes.flatMap(({ behaviour }) => (behaviour === null ? [] : [behaviour]))
      const notices = changes.flatMap(({ notice }) => (notice === null ? [] : [notice]))
      return { readings, learned, now, behaviours, notices }
    },
    store: (learned) =>
      inTransaction(context, async (trx) => {
        await storeLearned(trx, learned)
        await recordBehaviours(trx, learned.behaviours)
      }),
  }
}

/** `shown`: the definition by which our own numbers are shown; null = none is known. */
type LearnedMetric = LearnedDefinition & { readonly metric: string; readonly shown: Candidate | null }

/** `proven`: the name of the definition that was proven before. */
function learnMetric(
  metric: string,
  readings: readonly RollupReading[],
  candidates: readonly Candidate[],
  proven: string | null,
): LearnedMetric {
  const values = readings.map(({ isFinal, metrics }) => (isFinal ? (metrics.get(metric) ?? null) : null))
  const definition = learnDefinition(values, candidates, proven)
  const isKnown = definition.verdict !== 'unknown' || definition.best?.name === proven
  return { metric, ...definition, shown: isKnown ? definition.best : null }
}

/** `learnFrom` the definitions in likely time zones; if they prove nothing, in all others. */
async function learnMetrics(
  context: ProjectDb,
  settings: FactsSettings,
  readings: readonly RollupReading[],
  learnFrom: (candidates: readonly Candidate[]) => readonly LearnedMetric[],
): Promise<readonly LearnedMetric[]> {
  if (readings.filter(({ isFinal }) => isFinal).length < minFinalDays) return learnFrom([])
  const likely = learnFrom(await readCandidates(context, settings, readings, [...likelyZones, settings.timeZone]))
  if (likely.some(isProven) || !likely.some(isEnoughToProve)) return likely
  const others = learnFrom(await readCandidates(context, settings, readings, otherZones))
  return others.some(isProven) ? others : likely
}

function isProven({ verdict }: LearnedMetric): boolean {
  return verdict === 'proven'
}

async function readCandidates(
  context: ProjectDb,
  { timeZone, analytics }: FactsSettings,
  readings: readonly RollupReading[],
  zones: readonly string[],
): Promise<Candidate[]> {
  const days = createRollupDays(readings, rollupBorders([...new Set(zones)]))
  const columns = await findUndocumentedColumns(context)
  const calendar = createCalendar({ ...analytics, timeZone })
  const range = toRange({ ...context, settings: analytics, calendar }, days)
  const counts = {
    messages: await readRollupMessages(range),
    visitors: await readVisitors(range, columns.visitorTimes),
    calls: await readCalls(range, columns),
  }
  const vocabulary = vocabularyOf(counts, await countOrigins(range), columns, [...new Set([timeZone, 'UTC'])])
  const { grouped, conversations, answers, visitors } = groupMeasures(rollupMeasures(vocabulary))
  return [
    ...grouped.flatMap((measure) => candidatesOf(measure, eventsOf(measure, counts), days)),
    ...(await readConversationCandidates(range, conversations)),
    ...(await readAnswerCandidates(range, answers)),
    ...(await readVisitorCandidates(range, visitors)),
  ]
}

type ProvenDefinition = { readonly definition: string; readonly isEqual: boolean }

/** By metric. */
async function readProvenDefinitions(context: ProjectDb): Promise<Map<string, ProvenDefinition>> {
  const { db, kind, project } = context
  const rows = await db
    .selectFrom('rollup_definitions')
    .select(['metric', 'definition', 'days', 'days_equal as daysEqual'])
    .where('project_id', '=', project)
    .execute()
  const proven = new Map<string, ProvenDefinition>()
  for (const [name, definition] of await readBehaviours(context)) {
    if (!name.startsWith(definitionBehaviours)) continue
    const metric = encodeText(kind, name.slice(definitionBehaviours.length))
    const row = rows.find((learned) => learned.metric === metric)
    const stored = encodeText(kind, definition)
    proven.set(metric, { definition: stored, isEqual: row?.definition === stored && row.days === row.daysEqual })
  }
  return proven
}

type Learned = {
  readonly readings: readonly RollupReading[]
  readonly learned: readonly LearnedMetric[]
  readonly now: EpochSeconds
}

async function storeLearned(trx: ProjectDb, { readings, learned, now }: Learned): Promise<void> {
  const definitions = learned.map(({ best, shown, ...row }) => ({
    ...row,
    definition: shown?.name ?? null,
    learned_at: now,
  }))
  await replaceRows(trx, 'rollup_definitions', definitions)
  const comparisons = readings.flatMap(({ from, to, date, isFinal, metrics }, index) =>
    learned.flatMap(({ metric, shown }) => {
      const service_value = metrics.get(metric)
      if (service_value === undefined) return []
      const own_value = shown === null ? null : asShown(service_value, ownValue(shown, index))
      const window = { window_from: from, window_to: to, date, metric }
      return [{ ...window, service_value, own_value, is_final: isFinal, compared_at: now }]
    }),
  )
  // Days of another time zone are replaced by days of this one.
  await sql`
    delete from rollup_comparisons where project_id = ${trx.project}
      and (window_from >= ${rfc3339(readings[0]?.from ?? 0)} or not exists (
        select 1 from analytics_rollups r where r.project_id = rollup_comparisons.project_id
          and r.window_from = rollup_comparisons.window_from and r.window_to = rollup_comparisons.window_to))`.execute(
    trx.db,
  )
  await insertRows(trx, 'rollup_comparisons', comparisons)
}
