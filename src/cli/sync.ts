/** `deskmirror sync`: one pass over the service, to the end. */
import { Command, Option } from 'commander'
import type { SyncMode, SyncOutcome, StreamReport } from '../core/mirror.ts'
import type { GapReport, SyncReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import { type CommandResult, selectProjects, forEachProject, runAndPrint, joinResults } from './command-result.ts'
import type { ExitCode } from './exit-code.ts'
import { jsonOption, projectOption, quietOption, selectStreams, streamsOption } from './options.ts'
import { formatCount, formatDuration, pluralize, toPrintable } from './render/format.ts'
import { renderStreamReasons } from './render/stream-reasons.ts'
import type { CommandContext } from './command-context.ts'
import { alignColumns } from './render/table.ts'

type Options = {
  readonly mode: SyncMode
  readonly streams?: readonly StreamName[]
  readonly project?: string
  readonly wait?: true
  readonly quiet?: true
  readonly json?: true
}

const examples = `
Modes:
  incremental   asks for what moved since the last pass (the default)
  reconcile     walks every list whole, compares, and marks what is gone
  full          starts over

Ctrl-C stops after the page in hand; the next sync goes on from there.

Examples:
  $ deskmirror sync
  $ deskmirror sync --mode reconcile
  $ deskmirror sync --streams conversations,messages --quiet --json

Exit code: 0 complete · 1 failed or interrupted, the next one goes on · 2 a person must change something ·
3 done, but with gaps or skipped streams`

export function syncCommand(context: CommandContext): Command {
  return new Command('sync')
    .summary('bring the mirror up to date, once')
    .description('Brings the mirror up to date: one pass in this process, to the end.')
    .addOption(
      new Option('--mode <mode>', 'how much is asked for')
        .choices(['incremental', 'reconcile', 'full'])
        .default('incremental'),
    )
    .addOption(streamsOption())
    .addOption(projectOption())
    .option('--wait', 'if another pass over the project is running, wait for its end')
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => runAndPrint(context, options.json === true, () => runSync(context, options)))
}

async function runSync(context: CommandContext, options: Options): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const projects = selectProjects(config.projects, options.project)
  const display = context.openDisplay(options.quiet === true)
  const log = context.openLog(config, display)
  const signal = context.openInterruptSignal(display)
  const { onProgress, onBudget, notify } = display
  const { syncProject } = await context.loadUseCases()
  const answers = await forEachProject(projects, signal, (project) => {
    const streams = selectStreams(project, options.streams)
    const syncOptions = { mode: options.mode, streams, wait: options.wait === true, signal, onProgress, onBudget, tell: notify, log }
    return syncProject(config, project, syncOptions).finally(display.clear)
  })
  return joinResults(answers, renderSync)
}

const exitCodes = { complete: 0, gaps: 3, failed: 1, interrupted: 1 } as const satisfies Record<SyncOutcome, ExitCode>

export function renderSync(report: SyncReport): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const lines = [
    ...alignColumns([...report.streams.map((it) => streamRow(it.stream, it, streamState(it, report))), totalRow(report)]),
    ...renderStreamReasons(report.outcome === 'interrupted' ? report.streams.map(withoutFailure) : report.streams),
    ...renderGaps(report.gaps),
    ...report.notices.map((notice) => `note: ${toPrintable(notice)}`),
  ]
  return { lines, exit: exitCodes[report.outcome] }
}

const maxListedGaps = 20

/** Some of the gaps, and how many there are. */
export function renderGaps(gaps: readonly GapReport[]): string[] {
  const more = gaps.length - maxListedGaps
  const rest = more > 0 ? [`… and ${pluralize(more, 'gap')} more; --json lists all of them`] : []
  return [...gaps.slice(0, maxListedGaps).map(renderGap), ...rest]
}

function renderGap(gap: GapReport): string {
  const where = gap.from === null && gap.to === null ? '' : ` ${gap.from ?? '…'} – ${gap.to ?? '…'}`
  return toPrintable(`gap: ${gap.stream}${where}: ${gap.reason}`)
}

type StreamCounts = Pick<StreamReport, 'requests' | 'rows' | 'changed' | 'tookMs'>

function streamRow(name: string, it: StreamCounts, end: string): string[] {
  const numbers = [pluralize(it.requests, 'request'), pluralize(it.rows, 'row'), `${formatCount(it.changed)} changed`]
  return [name, ...numbers, formatDuration(it.tookMs), end]
}

function totalRow(report: SyncReport): string[] {
  return streamRow(report.project, report, report.outcome)
}

/** A stream that somebody stopped has not failed. */
function withoutFailure(it: StreamReport): StreamReport {
  return { ...it, failed: null }
}

function streamState(it: StreamReport, { outcome }: SyncReport): string {
  if (it.failed !== null) return outcome === 'interrupted' ? 'stopped' : 'failed'
  return it.skipped === null ? '' : 'skipped'
}
