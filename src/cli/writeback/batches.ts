/** `deskmirror writeback batches`: the batches, newest first, and `batches show`: one of them. */
import { type Command, Option } from 'commander'
import { keptFiles } from '../../export/kept-files.ts'
import type { BatchReport } from '../../outbox/outbox.ts'
import { formatCount } from '../../values/format.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { type CommandResult, defineProjectCommand, type ProjectCall } from '../command.ts'
import type { CommandContext } from '../command-context.ts'
import {
  type CommonOptions,
  jsonOption,
  oneProjectOption,
  parseWholeNumber,
  quietOption,
} from '../options.ts'
import { refuseChecks } from '../removed-options.ts'
import {
  openReviewOutputs,
  type ReviewOutputOptions,
  renderReview,
  reviewOutputOptions,
} from '../render/review.ts'
import type { ReviewPageText } from '../render/review-files.ts'
import { linesOf } from '../render/table.ts'
import { renderBatch, renderBatches, renderBatchProgress } from './render-batch.ts'

const examples = `
A batch is what was queued together: by one import, by a revert, or by SQL with a batch_id of its own.

Examples:
  $ deskmirror writeback batches
  $ deskmirror writeback batches show replies-0123456789ab

Exit code: 0 listed · 1 failed, trying again may help · 2 a person must change something`

const listCommand = defineProjectCommand<
  CommonOptions & { readonly limit: number; readonly before?: string }
>({
  name: 'batches',
  summary: 'list batches, and show one',
  description:
    'Lists the batches, newest first: who queued each, how far it is, and when it is done.',
  options: [
    new Option('--limit <n>', 'how many to list').argParser(parseWholeNumber).default(20),
    new Option('--before <name>', 'only batches that are older than this one'),
    oneProjectOption(),
    jsonOption(),
  ],
  help: examples,
  what: 'nothing was listed',
  run: async (context, { config, project, hint }, { limit, before }) => {
    const { listBatches } = await context.load(() => import('../../app/batches.ts'))
    const report = await listBatches(config, project, { limit, before })
    return { document: report, lines: renderBatches(report, context.now(), hint), exit: 0 }
  },
})

export const batchesCommand = (context: CommandContext): Command =>
  listCommand(context)
    .enablePositionalOptions()
    .addCommand(refuseChecks(showCommand(context)))

/** `writeback batches show`: one batch, and what its rows that have not left would do. */
type ShowOptions = CommonOptions & ReviewOutputOptions & { readonly watch?: true }

const showExamples = `
What has left is shown by outcome and reason. What has not left is reviewed from the mirror, without a request, in its
order: it will be sent, would change something, is already done, would not be sent, or is not known. The review says how
old the mirror is; every send looks at the live record first.

Examples:
  $ deskmirror writeback batches show replies-0123456789ab
  $ deskmirror writeback batches show replies-0123456789ab --html review.html
  $ deskmirror writeback batches show replies-0123456789ab --watch

Exit code: 0 shown · 1 failed, trying again may help · 2 a person must change something, for example the name`

const showCommand = defineProjectCommand<ShowOptions, string>({
  name: 'show',
  summary: 'show one batch: outcome, reasons, and what would happen',
  description: 'Shows the outcome of a batch, and what its rows that have not left would do.',
  argument: ['<name>', 'the name of the batch, or a unique beginning of it'],
  options: [
    new Option('--watch', 'show the progress until nothing is left to send').conflicts('json'),
    ...reviewOutputOptions(),
    oneProjectOption(),
    quietOption(),
    jsonOption(),
  ],
  help: showExamples,
  what: 'nothing was shown',
  run: (context, call, options, name) =>
    options.watch === true
      ? watch(context, call, options, name)
      : show(context, call, options, name),
})

async function show(
  context: CommandContext,
  { config, project, hint }: ProjectCall,
  options: ShowOptions,
  name: string,
): Promise<CommandResult> {
  const { showBatch } = await context.load(() => import('../../app/batches.ts'))
  const { reviewQueuedBatch } = await context.load(() => import('../../app/review.ts'))
  const shown = await showBatch(config, project, name)
  const outputs = await openReviewOutputs(context, options, keptFiles(config))
  try {
    const now = context.now()
    const reviewOptions = { now, onReviews: outputs.onReviews }
    const { review, drafts } = await reviewQueuedBatch(
      config,
      project,
      shown.batch.id,
      reviewOptions,
    )
    // Names the drafts that the review shows, which may have changed since the first read.
    const report: BatchReport = shown.approval === null ? shown : { ...shown, approval: drafts }
    const lines = renderBatch(report, review.rows === 0 ? [] : renderReview(review, now), now, hint)
    await outputs.finish(review, toPageText(report, now), options.json === true ? null : lines)
    return { document: { ...report, review }, lines: [], exit: 0 }
  } finally {
    await outputs.close()
  }
}

function toPageText({ project, batch }: BatchReport, now: EpochMs): ReviewPageText {
  const { id, title, source, note, createdAt, createdBy, rows } = batch
  const by = createdBy === null ? '' : ` by ${createdBy}`
  return {
    title: title ?? id,
    notes: linesOf(
      `Batch ${id} of ${project}: ${formatCount(rows)} rows, queued at ` +
        `${createdAt}${by}${source === null ? '' : ` from ${source}`}.`,
      note !== null && `Note: ${note}`,
      `What has not left, as of ${toTimestamp(now)}.`,
    ),
  }
}

const watchEveryMs = 2000

async function watch(
  context: CommandContext,
  { config, project, hint }: ProjectCall,
  { quiet }: ShowOptions,
  name: string,
): Promise<CommandResult> {
  const display = context.openDisplay(quiet === true)
  const { watchBatch } = await context.load(() => import('../../app/batches.ts'))
  const report = await watchBatch(config, project, name, {
    everyMs: watchEveryMs,
    signal: context.openInterruptSignal(display, 'nothing'),
    onProgress: (progress, { reasons }) =>
      display.onLine(renderBatchProgress(progress, reasons, context.now())),
  }).finally(display.clear)
  return { document: report, lines: renderBatch(report, [], context.now(), hint), exit: 0 }
}
