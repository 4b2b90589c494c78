/** `deskmirror sync`: one pass over the service, to the end. */
import { Command, Option } from 'commander'
import type { RunMode, RunOutcome, StreamReport } from '../core/mirror.ts'
import type { GapReport, SyncReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import { type Answer, chosen, eachProject, give, joined } from './answer.ts'
import type { ExitCode } from './exit.ts'
import { jsonOption, projectOption, quietOption, streamsFor, streamsOption } from './options.ts'
import { count, duration, plural } from './readable.ts'
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
  const { onProgress, onBudget } = display
  const { syncProject } = await shell.work()
  const answers = await eachProject(projects, signal, (project) => {
    const streams = streamsFor(project, options.streams)
    const all = { mode: options.mode, streams, wait: options.wait === true, signal, onProgress, onBudget, log }
    return syncProject(config, project, all).finally(display.end)
  })
  return joined(answers, showSync)
}

const exits = { complete: 0, gaps: 3, failed: 1, interrupted: 1 } as const satisfies Record<RunOutcome, ExitCode>

export function showSync(report: SyncReport): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const total = [report.outcome, plural(report.requests, 'request'), plural(report.rows, 'row')]
  const all = [...total, `${count(report.changed)} changed`, duration(report.tookMs)]
  const lines = [
    ...aligned([...report.streams.map(streamCells), [report.project, ...all.slice(1), all[0] ?? '']]),
    ...report.streams.flatMap(streamTrouble),
    ...report.gaps.map(gapLine),
    ...report.notices.map((notice) => `note: ${notice}`),
  ]
  return { lines, exit: exits[report.outcome] }
}

export function gapLine(gap: GapReport): string {
  const where = gap.from === null && gap.to === null ? '' : ` ${gap.from ?? '…'} – ${gap.to ?? '…'}`
  return `gap: ${gap.stream}${where}: ${gap.reason}`
}

function streamCells(it: StreamReport): string[] {
  const done = it.failed !== null ? 'failed' : it.skipped !== null ? 'skipped' : ''
  return [
    it.stream,
    plural(it.requests, 'request'),
    plural(it.rows, 'row'),
    `${count(it.changed)} changed`,
    duration(it.tookMs),
    done,
  ]
}

function streamTrouble(it: StreamReport): string[] {
  const skipped = it.skipped === null ? [] : [`skipped: ${it.stream}: the key lacks the scope ${it.skipped}`]
  return it.failed === null ? skipped : [...skipped, `failed: ${it.stream}: ${it.failed}`]
}
