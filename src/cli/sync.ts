/** `deskmirror sync`: one pass over the service, to the end. */
import { Command, Option } from 'commander'
import type { RunMode, RunOutcome, StreamReport } from '../core/mirror.ts'
import type { GapReport, SyncReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import { type Answer, chosen, eachProject, give, joined } from './answer.ts'
import type { ExitCode } from './exit.ts'
import { jsonOption, projectOption, quietOption, streamsFor, streamsOption } from './options.ts'
import { count, duration, plural, printable } from './readable.ts'
import { reasonLines } from './reasons.ts'
import type { Shell } from './shell.ts'
import { aligned } from './table.ts'

type Options = {
  readonly mode: RunMode
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

export function syncCommand(shell: Shell): Command {
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
    .action((options: Options) => give(shell, options.json === true, () => sync(shell, options)))
}

async function sync(shell: Shell, options: Options): Promise<Answer> {
  const config = shell.loadConfig('service')
  const projects = chosen(config.projects, options.project)
  const display = shell.display(options.quiet === true)
  const log = shell.openLog(config, display)
  const signal = shell.interruptible(display)
  const { onProgress, onBudget, say: tell } = display
  const { syncProject } = await shell.work()
  const answers = await eachProject(projects, signal, (project) => {
    const streams = streamsFor(project, options.streams)
    const all = { mode: options.mode, streams, wait: options.wait === true, signal, onProgress, onBudget, tell, log }
    return syncProject(config, project, all).finally(display.end)
  })
  return joined(answers, showSync)
}

const exits = { complete: 0, gaps: 3, failed: 1, interrupted: 1 } as const satisfies Record<RunOutcome, ExitCode>

export function showSync(report: SyncReport): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const lines = [
    ...aligned([...report.streams.map((it) => cells(it.stream, it, stateOf(it, report))), totalCells(report)]),
    ...reasonLines(report.outcome === 'interrupted' ? report.streams.map(withoutFailure) : report.streams),
    ...gapLines(report.gaps),
    ...report.notices.map((notice) => `note: ${printable(notice)}`),
  ]
  return { lines, exit: exits[report.outcome] }
}

const listed = 20

/** Some of the gaps, and how many there are. */
export function gapLines(gaps: readonly GapReport[]): string[] {
  const more = gaps.length - listed
  const rest = more > 0 ? [`… and ${plural(more, 'gap')} more; --json lists all of them`] : []
  return [...gaps.slice(0, listed).map(gapLine), ...rest]
}

function gapLine(gap: GapReport): string {
  const where = gap.from === null && gap.to === null ? '' : ` ${gap.from ?? '…'} – ${gap.to ?? '…'}`
  return printable(`gap: ${gap.stream}${where}: ${gap.reason}`)
}

type Work = Pick<StreamReport, 'requests' | 'rows' | 'changed' | 'tookMs'>

function cells(name: string, it: Work, end: string): string[] {
  const numbers = [plural(it.requests, 'request'), plural(it.rows, 'row'), `${count(it.changed)} changed`]
  return [name, ...numbers, duration(it.tookMs), end]
}

function totalCells(report: SyncReport): string[] {
  return cells(report.project, report, report.outcome)
}

/** A stream that somebody stopped has not failed. */
function withoutFailure(it: StreamReport): StreamReport {
  return { ...it, failed: null }
}

function stateOf(it: StreamReport, { outcome }: SyncReport): string {
  if (it.failed !== null) return outcome === 'interrupted' ? 'stopped' : 'failed'
  return it.skipped === null ? '' : 'skipped'
}
