/** `deskmirror writeback import`: queues all lines of a file, or none; or shows what they would change. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Config, ProjectConfig } from '../../config.ts'
import type { BudgetView } from '../../core/report.ts'
import type { Ms } from '../../core/time.ts'
import { typedIn } from '../../core/typed.ts'
import type { Format } from '../../imports/lines.ts'
import { type Answer, give, theOne } from '../answer.ts'
import type { Display } from '../display.ts'
import { jsonOption, oneProjectOption, quietOption, wholeNumber } from '../options.ts'
import { budgetText } from '../progress.ts'
import { plural } from '../readable.ts'
import type { Shell } from '../shell.ts'
import { expiresOption, expiryAt } from './expiry.ts'
import { showImport } from './imported.ts'
import { showPreview } from './previewed.ts'

type Options = {
  readonly format: Format
  readonly expires?: Ms
  readonly dryRun?: true
  readonly limit: number
  readonly project?: string
  readonly quiet?: true
  readonly json?: true
}

const examples = `
A line is one write-back, as JSON or as CSV with a header:
  {"operation":"message","conversation_id":"…","content":"…","sender_name":"…"}
  {"operation":"handled","conversation_id":"…","handled":true}
  {"operation":"note","visitor_id":"…","content":"…"}
  {"operation":"visitor","visitor_id":"…","name":"…","email":"…"}     a field left out is kept, null clears it
Optional in each: ref (your own key, never queued twice), expect (the last message that you saw), expires_at (--expires is
for lines without one). In CSV the first line names these fields, in any order.

All lines are checked before one is queued. The same file twice queues nothing twice; Ctrl-C before the end
queues nothing. What is queued is sent by \`deskmirror push\`, or by a worker that runs.

Examples:
  $ deskmirror writeback import replies.csv --dry-run
  $ deskmirror writeback import replies.csv --expires 24h
  $ jq -c … export.json | deskmirror writeback import -

Exit code: 0 queued, or was before · 1 failed, trying again may help · 2 lines with mistakes, nothing is queued ·
3 of a dry run: some lines would not be sent`

export function importCommand(shell: Shell): Command {
  return new Command('import')
    .summary('queue all lines of a file, or none')
    .description('Queues all lines of a file (JSON Lines or CSV), or none.')
    .argument('<file>', 'the file; - reads standard input')
    .addOption(
      new Option('--format <format>', 'of the file; auto looks at how it begins')
        .choices(['auto', 'jsonl', 'csv'])
        .default('auto'),
    )
    .addOption(expiresOption())
    .option('--dry-run', 'queue nothing, and show what would change in the records as they are now')
    .option('--limit <n>', 'of a dry run: how many lines to look at in the service', atMost, 200)
    .addOption(oneProjectOption())
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((file: string, options: Options) => give(shell, options.json === true, () => run(shell, file, options)))
}

function atMost(text: string): number {
  const lines = wholeNumber(text)
  if (lines > 100_000) throw new InvalidArgumentError('Write a number up to 100000.')
  return lines
}

async function run(shell: Shell, file: string, options: Options): Promise<Answer> {
  const config = shell.loadConfig(options.dryRun === true ? 'service' : 'mirror')
  const project = theOne(config.projects, options.project, 'nothing was queued')
  const display = shell.display(options.quiet === true)
  const given = {
    source: file === '-' ? shell.input() : file,
    name: file === '-' ? null : file,
    format: options.format,
    expiresAt: expiryAt(shell.now(), options.expires),
  }
  const work = options.dryRun === true ? look : queue
  return work(shell, config, project, { display, given, options }).finally(display.end)
}

type Given = {
  readonly source: string | AsyncIterable<Uint8Array>
  readonly name: string | null
  readonly format: Format
  readonly expiresAt: string | null
}
type Call = { readonly display: Display; readonly given: Given; readonly options: Options }

async function queue(shell: Shell, config: Config, project: ProjectConfig, { display, given }: Call): Promise<Answer> {
  const { importWritebacks } = await shell.queue()
  const report = await importWritebacks(config, project, given, {
    createdBy: shell.person(),
    expiresAt: given.expiresAt,
    now: shell.now(),
    onQueueing: (rows) => {
      if (rows >= many && config.databaseUrl.startsWith('sqlite:')) display.say(othersWait(rows))
    },
    onProgress: (doing, lines) => display.onLine(`${plural(lines, 'line')} ${doing}`),
    tell: display.say,
  })
  return showImport(report, project, typedIn(config.projects, project.name))
}

/** In SQLite one writes at a time, and waits for half a minute at the most: so many rows can take longer. */
const many = 200_000

function othersWait(rows: number): string {
  return (
    `${plural(rows, 'row')} go into SQLite as one piece, all or none of them. Whoever else writes there waits meanwhile, and ` +
    'a worker or a push that runs may give up. To avoid that, press Ctrl-C now (nothing is queued then), and stop them ' +
    'first, or split the file'
  )
}

async function look(
  shell: Shell,
  config: Config,
  project: ProjectConfig,
  { display, given, options }: Call,
): Promise<Answer> {
  const { previewImport } = await shell.queue()
  const log = shell.openLog(config, display)
  const signal = shell.interruptible(display, 'the lines in hand')
  let looked = 0
  let budget: BudgetView | null = null
  const tell = () =>
    display.onLine(`${plural(looked, 'line')} looked at${budget === null ? '' : `   ${budgetText(budget)}`}`)
  const report = await previewImport(config, project, given, {
    limit: options.limit,
    expiresAt: given.expiresAt,
    signal,
    log,
    onProgress: (lines) => {
      looked = lines
      tell()
    },
    onBudget: (view) => {
      budget = view
      tell()
    },
  })
  return showPreview(report, project, typedIn(config.projects, project.name))
}
