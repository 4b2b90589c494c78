/** `deskmirror writeback import`: queues all lines of a file or none, or previews them. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { ImportSource } from '../../app/import.ts'
import type { Config, ProjectConfig } from '../../config/config.ts'
import { projectCommandHint } from '../../core/command-hint.ts'
import { pluralize } from '../../core/format.ts'
import { type Operation, operationsInHelp, operationTypes } from '../../core/outbox/writeback-request.ts'
import type { Ms } from '../../core/time.ts'
import type { ImportFormat } from '../../writeback/import/parse-lines.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import {
  type CommonOptions,
  expiresOption,
  jsonOption,
  oneProjectOption,
  parseWholeNumber,
  quietOption,
  toExpiryTime,
} from '../options.ts'
import { createProgressLine, type Display } from '../render/display.ts'
import { formatBudget } from '../render/progress.ts'
import { renderImport } from './render-import.ts'
import { renderPreview } from './render-preview.ts'

type Options = CommonOptions & {
  readonly format: ImportFormat
  readonly expires?: Ms
  readonly dryRun?: true
  readonly limit: number
}

const examples = `
A line is one write-back, as JSON or as CSV with a header:
${operationsInHelp.map(exampleLine).join('\n')}
Optional in each: ref (your own key, never queued twice), expect (the last message that you saw), expires_at (--expires is
for lines without one). In CSV the first line names these fields, in any order.

All lines are checked before any is queued. Importing a file twice queues nothing twice; Ctrl-C before the end
queues nothing. \`deskmirror push\` or a running worker sends what is queued.

Examples:
  $ deskmirror writeback import replies.csv --dry-run
  $ deskmirror writeback import replies.csv --expires 24h
  $ jq -c … export.json | deskmirror writeback import -

Exit code: 0 queued, now or before · 1 failed, trying again may help · 2 lines with mistakes, nothing is queued ·
3 of a dry run: some lines would not be sent`

export function importCommand(context: CommandContext): Command {
  return new Command('import')
    .summary('queue all lines of a file, or none')
    .description('Queues all lines of a file (JSON Lines or CSV), or none.')
    .argument('<file>', 'the file; - reads standard input')
    .addOption(
      new Option('--format <format>', 'of the file; auto detects it from the first line')
        .choices(['auto', 'jsonl', 'csv'])
        .default('auto'),
    )
    .addOption(expiresOption())
    .option('--dry-run', 'queue nothing, and show what would change in the current records')
    .option('--limit <n>', 'of a dry run: how many lines to compare with the service', parseLimit, 200)
    .addOption(oneProjectOption())
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((file: string, options: Options) => runAndPrint(context, options, () => runImport(context, file, options)))
}

function exampleLine(operation: Operation): string {
  const { target, fields } = operationTypes[operation]
  const values = Object.entries(fields).map(([name, { kind }]) => [name, kind === 'flag' ? true : '…'])
  const line = JSON.stringify({ operation, [`${target}_id`]: '…', ...Object.fromEntries(values) })
  const canClear = Object.values(fields).some(({ clearHelp }) => clearHelp !== undefined)
  return `  ${line}${canClear ? '     an omitted field stays, null clears it' : ''}`
}

function parseLimit(text: string): number {
  const lines = parseWholeNumber(text)
  if (lines > 100_000) throw new InvalidArgumentError('Write a number up to 100000.')
  return lines
}

async function runImport(context: CommandContext, file: string, options: Options): Promise<CommandResult> {
  const config = context.loadConfig(options.dryRun === true ? 'service' : 'mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was queued')
  const display = context.openDisplay(options.quiet === true)
  const input = {
    source: file === '-' ? context.openStdin() : file,
    name: file === '-' ? null : file,
    format: options.format,
    expiresAt: toExpiryTime(context.now(), options.expires),
  }
  const work = options.dryRun === true ? previewFile : queueFile
  return work(context, config, project, { display, input, options }).finally(display.clear)
}

type ImportInput = ImportSource & { readonly expiresAt: string | null }
type ImportCall = { readonly display: Display; readonly input: ImportInput; readonly options: Options }

async function queueFile(
  context: CommandContext,
  config: Config,
  project: ProjectConfig,
  { display, input }: ImportCall,
): Promise<CommandResult> {
  const { importWritebacks } = await context.load(() => import('../../app/import.ts'))
  const report = await importWritebacks(config, project, input, {
    createdBy: context.currentUser(),
    expiresAt: input.expiresAt,
    now: context.now(),
    onQueueing: (rows) => {
      if (rows >= manyRows && config.databaseUrl.startsWith('sqlite:')) display.notify(lockWarning(rows))
    },
    onProgress: (doing, lines) => display.onLine(`${pluralize(lines, 'line')} ${doing}`),
    notify: display.notify,
  })
  return renderImport(report, project, projectCommandHint(config.projects, project.name))
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
  { display, input, options }: ImportCall,
): Promise<CommandResult> {
  const { previewImport } = await context.load(() => import('../../app/import.ts'))
  const log = context.openLog(config, display)
  const signal = context.openInterruptSignal(display, 'the lines in progress')
  const handlers = createProgressLine(
    display,
    0,
    (lines, budget) => `${pluralize(lines, 'line')} compared${budget === null ? '' : `   ${formatBudget(budget)}`}`,
  )
  const previewOptions = { limit: options.limit, expiresAt: input.expiresAt, signal, log, ...handlers }
  const report = await previewImport(config, project, input, previewOptions)
  return renderPreview(report, project, projectCommandHint(config.projects, project.name))
}
