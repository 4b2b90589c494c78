/** What the numbers of the service's rollups count is learned from the mirror alone, whatever the service counts. */
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import type { Switches } from '../../src/sandbox/switches.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { sampledTest } from '../support/sampled.ts'
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

const [sqlite, , postgres] = databases

test('each number of the sandbox’s rollup is the count that it says it is', async () => {
  const { warehouse, learned, days } = await learnFromSandbox(postgres!)
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
})

// Which counts tell definitions apart is in test/core/analytics, for every definition.
sampledTest(
  false,
  'a service that counts otherwise, by three definitions of its own, is learned as it counts',
  async () => {
    const { learned } = await learnFromSandbox(sqlite!, {
      // A quarter of an hour beside a likely zone.
      'analytics.day': 'Asia/Kathmandu',
      'analytics.bots': false,
      'analytics.started': 'agentMessage',
    })
    const humanAnswer = firstAnswer.replace('first answer', 'first human answer')
    const otherwise = {
      ...asDocumented,
      'conversations.active': ['proven', 'conversations not answered by the AI alone, by last message'],
      'conversations.started': ['proven', 'conversations, by first human message'],
      'responseTimes.firstMedianSeconds': ['proven', `median of ${humanAnswer}`],
      // Few humans answer on a day: other definitions are equal on nearly as many days.
      'responseTimes.firstP90Seconds': ['likely', `90th percentile of ${humanAnswer}`],
    }
    const inKathmandu = (definition: string | null | undefined) =>
      definition === null ? null : `${definition}, in the day of Asia/Kathmandu`
    expect(learned).toEqual(
      Object.fromEntries(
        Object.entries(otherwise).map(([metric, [verdict, found]]) => [metric, [verdict, inKathmandu(found)]]),
      ),
    )
  },
  120_000,
)
