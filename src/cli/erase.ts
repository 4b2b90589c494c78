/** `deskmirror erase`: deletes what is stored of a visitor, or of a whole project. */
import { Option } from 'commander'
import type { EraseProjectReport, EraseReport } from '../app/erase.ts'
import { type ConfiguredLake, lakesOf } from '../config/lakes.ts'
import { formatCount, pluralize, toPrintable } from '../values/format.ts'
import type { ProjectName } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import { type CommandResult, defineCommand, selectCall } from './command.ts'
import type { CommandContext } from './command-context.ts'
import {
  type CommonOptions,
  decidingPerson,
  jsonOption,
  type PersonOption,
  personOption,
  quietOption,
} from './options.ts'
import { joinParts, timeLeft } from './render/progress.ts'
import { isClean, remainsLines } from './render/remains.ts'
import { alignColumns, linesOf } from './render/table.ts'

type Options = CommonOptions & PersonOption & { readonly visitor?: string; readonly yes?: true }

const help = `
--visitor: deletes the visitor, their activity, conversations, messages, changes and calls, former versions, facts and searched
words of these, and the words, evidence and log of their write-backs; what is queued to them is cancelled. The ids of visitor,
conversations and calls stay, so that no sync stores them again. It says nothing to the service: erase the visitor there, too.
The visitor of a call is read from the field that analytics.calls.visitor names, or from a likely one.

--project without --visitor: deletes all rows of the project in all tables, and what Redis knows of its sends. Remove it from
the configuration first, restart the workers, and name it by its id: a sync reads a project that is configured anew. While a
process reads or sends for it, this is refused. Of other projects nothing changes.

Then it looks for what it erased, in all tables, definitions, statistics and files of the warehouse, and says what is left
where and which command removes it. It looks for ids, addresses, names and texts (of a project, the first 20,000); not for
those of fewer than 12 characters (names 8, addresses 7), nor for single words of fewer than 20, nor for texts that rows of
others have, too.

If it is killed, the same command goes on, and \`status\` names it until then.

Examples:
  $ deskmirror erase --visitor 0d9c…        shows what would be deleted
  $ deskmirror erase --visitor 0d9c… --yes
  $ deskmirror erase --project 8b1f… --yes

Exit code: 0 done · 1 failed, trying again may help · 2 a person must correct the command · 3 done, and something is left`

export const command = defineCommand<Options>({
  name: 'erase',
  description: 'Shows what is stored of a visitor or a project, and with --yes deletes it.',
  options: [
    new Option('--visitor <id>', 'the id of the visitor'),
    new Option(
      '--project <name>',
      'the project of the visitor; without --visitor, the project to erase, by its name or id',
    ),
    new Option('--yes', 'delete it; without this, nothing is changed'),
    personOption(),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const { visitor, project } = options
    if (visitor !== undefined) return eraseVisitorRows(context, { ...options, visitor })
    if (project !== undefined) return eraseProjectRows(context, { ...options, project })
    throw new UserError({
      what: 'nothing was erased',
      why: 'neither a visitor nor a project is named',
      next: 'name one with --visitor or --project',
    })
  },
})

async function eraseVisitorRows(
  context: CommandContext,
  options: Options & { readonly visitor: string },
): Promise<CommandResult> {
  const { visitor, yes = false } = options
  const { config, project, hint } = selectCall(
    context.loadConfig('mirror'),
    options.project,
    'nothing was erased',
  )
  const { eraseVisitor } = await context.load(() => import('../app/erase.ts'))
  const by = decidingPerson(context, config, options)
  const report = await eraseVisitor(config, project, { visitor, by, dryRun: !yes })
  const { search } = report
  return {
    document: report,
    lines: linesOf(
      erasedLines(report, [], hint(`erase --visitor ${visitor} --yes`)),
      search !== null && lakeLines(lakesOf(config, project)),
    ),
    exit: search === null || isClean(search) ? 0 : 3,
  }
}

async function eraseProjectRows(
  context: CommandContext,
  options: Options & { readonly project: ProjectName },
): Promise<CommandResult> {
  const { project: named, yes = false } = options
  // It may be named no more.
  const config = context.loadConfig('database')
  const { eraseWholeProject } = await context.load(() => import('../app/erase.ts'))
  const display = context.openDisplay(options.quiet === true)
  const log = await context.openLog(config, display)
  const startedAt = context.now()
  const report = await eraseWholeProject(config, {
    named,
    dryRun: !yes,
    by: decidingPerson(context, config, options),
    log,
    signal: context.openInterruptSignal(display, 'the rows in hand'),
    onProgress: ({ table, done, left }) =>
      display.onLine(
        joinParts(
          `${pluralize(done, 'row')} erased`,
          table,
          `${formatCount(left)} left`,
          timeLeft(done, left, context.now() - startedAt),
        ),
      ),
  }).finally(display.clear)
  const { search, left } = report
  const isDone = search === null || (isClean(search) && Object.keys(left).length === 0)
  // Of one that is configured, `projectLines` says what comes first.
  const command = report.isConfigured ? null : `deskmirror erase --project ${named} --yes`
  const lakes = lakesOf(config).filter(
    ({ project }) => project === null || project.projectId === report.projectId,
  )
  return {
    document: report,
    lines: linesOf(
      erasedLines(report, projectLines(report), command),
      search !== null && lakeLines(lakes),
    ),
    exit: isDone ? 0 : 3,
  }
}

function erasedLines(
  { rows: erased, dryRun, search }: EraseReport,
  notes: readonly string[],
  command: string | null,
): readonly string[] {
  const rows = countLines(erased)
  const does = rows.length > 0 ? 'erases it' : 'cleans files and statistics once more'
  const erases = dryRun ? 'this would be erased:' : 'erased:'
  return [
    rows.length > 0 ? erases : 'erased before, and nothing of it is stored',
    ...rows,
    ...notes,
    ...(search === null && command !== null ? [`next: ${command} ${does}`] : []),
    ...(search === null ? [] : remainsLines(search)),
  ]
}

const countLines = (rows: EraseReport['rows']): readonly string[] =>
  alignColumns(
    Object.entries(rows).map(([table, count]) => [table, formatCount(count)]),
    '  ',
  )

function projectLines(report: EraseProjectReport): readonly string[] {
  const { open, isConfigured, projectId, workers, left, dryRun } = report
  const byStatus = Object.entries(open).map(([status, rows]) => `${formatCount(rows)} ${status}`)
  const hasLeft = Object.keys(left).length > 0
  return linesOf(
    byStatus.length > 0 &&
      `write-backs without an outcome${dryRun ? '' : ', now gone'}: ${byStatus.join(', ')}`,
    hasLeft && ['others stored this meanwhile:', ...countLines(left)],
    isConfigured &&
      'it is still configured, so the next sync reads it anew: remove it from the ' +
        'configuration, restart the workers, and run ' +
        `\`deskmirror erase --project ${projectId} --yes\``,
    !isConfigured &&
      workers.length > 0 &&
      `${workers.join(', ')} may have been started with it, and would read it anew: ` +
        'restart it, then run this again',
  )
}

/** A lake is not of the warehouse, so that nothing is searched there. */
function lakeLines(lakes: readonly ConfiguredLake[]): readonly string[] {
  return lakes.map(({ folder, project }) => {
    const command = `export --lake ${folder}${project === null ? '' : ` --project ${project.name}`}`
    return toPrintable(
      `the lake ${folder} keeps it until it is written next: deskmirror ${command}`,
    )
  })
}
