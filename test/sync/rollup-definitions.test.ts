/** What the numbers of the service's rollups count is learned from the mirror alone, whatever the service counts. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { syncOnce } from './sync-sandbox.ts'

/** Two months, so that calls and conversations over midnight tell similar definitions apart. */
const size = {
  conversations: 1500,
  visitors: 700,
  calls: 1200,
  messagesPerConversation: [1, 6],
  days: 64,
} as const

/** Without activity and recordings, which no number of the sandbox counts. */
const streams = ['availability', 'conversations', 'messages', 'visitors', 'calls', 'analytics'] as const

/** After one sync: the verdict and the definition of each number. */
async function learnFromSandbox(db: TestDatabase, switches: Partial<Switches> = {}) {
  const database = await db.make()
  const sandbox = await startSandbox({
    ...{ seed: 13, speed: 0, now: '2026-05-15T12:00:00Z', size },
    switches: { 'rate.kind': 'off', 'rows.rhythm': 'weekly', ...switches },
  })
  onTestFinished(async () => {
    await sandbox.stop()
    await database.drop()
  })
  await syncOnce(database.url!, sandbox, { project: { timeZone: 'Asia/Kolkata' }, streams })
  const warehouse = await database.open()
  const rows = await warehouse.query('select metric, verdict, definition, days from rollup_definitions order by metric')
  return {
    warehouse,
    days: rows.map(({ days }) => days),
    learned: Object.fromEntries(rows.map(({ metric, verdict, definition }) => [metric, [verdict, definition]])),
  }
}

const firstAnswer = 'the time to first answer from the first message, on the day of the question, in seconds'
const asDocumented = {
  'busiestHours.0': ['proven', 'most frequent hour of UTC by conversations created'],
  'busiestHours.1': ['proven', 'second most frequent hour of UTC by conversations created'],
  'calls.total': ['proven', 'calls, by occurred_at'],
  'conversations.active': ['proven', 'conversations, by last message'],
  'conversations.started': ['proven', 'conversations, by creation'],
  'responseTimes.firstMedianSeconds': ['proven', `median of ${firstAnswer}`],
  'responseTimes.firstP90Seconds': ['proven', `90th percentile of ${firstAnswer}`],
  // The sandbox invents the ratings.
  satisfaction: ['unknown', null],
  'visitors.new': ['proven', 'visitors, by created_at'],
}

const withUrl = databases.filter(({ name }) => name !== 'pglite')

describe('each number of the sandbox’s rollup is the count that it says it is', () => {
  for (const db of withUrl) {
    test(db.name, async () => {
      const { warehouse, learned, days } = await learnFromSandbox(db)
      expect(learned).toEqual(asDocumented)
      expect(new Set(days)).toEqual(new Set([60]))
      const behaviours = await warehouse.query(
        "select name, value from service_behaviours where name like 'analytics.%' order by name",
      )
      const proven = Object.entries(asDocumented).filter(([, [verdict]]) => verdict === 'proven')
      expect(behaviours).toEqual(proven.map(([metric, [, value]]) => ({ name: `analytics.${metric}`, value })))
      const compared = await warehouse.query(
        'select result, count(*) as n from report_rollup_day group by result order by result',
      )
      expect(compared).toEqual([
        { result: 'equal', n: 8 * 60 },
        { result: 'not compared', n: expect.any(Number) },
        { result: 'not final', n: expect.any(Number) },
      ])
    }, 120_000)
  }
})

describe('a service may count otherwise', () => {
  const [sqlite] = withUrl
  const humanAnswer = firstAnswer.replace('first answer', 'first human answer')
  const inKathmandu = ([verdict, definition]: readonly (string | null)[]) => [
    verdict,
    definition === null ? null : `${definition}, in the day of Asia/Kathmandu`,
  ]
  const cases: Readonly<Record<string, readonly [Partial<Switches>, object]>> = {
    'the days of another zone, a quarter of an hour beside a likely one': [
      { 'analytics.day': 'Asia/Kathmandu' },
      Object.fromEntries(Object.entries(asDocumented).map(([metric, found]) => [metric, inKathmandu(found)])),
    ],
    'nothing that only the AI did': [
      { 'analytics.bots': false },
      {
        ...asDocumented,
        'conversations.active': ['proven', 'conversations not answered by the AI alone, by last message'],
        'responseTimes.firstMedianSeconds': ['proven', `median of ${humanAnswer}`],
        'responseTimes.firstP90Seconds': ['proven', `90th percentile of ${humanAnswer}`],
      },
    ],
    'conversations by the first message of an agent': [
      { 'analytics.started': 'agentMessage' },
      { ...asDocumented, 'conversations.started': ['proven', 'conversations, by first human message'] },
    ],
  }
  test.each(Object.entries(cases))(
    '%s',
    async (_, [switches, expected]) => {
      const { learned } = await learnFromSandbox(sqlite!, switches)
      expect(learned).toEqual(expected)
    },
    120_000,
  )
})
