/** `deskmirror verify --against FILE`. */
import { type DayChange, hasChanges } from '../../core/certificate-changes.ts'
import { formatCount, pluralize, toPrintable } from '../../core/format.ts'
import type { CertificateComparison } from '../../core/proof-reports.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, joinResults, selectOneProject } from '../command-result.ts'
import type { ExitCode } from '../exit-code.ts'
import { alignColumns } from '../render/table.ts'
import type { VerifyCommandOptions } from './verify-options.ts'

export async function runCompareWithCertificate(
  context: CommandContext,
  file: string,
  options: VerifyCommandOptions,
): Promise<CommandResult> {
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'a certificate is of one project')
  const signal = context.openInterruptSignal(context.openDisplay(options.quiet === true))
  const { compareWithCertificate } = await context.load(() => import('../../app/certificate.ts'))
  const report = await compareWithCertificate(config, project, {
    file,
    streams: options.streams,
    signal,
    now: context.now,
  })
  return joinResults([{ project: project.name, report }], (comparison) => renderComparison(comparison, options.limit))
}

export function renderComparison(
  { project, certificate, countedAt, streams }: CertificateComparison,
  limit: number,
): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const changed = streams.flatMap(({ days }) => days)
  const header = ['', 'rows then', 'rows now', 'days the same', 'more', 'fewer', 'changed']
  const rows = streams.map(({ stream, before, now, counts }) => [
    stream,
    ...[before, now, counts.same, counts.more, counts.fewer, counts.changed].map(formatCount),
  ])
  return {
    lines: [
      toPrintable(
        `${project}: the certificate counted at ${certificate.countedAt}, the mirror counted at ${countedAt}`,
      ),
      toPrintable(`SHA-256 of ${certificate.file} ${certificate.sha256}`),
      ...alignColumns([header, ...rows]),
      ...alignColumns(changed.slice(0, limit).map(dayRow)),
      ...(changed.length > limit
        ? [`… and ${formatCount(changed.length - limit)} more; --limit raises the number`]
        : []),
      ...conclusion(changed),
    ],
    exit: hasChanges(streams) ? 3 : 0,
  }
}

function dayRow({ stream, day, state, before, now }: DayChange): string[] {
  const rows = before === now ? pluralize(now, 'row') : `${formatCount(before)} → ${pluralize(now, 'row')}`
  return [stream, day ?? 'no day', state, rows]
}

function conclusion(changed: readonly DayChange[]): string[] {
  if (changed.length === 0) return ['nothing has changed: the rows of every day are the same']
  const isCounted = changed.some(({ state }) => state === 'more' || state === 'fewer')
  return [
    `${pluralize(changed.length, 'day')} ${changed.length === 1 ? 'is' : 'are'} not the same`,
    ...(isCounted ? ['more, fewer: whether the other rows of such a day are the same is not known from a digest'] : []),
  ]
}
