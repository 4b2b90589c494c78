/** `deskmirror writeback list`: the write-backs and their outcomes. */
import { Command, Option } from 'commander'
import { type OutboxEntry, targetIdOf } from '../../outbox/core/outbox-entry.ts'
import type { ListWritebacksReport } from '../../outbox/core/reports.ts'
import { type WritebackStatus, writebackStatuses } from '../../outbox/core/state.ts'
import { type Operation, operations, type WritebackRequest } from '../../outbox/core/writeback-request.ts'
import { csvHeader, toCsvRow } from '../../outbox/import/csv-columns.ts'
import { formatCount } from '../../values/format.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, type ProjectCall, runForProject } from '../command-result.ts'
import { type CommonOptions, jsonOption, oneProjectOption, parseChoices, parseWholeNumber } from '../options.ts'
import { formatCounts, renderEntries, renderWithoutProject } from '../render/outbox.ts'

type Options = CommonOptions & {
  readonly status?: readonly WritebackStatus[]
  readonly operation?: readonly Operation[]
  readonly batch?: string
  readonly target?: string
  readonly limit: number
  readonly newest?: true
  readonly csv?: true
}

const examples = `
The end of an id is enough for every command that takes one: ids of one import begin alike.

Statuses: draft (waits for approval) · queued · sending · succeeded · failed (refused) · conflict (the record changed: not
sent again, the reason says whether it may have been done before) · uncertain (may or may not have arrived: a person
decides) · cancelled · expired

Examples:
  $ deskmirror writeback list
  $ deskmirror writeback list --newest --limit 20
  $ deskmirror writeback list --status uncertain
  $ deskmirror writeback list --batch replies-0123456789ab
  $ deskmirror writeback list --status failed --csv > failed.csv     to be corrected and imported again

Exit code: 0 listed · 1 failed, trying again may help · 2 a person must change something`

export function listCommand(context: CommandContext): Command {
  return new Command('list')
    .summary('list write-backs, in the order of the queue')
    .description('Lists write-backs in queue order, and counts all that match by status.')
    .addOption(statusOption())
    .addOption(operationOption())
    .option('--batch <name>', 'only those of this batch')
    .option('--target <id>', 'only those about this conversation or visitor')
    .option('--limit <n>', 'how many to list (all are counted)', parseWholeNumber, 100)
    .option('--newest', 'the newest first, instead of the order of the queue (not with --csv)')
    .addOption(new Option('--csv', 'all that fit, as CSV that can be imported again').conflicts(['json', 'newest']))
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) =>
      runForProject(context, options, { what: 'nothing was listed' }, (call) => runList(context, call, options)),
    )
}

export const operationOption = () =>
  new Option('--operation <a,b>', `only these operations: ${operations.join(', ')}`).argParser(parseChoices(operations))

export const statusOption = () =>
  new Option('--status <a,b>', 'only those in these statuses').argParser(parseChoices(writebackStatuses))

async function runList(
  context: CommandContext,
  { config, project }: ProjectCall,
  { status, operation, batch, target, limit, csv, newest }: Options,
): Promise<CommandResult> {
  const filter = { statuses: status, operations: operation, batch, target }
  const outbox = await context.load(() => import('../../app/outbox.ts'))
  if (csv === true) {
    context.writeOut(csvHeader)
    await outbox.forEachWriteback(config, project, filter, (entries) =>
      context.writeOut(entries.map((entry) => entryToCsv(entry, project.projectId)).join('')),
    )
    return { document: null, lines: [], exit: 0 }
  }
  const report = await outbox.listWritebacks(config, project, filter, { limit, newest: newest === true })
  return { document: report, lines: renderList(report, context.now()), exit: 0 }
}

function renderList({ writebacks, counts, nameless }: ListWritebacksReport, now: EpochMs): string[] {
  const all = Object.values(counts).reduce((sum, rows) => sum + rows, 0)
  if (all === 0) return ['no write-backs', ...renderWithoutProject(nameless)]
  const beyond = all - writebacks.length
  return [
    ...renderEntries(writebacks, now),
    ...(beyond > 0 ? [`… and ${formatCount(beyond)} more; --limit lists more of them, --csv all`] : []),
    formatCounts(counts),
    ...renderWithoutProject(nameless),
  ]
}

/** Invalid rows are exported unchanged, so that they can be corrected. */
function entryToCsv(entry: OutboxEntry, projectId: ProjectId): string {
  const request = { ...entry, target: targetIdOf(entry) } as unknown as WritebackRequest
  return toCsvRow(
    {
      ...{ id: entry.id, project_id: projectId, status: entry.status, error: entry.error, attempts: entry.attempts },
      ...{ batch_id: entry.batchId, created_at: entry.createdAt, created_by: entry.createdBy, sent_at: entry.sentAt },
      ...{ finished_at: entry.finishedAt, request_id: entry.requestId },
    },
    request,
  )
}
