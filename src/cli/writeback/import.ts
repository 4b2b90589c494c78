/** `deskmirror writeback import`: queues all rows of a file or none, or previews them. */
import { basename } from 'node:path'
import { Command } from 'commander'
import type { Config, ProjectConfig } from '../../config/config.ts'
import { pluralize, toPrintable } from '../../core/format.ts'
import type { ReviewSummary } from '../../core/outbox/review-summary.ts'
import { type Operation, operationsInHelp, operationTypes } from '../../core/outbox/writeback-request.ts'
import { toTimestamp } from '../../core/time.ts'
import { projectCommandHint, UserError } from '../../core/user-error.ts'
import type { ReviewPageText } from '../../writeback/review/review-page.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import { decidingPerson, toExpiryTime } from '../options.ts'
import { createProgressLine, type Display } from '../render/display.ts'
import { formatBudget } from '../render/progress.ts'
import { renderReview } from '../render/review.ts'
import {
  addImportOptions,
  type ImportCommandOptions,
  toCheckOptions,
  toFileAndOptions,
  toImportSource,
} from './import-options.ts'
import { renderImport, renderPreview } from './render-import.ts'
import { openReviewOutputs } from './review-outputs.ts'

const examples = `
A line is one write-back, as JSON or as a row of CSV:
${operationsInHelp.map(exampleLine).join('\n')}
Optional in each: ref (your own key, never queued twice), expect (the last message that you saw), expires_at (--expires is
for lines without one). In CSV the first row names these fields, in any order and case ("Conversation ID"). yes, no, x, 1,
0 and the TRUE and FALSE of spreadsheets in any language are read, as are UTF-8 and UTF-16.

All rows are checked before any is queued. A file imported twice queues nothing twice. The same words to the same
conversation, in the file or within 30 days, are a mistake unless you allow them. Ctrl-C before the end queues nothing.
\`deskmirror push\` or a running worker sends what is queued.

Examples:
  $ deskmirror writeback import replies.csv --dry-run
  $ deskmirror writeback import replies.csv --mistakes mistakes.csv
  $ deskmirror writeback import replies.csv --draft --title "Apology for Monday" --expires 24h
  $ jq -c … export.json | deskmirror writeback import -

Exit code: 0 queued, now or before · 1 failed, trying again may help · 2 rows with mistakes, nothing is queued ·
3 queued, but not rows that differ from what their refs were queued for; of a dry run: some rows would not be sent`

export function importCommand(context: CommandContext): Command {
  const command = new Command('import')
    .summary('queue all rows of a file, or none')
    .description('Queues all rows of a file (JSON Lines or CSV), or none.')
    .argument('[file]', 'the file; - reads standard input')
    .usage('[options] <file>')
  return addImportOptions(command)
    .addHelpText('after', examples)
    .action((file: string | undefined, options: ImportCommandOptions) => {
      const call = toFileAndOptions(file, options)
      return runAndPrint(context, options, () => runImport(context, call.file, call.options))
    })
}

function exampleLine(operation: Operation): string {
  const { target, fields } = operationTypes[operation]
  const values = Object.entries(fields).map(([name, { kind }]) => [name, kind === 'flag' ? true : '…'])
  const line = JSON.stringify({ operation, [`${target}_id`]: '…', ...Object.fromEntries(values) })
  const canClear = Object.values(fields).some(({ clearHelp }) => clearHelp !== undefined)
  return `  ${line}${canClear ? '     an omitted field stays, null clears it' : ''}`
}

async function runImport(
  context: CommandContext,
  file: string | undefined,
  options: ImportCommandOptions,
): Promise<CommandResult> {
  if (file === undefined) throw missingFileError()
  const config = context.loadConfig(options.check === true ? 'service' : 'mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was queued')
  const display = context.openDisplay(options.quiet === true)
  const work = options.dryRun === true ? previewFile : queueFile
  return work(context, config, project, { display, file, options }).finally(display.clear)
}

function missingFileError(): UserError {
  const next = '`deskmirror writeback import --help` has examples'
  return new UserError({ what: 'nothing was queued', why: 'the file is missing', next, exitCode: 2 })
}

type ImportCall = { readonly display: Display; readonly file: string; readonly options: ImportCommandOptions }

async function queueFile(
  context: CommandContext,
  config: Config,
  project: ProjectConfig,
  { display, file, options }: ImportCall,
): Promise<CommandResult> {
  const { importWritebacks } = await context.load(() => import('../../app/import.ts'))
  const outputs = await openReviewOutputs(context, options)
  let review: ReviewSummary | null = null
  const report = await importWritebacks(config, project, toImportSource(context, file, options), {
    ...toCheckOptions(context, options),
    createdBy: decidingPerson(context, config, options),
    expiresAt: toExpiryTime(context.now(), options.expires),
    draft: options.draft === true,
    title: options.title ?? null,
    note: options.note ?? null,
    onChecked: async ({ validRows: rows }) => {
      if (rows >= manyRows && config.databaseUrl.startsWith('sqlite:')) display.notify(lockWarning(rows))
    },
    onReviews: outputs.onReviews,
    onReview: async (summary) => {
      review = summary
      const isShown = options.json !== true && options.quiet !== true && summary.rows > 0
      await outputs.finish(summary, pageText(context, file), isShown ? reviewLines(context, summary) : null)
    },
    onProgress: (doing, rows) => display.onLine(`${pluralize(rows, 'row')} ${doing}`),
    notify: display.notify,
  }).finally(outputs.close)
  const result = renderImport(report, project, projectCommandHint(config.projects, project.name))
  return review === null ? result : { ...result, document: { ...report, review } }
}

function reviewLines(context: CommandContext, review: ReviewSummary): readonly string[] {
  return [...renderReview(review, context.now()).map(toPrintable), '']
}

function pageText(context: CommandContext, file: string): ReviewPageText {
  const name = file === '-' ? 'standard input' : basename(file)
  return { title: name, notes: [`${name}, before it is queued. As of ${toTimestamp(context.now())}.`] }
}

/** SQLite has one writer at a time and waits at most half a minute; this many rows can take longer. */
const manyRows = 200_000

function lockWarning(rows: number): string {
  return (
    `${pluralize(rows, 'row')} go into SQLite in one transaction. Other writers wait meanwhile, and a running worker or push ` +
    'may time out. To avoid that, press Ctrl-C now (nothing is queued then) and stop them first, or split the file'
  )
}

async function previewFile(
  context: CommandContext,
  config: Config,
  project: ProjectConfig,
  { display, file, options }: ImportCall,
): Promise<CommandResult> {
  const { previewImport } = await context.load(() => import('../../app/import.ts'))
  const outputs = await openReviewOutputs(context, options)
  try {
    const report = await previewImport(config, project, toImportSource(context, file, options), {
      ...toCheckOptions(context, options),
      expiresAt: toExpiryTime(context.now(), options.expires),
      draft: options.draft === true,
      onReviews: outputs.onReviews,
      check: options.check === true ? await toServiceCheck(context, config, display, options) : null,
    })
    if (report.outcome === 'reviewed') {
      const lines = options.json === true ? null : reviewLines(context, report.review)
      await outputs.finish(report.review, pageText(context, file), lines)
    }
    return renderPreview(report, project, projectCommandHint(config.projects, project.name))
  } finally {
    await outputs.close()
  }
}

async function toServiceCheck(
  context: CommandContext,
  config: Config,
  display: Display,
  { limit }: ImportCommandOptions,
) {
  const handlers = createProgressLine(
    display,
    0,
    (rows, budget) => `${pluralize(rows, 'row')} compared${budget === null ? '' : `   ${formatBudget(budget)}`}`,
  )
  const signal = context.openInterruptSignal(display, 'the rows in progress')
  return { limit, signal, log: await context.openLog(config, display), ...handlers }
}
