/** `deskmirror sync`: one sync run over the service, to the end. */
import { Option } from 'commander'
import type { StreamName } from '../../schema/stream-specs.ts'
import type { StreamReport, SyncMode, SyncOutcome, SyncReport } from '../mirror/mirror.ts'
import { formatCount, formatDuration, pluralize, toPrintable } from '../values/format.ts'
import { defineCommand, type Rendered, runOverService } from './command.ts'
import type { ExitCode } from './explain-error.ts'
import {
  type CommonOptions,
  jsonOption,
  projectOption,
  quietOption,
  streamsOption,
} from './options.ts'
import { createSyncLine } from './render/display.ts'
import { renderGaps, renderStreamReasons } from './render/streams.ts'
import { alignColumns } from './render/table.ts'

type Options = CommonOptions & {
  readonly mode: SyncMode
  readonly streams?: readonly StreamName[]
  readonly wait?: true
  readonly changeTimeZone?: true
}

const help = `
Modes:
  incremental   reads what changed since the last sync (the default)
  reconcile     reads every list completely, compares, and marks what was deleted; messages and activity in turn
  full          reads everything again, also messages, activity and rollups; takes as long as a first sync

Ctrl-C stops after the current page; the next sync continues from there.

Examples:
  $ deskmirror sync
  $ deskmirror sync --mode reconcile
  $ deskmirror sync --streams conversations,messages --quiet --json

Exit code: 0 complete · 1 failed or interrupted, the next one continues · 2 a person must change something ·
3 done, but with gaps or skipped streams`

export const command = defineCommand<Options>({
  name: 'sync',
  description: 'Brings the mirror up to date: one sync run in this process, to the end.',
  options: [
    new Option('--mode <mode>', 'how much to read')
      .choices(['incremental', 'reconcile', 'full'])
      .default('incremental'),
    streamsOption(),
    projectOption(),
    new Option('--wait', 'if another sync of the project is running, wait for its end'),
    new Option(
      '--change-time-zone',
      'after a change of the time zone: read every rollup again, and replace those of the old one',
    ),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: (context, options) =>
    runOverService(
      context,
      options,
      async ({ config, project }, handlers, display) => {
        const { mode, streams = project.streams, wait = false, changeTimeZone = false } = options
        const { syncProject } = await context.load(() => import('../app/sync.ts'))
        const progress = createSyncLine(display, context.now)
        const chosen = { mode, streams, wait, changeTimeZone }
        return syncProject(config, project, { ...chosen, ...handlers, ...progress })
      },
      renderSync,
    ),
})

const exitCodes = { complete: 0, gaps: 3, failed: 1, interrupted: 1 } as const satisfies Record<
  SyncOutcome,
  ExitCode
>

export function renderSync(report: SyncReport): Rendered {
  // What a notice says in full is not said twice.
  const gaps = report.gaps.filter(({ reason }) => !report.notices.includes(reason))
  const lines = [
    ...alignColumns([
      ...report.streams.map((stream) =>
        streamRow(stream.stream, stream, streamState(stream, report)),
      ),
      streamRow(report.project, report, report.outcome),
    ]),
    ...renderStreamReasons(
      report.streams.map((stream) =>
        // An interrupted stream has not failed.
        report.outcome === 'interrupted' ? { ...stream, failed: null } : stream,
      ),
    ),
    ...renderGaps(gaps, report.openGaps - (report.gaps.length - gaps.length)),
    ...report.notices.map((notice) => `note: ${toPrintable(notice)}`),
  ]
  return { lines, exit: exitCodes[report.outcome] }
}

function streamRow(
  name: string,
  {
    requests,
    rows,
    changed,
    tookMs,
  }: Pick<StreamReport, 'requests' | 'rows' | 'changed' | 'tookMs'>,
  end: string,
): string[] {
  const counts = [pluralize(requests, 'request'), pluralize(rows, 'row')]
  return [name, ...counts, `${formatCount(changed)} changed`, formatDuration(tookMs), end]
}

function streamState(stream: StreamReport, { outcome }: SyncReport): string {
  if (stream.failed !== null) return outcome === 'interrupted' ? outcome : 'failed'
  return stream.skipped === null ? '' : 'skipped'
}
