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
    ],
    exit: differing + skipped.length + incomplete.length === 0 ? 0 : 3,
  }
}

function differenceRow({ stream, key, kind, fields }: Difference): string[] {
  return [stream, key, kind, fields.join(', ')]
}
