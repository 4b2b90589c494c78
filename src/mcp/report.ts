/** `report` and `status`: how the week was, how the mirror is, and what waits for a person. */
import { z } from 'zod'
import type { DateRange } from '../analytics/analytics.ts'
import { readReport } from '../app/report.ts'
import { readStatus } from '../maintenance/sql/status.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { freshness, toFreshness } from './describe.ts'
import { defineTool } from './tool.ts'

const date = z.iso.date().optional()
const numbers = z.looseObject({}).describe('Each with value, before, change and what the comparison means')

export const reportTool = defineTool({
  name: 'report',
  description:
    'The numbers of the weekly report as data: volume, response times, backlog, AI, agents, calls, targets, each compared with the period before, and what is not certain. Without dates: the last week that is over.',
  input: z.object({ from: date.describe('The first day'), to: date.describe('The last day') }),
  output: z.looseObject({
    asOf: z.string().nullable().describe('Complete up to here'),
    ...{ volume: numbers, backlog: numbers, ai: numbers },
    uncertainties: z.looseObject({}).array().describe('What these numbers cannot know'),
  }),
  run: (dates, { session: { address, project, now } }) =>
    readReport(address, project, dates as Partial<DateRange>, now()),
})

const batchesRead = 50

export const statusTool = defineTool({
  name: 'status',
  description:
    'How fresh and complete the mirror is, which jobs fail, and what waits for a decision of a person: drafts to approve, write-backs that may or may not have arrived, sending that is stopped.',
  input: z.object({}),
  output: z.object({
    ...freshness,
    writebacks: z.record(z.string(), z.number()).describe('By status'),
    decisions: z.looseObject({}).array().describe('Newest batches that wait for a person'),
    held: z.looseObject({}).nullable().describe('Why nothing is sent'),
    paused: z.looseObject({}).nullable().describe('Why nothing is read or sent'),
    failures: z.looseObject({}).array(),
    pendingFacts: z.number().describe('Conversations that changed and are not in the facts yet'),
  }),
  run: async (_, { session: { db, project, now } }) => {
    const { writebacks, held, paused, failures, facts, ...read } = await readStatus(db, now(), project, project.streams)
    const batches = await createOutbox(db).listBatches(batchesRead)
    const waiting = batches.filter(({ state }) => state === 'draft' || state === 'stopped' || state === 'uncertain')
    const decisions = waiting.map(({ id, title, note, state, rows, counts, createdBy, createdAt }) => ({
      ...{ batch: id, title, note, state, rows, counts, createdBy, createdAt },
    }))
    return { ...toFreshness(read), writebacks, decisions, held, paused, failures, pendingFacts: facts.conversations }
  },
})
