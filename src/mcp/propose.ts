/** `propose_writebacks`: rows of an import, stored as drafts that a person approves or not. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { asDrafts, importWritebacks } from '../app/import.ts'
import { reviewQueuedBatch } from '../app/review.ts'
import { workerAddress } from '../console/sign-in-links.ts'
import { commonFields } from '../outbox/core/common-fields.ts'
import { isCorrection, operations, operationTypes } from '../outbox/core/operations.ts'
import {
  describeEffect,
  describeGroup,
  describeOrder,
  outcomeLabels,
} from '../outbox/core/review/labels.ts'
import { mistakeText } from '../outbox/core/writeback-request.ts'
import type { OnReviews } from '../outbox/outbox.ts'
import { path } from '../values/address.ts'
import { formatCount } from '../values/format.ts'
import { toCanonicalJson } from '../values/json.ts'
import { projectCommandHint } from '../values/user-error.ts'
import { defineTool, rows } from './tool.ts'

const rowHelp = operations.map((operation) => {
  const { target, fields, summary } = operationTypes[operation]
  return `operation "${operation}" (${summary}): ${[`${target}_id`, ...Object.keys(fields)].join(', ')}`
})
const commonHelp = Object.entries(commonFields).map(([name, { help }]) => `${name} (${help})`)

const hiddenOutcome = 'shown to those who may see names and addresses'

const row = z.record(z.string(), z.unknown())

export const proposeTool = defineTool({
  name: 'propose_writebacks',
  description:
    'Stores rows as one batch of drafts, or none if a row has a mistake, and answers with ' +
    'what each would do. Nothing is sent: a person looks at the batch at `approve`, and ' +
    'decides. The same rows are never queued twice.',
  input: z.object({
    rows: row
      .array()
      .min(1)
      .max(1000)
      .describe(`${rowHelp.join('; ')}; optional in each: ${commonHelp.join(', ')}`),
    reason: z.string().trim().min(1).max(1000).describe('Why, for the person who decides'),
    title: z.string().trim().min(1).max(200).optional(),
    allowDuplicates: z
      .boolean()
      .default(false)
      .describe('Let the same words to the same conversation through again'),
  }),
  output: z.looseObject({
    outcome: z.enum(['drafted', 'proposed before', 'mistaken']),
    approve: z.looseObject({}).nullable().describe('Where a person sees and decides the batch'),
    alreadyQueued: z.number().describe('Rows whose refs were queued before'),
    groups: z.array(z.string()).describe('What the rows that wait would do'),
    mirrorAsOf: z
      .string()
      .nullable()
      .describe('When the mirror, which this is read from, was last complete'),
    rows,
    mistakes: rows,
  }),
  isOffered: ({ drafts }) => drafts !== null,
  run: async (
    { rows, reason: note, title = null, allowDuplicates },
    { drafts, hidesMessages, now },
    createdBy,
  ) => {
    if (drafts === null) throw new Error('nothing can be proposed here')
    const { config, project } = drafts
    // Whatever the order of the members, the same rows are the same bytes, which are imported once.
    const bytes = Buffer.from(
      rows.map((row) => `${toCanonicalJson(JSON.stringify(row))}\n`).join(''),
    )
    const source = {
      source: Readable.from([bytes]),
      name: 'proposal',
      parse: { format: 'jsonl' },
    } as const
    const report = await importWritebacks(config, project, source, {
      ...asDrafts,
      now: now(),
      mistakesTarget: null,
      allowDuplicates,
      createdBy,
      title,
      note,
      audit: (count, alreadyQueued, batch) => ({
        project: project.projectId,
        person: createdBy,
        role: 'assistant',
        action: 'imported_drafts',
        count,
        subject: count === 0 ? null : batch,
        detail: alreadyQueued === 0 ? null : `${alreadyQueued} rows were queued before`,
      }),
    })
    const nothing = {
      batch: null,
      queued: 0,
      alreadyQueued: 0,
      groups: [],
      mirrorAsOf: null,
      rows: [],
      mistakes: [],
      notices: [],
      approve: null,
    }
    if (report.outcome === 'mistaken')
      return { ...nothing, outcome: 'mistaken', mistakes: report.mistakes }
    const { batch, queued, alreadyQueued, notices } = {
      queued: 0,
      alreadyQueued: 0,
      notices: [],
      ...report,
    }
    if (batch === null) return { ...nothing, outcome: 'proposed before', alreadyQueued }
    const shown: object[] = []
    const onReviews: OnReviews = async (reviews) => {
      for (const review of reviews) {
        const {
          position: row,
          outcome,
          action,
          target,
          visitorName,
          lastWords,
          senderName,
          marks,
        } = review
        const effect = `${describeEffect(review)}${describeOrder(review)}`
        // Whether a name is there already tells the name to who guessed it.
        const isHidden = hidesMessages && isCorrection(operationTypes[review.operation])
        shown.push({
          row,
          outcome: isHidden ? hiddenOutcome : outcomeLabels[outcome],
          action,
          target,
          visitorName,
          effect,
          lastWords: lastWords?.text ?? null,
          senderName,
          marks,
        })
      }
    }
    // Of rows that have not left.
    const { review } = await reviewQueuedBatch(config, project, batch, { now: now(), onReviews })
    const { http, projects } = config
    const hasHidden = hidesMessages && rows.some(({ operation }) => operation === 'visitor')
    return {
      outcome: report.outcome === 'imported before' ? 'proposed before' : 'drafted',
      batch,
      queued,
      alreadyQueued,
      rows: shown,
      mistakes: [],
      notices: notices.map(mistakeText),
      mirrorAsOf: review.mirrorAsOf,
      groups: (hasHidden ? [] : review.groups).map(
        (group) => `${outcomeLabels[group.outcome]}: ${describeGroup(group, formatCount)}`,
      ),
      approve: {
        page: http && workerAddress(http) + path`/console/p/${project.name}/batches/${batch}`,
        command: projectCommandHint(projects, project.name)(`writeback batches show ${batch}`),
      },
    }
  },
})
