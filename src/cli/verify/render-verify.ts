/** The result of `verify` as lines, and its exit code. */
import type { Difference, VerifyReport } from '../../core/command-reports.ts'
import { formatCount, pluralize, toPrintable } from '../../core/format.ts'
import type { ExitCode } from '../exit-code.ts'
import { renderStreamReasons } from '../render/stream-reasons.ts'
import { alignColumns } from '../render/table.ts'

export function renderVerify(report: VerifyReport): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const differing = report.streams.reduce((sum, stream) => sum + stream.differing, 0)
  const skipped = renderStreamReasons(report.streams.map((stream) => ({ ...stream, failed: null })))
  const streams = report.streams.map((stream) => [
    stream.stream,
    `${formatCount(stream.compared)} compared`,
    `${formatCount(stream.differing)} differ`,
  ])
  const compared = report.streams.reduce((sum, stream) => sum + stream.compared, 0)
  const total = [
    report.project,
    `${formatCount(compared)} compared`,
    `${formatCount(differing)} differ`,
    pluralize(report.requests, 'request'),
  ]
  const incomplete = report.streams.flatMap((stream) =>
    stream.incomplete === undefined
      ? []
      : [toPrintable(`not all of ${stream.stream} could be read: ${stream.incomplete}`)],
  )
  const more = report.truncated ? ['… and more; --limit raises the number'] : []
  return {
    lines: [
      ...alignColumns([...streams, total]),
      ...alignColumns(report.differences.map(differenceRow)),
      ...more,
      ...skipped,
      ...incomplete,
      ...nextSteps(report),
    ],
    exit: differing + skipped.length + incomplete.length === 0 ? 0 : 3,
  }
}

/** Rollups of past days change in the service without a trace, and incremental syncs read only the last ones again. */
function nextSteps({ project, streams }: VerifyReport): readonly string[] {
  const ofProject = project === 'default' ? '' : ` --project ${project}`
  const differing = streams.filter((stream) => stream.differing > 0).map(({ stream }) => stream)
  const rows = `rows that changed since the last sync differ until the next one: run \`deskmirror sync${ofProject}\` and verify again; what differs then, \`deskmirror sync --mode full${ofProject}\` reads again`
  const rollups = `a rollup differs if something of its day changed after it was read, which is expected; a worker reads rollups again at night, and \`deskmirror sync --mode full --streams analytics${ofProject}\` does so now`
  return [
    ...(differing.some((stream) => stream !== 'analytics') ? [`→ ${rows}`] : []),
    ...(differing.includes('analytics') ? [`→ ${rollups}`] : []),
  ]
}

function differenceRow({ stream, key, kind, fields }: Difference): string[] {
  return [stream, key, kind, fields.join(', ')]
}
