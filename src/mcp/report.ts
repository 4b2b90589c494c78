/** `report` and `status`: how the week was, how the mirror is, and what waits for a person. */
import { z } from 'zod'
import type { DateRange } from '../analytics/analytics.ts'
import { readReport } from '../app/report.ts'
import { readStatus } from '../maintenance/sql/status-report.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { freshness } from './describe.ts'
import { defineTool, rows } from './tool.ts'

const date = z.iso.date().optional()
const incident = z.looseObject({}).nullable()

export const reportTool = defineTool({
  name: 'report',
  description:
    'The numbers of the weekly report as data: volume, response times, backlog, AI, ' +
    'agents, calls, targets, each compared with the period before, and what is not ' +
    'certain. Without dates: the last week that is over.',
  input: z.object({ from: date.describe('The first day'), to: date.describe('The last day') }),
  output: z.looseObject({
    asOf: z.string().nullable().describe('Complete up to here'),
    volume: z
      .looseObject({})
      .describe('Each with value, before, change and what the comparison means'),
    uncertainties: rows.describe('What these numbers cannot know'),
  }),
  run: (dates, { address, project, now }) =>
    readReport(address, project, dates as Partial<DateRange>, now()),
})

const listedBatches = 50

export const statusTool = defineTool({
  name: 'status',
  description:
    'How fresh and complete the mirror is, which jobs fail, and what waits for a decision ' +
    'of a person: drafts to approve, write-backs that may or may not have arrived, sending ' +
    'that is stopped.',
  input: z.object({}),
  output: z.looseObject({
    ...freshness,
    writebacks: z.record(z.string(), z.number()).describe('By status'),
    decisions: rows.describe('Batches that wait for a person, the newest first'),
    held: incident.describe('Why nothing is sent'),
    paused: incident.describe('Why nothing is read or sent'),
    failures: rows,
    pendingFacts: z.number().describe('Conversations that changed and are not in the facts yet'),
  }),
  run: async (_, { db, project, now }) => {
    const { facts, ...read } = await readStatus(db, now(), project, project.streams)
    const { streams, gaps, openGaps, writebacks, held, paused, failures } = read
    const undecided = await createOutbox(db).listUndecidedBatches(listedBatches)
    const decisions = undecided.map(({ id: batch, ...rest }) => ({ batch, ...rest }))
    const pendingFacts = facts.conversations
    return { streams, gaps, openGaps, writebacks, decisions, held, paused, failures, pendingFacts }
  },
})
