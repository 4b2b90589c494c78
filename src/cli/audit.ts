/** `deskmirror audit`: reads a random sample again, corrects what differs, says what follows. */
import { Option } from 'commander'
import type { AuditReport, AuditResult } from '../mirror/mirror.ts'
import { formatCount, formatDuration, pluralize } from '../values/format.ts'
import type { EpochMs } from '../values/time.ts'
import { defineCommand, type Rendered, runOverService } from './command.ts'
import {
  type CommonOptions,
  jsonOption,
  parseSampleSize,
  projectOption,
  quietOption,
} from './options.ts'
import { createSyncLine } from './render/display.ts'
import { auditRows, differenceRow } from './render/streams.ts'
import { alignColumns } from './render/table.ts'

type Options = CommonOptions & { readonly sample?: number }

const help = `
A worker does this every night (DESKMIRROR_SCHEDULE_AUDIT). Draws conversations and visitors at random from the mirror, reads
each of them again with its messages or its activity, in the lowest priority, and compares. What differs is compared once more
after an incremental sync; what that sync did not bring counts as a difference, and is corrected. Writes nothing to the
service. What is interrupted is lost, and the next audit draws again.

Examples:
  $ deskmirror audit
  $ deskmirror audit --sample 10000      enough for "fewer than 3 in 10,000", if nothing differs

Exit code: 0 nothing differed · 1 failed · 2 a person must change something · 3 something differed and was corrected, or not all could be audited`

export const command = defineCommand<Options>({
  name: 'audit',
  description:
    'Reads a random sample of the mirror again, corrects what differs, ' +
    'and says how much differs at most.',
  options: [
    new Option(
      '--sample <n>',
      'how many conversations, and how many visitors; else as configured',
    ).argParser(parseSampleSize),
    projectOption(),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: (context, options) =>
    runOverService(
      context,
      options,
      async ({ config, project }, handlers, display) => {
        const { auditProject } = await context.load(() => import('../app/audit.ts'))
        const { onProgress } = createSyncLine(display, context.now)
        const { sample: sampleSize } = options
        return auditProject(config, project, { sampleSize, onProgress, ...handlers })
      },
      (report) => renderAudit(report, context.now()),
    ),
})

function renderAudit(report: AuditReport, now: EpochMs): Rendered {
  const { project, audits, differences, estimates, outcome, notices, requests } = report
  const differing = audits.reduce((sum, audit) => sum + audit.differing, 0)
  const isWhole =
    outcome === 'complete' &&
    notices.length === 0 &&
    audits.every(({ unreadable }) => unreadable === 0)
  return {
    lines: [
      ...alignColumns(audits.map(auditRow)),
      ...alignColumns(differences.map(differenceRow)),
      ...notices,
      ...(outcome === 'interrupted'
        ? ['interrupted: the running audit is lost, and the next one draws again']
        : []),
      ...alignColumns([[project, pluralize(requests, 'request')], ...auditRows(estimates, now)]),
    ],
    exit: differing === 0 && isWhole ? 0 : 3,
  }
}

function auditRow(audit: AuditResult): string[] {
  const { stream, population, compared, differing, corrected, gone, unreadable, tookMs } = audit
  return [
    stream,
    `${formatCount(compared)} of ${formatCount(population)} read again`,
    `${formatCount(differing)} ` +
      `differed${differing === 0 ? '' : `, ${formatCount(corrected)} corrected`}`,
    gone === 0 ? '' : `${formatCount(gone)} deleted in the service`,
    unreadable === 0 ? '' : `${formatCount(unreadable)} could not be read`,
    formatDuration(tookMs),
  ]
}
