/** `deskmirror audit`: reads a random sample of the mirror again, corrects what differs, and says what follows. */
import { Command } from 'commander'
import type { AuditReport, AuditResult } from '../mirror/mirror.ts'
import { formatCount, formatDuration, pluralize } from '../values/format.ts'
import type { EpochMs } from '../values/time.ts'
import type { CommandContext } from './command-context.ts'
import { type CommandResult, forEachProject, joinResults, runAndPrint, selectProjects } from './command-result.ts'
import type { ExitCode } from './explain-error.ts'
import { type CommonOptions, jsonOption, parseSampleSize, projectOption, quietOption } from './options.ts'
import { auditRows } from './render/streams.ts'
import { alignColumns } from './render/table.ts'
import { differenceRow } from './verify.ts'

type Options = CommonOptions & { readonly sample?: number }

const examples = `
A worker does this every night (DESKMIRROR_SCHEDULE_AUDIT). Draws conversations and visitors at random from the mirror, reads
each of them again with its messages or its activity, in the lowest priority, and compares. What differs is compared once more
after an incremental sync; what that sync did not bring counts as a difference, and is corrected. Writes nothing to the
service. What is stopped is continued by the next audit.

Examples:
  $ deskmirror audit
  $ deskmirror audit --sample 10000      enough for "fewer than 3 in 10,000", if nothing differs

Exit code: 0 nothing differed · 1 failed · 2 a person must change something · 3 something differed and was corrected, or not all could be audited`

export function auditCommand(context: CommandContext): Command {
  return new Command('audit')
    .description('Reads a random sample of the mirror again, corrects what differs, and says how much differs at most.')
    .option('--sample <n>', 'how many conversations, and how many visitors; else as configured', parseSampleSize)
    .addOption(projectOption())
    .addOption(quietOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => runAndPrint(context, options, () => runAudit(context, options)))
}

async function runAudit(context: CommandContext, options: Options): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const projects = selectProjects(config.projects, options.project)
  const display = context.openDisplay(options.quiet === true)
  const log = await context.openLog(config, display)
  const signal = context.openInterruptSignal(display)
  const { onProgress, notify } = display
  const { auditProject } = await context.load(() => import('../app/audit.ts'))
  const results = await forEachProject(projects, signal, (project) =>
    auditProject(config, project, { sampleSize: options.sample, signal, onProgress, notify, log }).finally(
      display.clear,
    ),
  )
  return joinResults(results, (report) => renderAudit(report, context.now()))
}

function renderAudit(
  report: AuditReport,
  now: EpochMs,
): { readonly lines: readonly string[]; readonly exit: ExitCode } {
  const { project, audits, differences, estimates, outcome, notices, requests } = report
  const differing = audits.reduce((sum, audit) => sum + audit.differing, 0)
  const isWhole = outcome === 'done' && notices.length === 0 && audits.every(({ unreadable }) => unreadable === 0)
  return {
    lines: [
      ...alignColumns(audits.map(auditRow)),
      ...alignColumns(differences.map(differenceRow)),
      ...notices,
      ...(outcome === 'interrupted' ? ['stopped on request; the next audit continues'] : []),
      ...alignColumns([[project, pluralize(requests, 'request')], ...auditRows(estimates, now)]),
    ],
    exit: differing === 0 && isWhole ? 0 : 3,
  }
}

function auditRow({ stream, population, compared, differing, gone, unreadable, tookMs }: AuditResult): string[] {
  return [
    stream,
    `${formatCount(compared)} of ${formatCount(population)} read again`,
    `${formatCount(differing)} differed`,
    gone === 0 ? '' : `${formatCount(gone)} deleted in the service`,
    unreadable === 0 ? '' : `${formatCount(unreadable)} could not be read`,
    formatDuration(tookMs),
  ]
}
