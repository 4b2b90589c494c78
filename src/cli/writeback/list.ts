/** `deskmirror writeback list`: what is in the queue, and what became of it. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Filter, QueueEntry } from '../../core/outbox/desk.ts'
import type { ListReport } from '../../core/outbox/report.ts'
import { type Status, statuses } from '../../core/outbox/state.ts'
import { aboutWhat, type Operation, operations, type Wish } from '../../core/outbox/wish.ts'
import type { EpochMs } from '../../core/time.ts'
import { csvHead, csvRow } from '../../imports/csv.ts'
import { type Answer, give, theOne } from '../answer.ts'
import { jsonOption, oneProjectOption, wholeNumber } from '../options.ts'
import { countsOf, namelessLines } from '../push.ts'
import { ago, count } from '../readable.ts'
import type { Shell } from '../shell.ts'
import { aligned } from '../table.ts'

type Options = {
  readonly status?: readonly Status[]
  readonly operation?: readonly Operation[]
  readonly batch?: string
  readonly target?: string
  readonly limit: number
  readonly newest?: true
  readonly csv?: true
  readonly project?: string
  readonly json?: true
}

const examples = `
Statuses: draft (waits for approval) · queued · sending · succeeded · failed (refused) · conflict (the world moved, not
sent) · uncertain (may or may not have arrived: a person decides) · cancelled · expired

Examples:
  $ deskmirror writeback list
  $ deskmirror writeback list --newest --limit 20
  $ deskmirror writeback list --status uncertain
  $ deskmirror writeback list --batch replies-0123456789ab
  $ deskmirror writeback list --status failed --csv > failed.csv     to be corrected and imported again

Exit code: 0 listed · 1 failed, trying again may help · 2 a person must change something`

export function listCommand(shell: Shell): Command {
  return new Command('list')
    .summary('list write-backs, in the order of the queue')
    .description('Lists write-backs in the order of the queue, and counts those that fit by status.')
    .addOption(statusOption())
    .addOption(
      new Option('--operation <a,b>', `only these operations: ${operations.join(', ')}`).argParser(listOf(operations)),
    )
    .option('--batch <name>', 'only those of this import')
    .option('--target <id>', 'only those about this conversation or visitor')
    .option('--limit <n>', 'how many to list (all are counted)', wholeNumber, 100)
    .option('--newest', 'the newest first, instead of the order of the queue (not with --csv)')
    .addOption(new Option('--csv', 'all that fit, as CSV that can be imported again').conflicts(['json', 'newest']))
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => give(shell, options.json === true, () => list(shell, options)))
}

export const statusOption = () =>
  new Option('--status <a,b>', 'only those in these statuses').argParser(listOf(statuses))

function listOf<T extends string>(all: readonly T[]) {
  return (text: string): readonly T[] => {
    const names = text.split(',').map((name) => name.trim())
    const strange = names.filter((name) => !all.some((one) => one === name))
    if (strange.length > 0) throw new InvalidArgumentError(`${strange.join(', ')}: choose from ${all.join(', ')}.`)
    return all.filter((one) => names.includes(one))
  }
}

async function list(shell: Shell, options: Options): Promise<Answer> {
  const config = shell.loadConfig('mirror')
  const project = theOne(config.projects, options.project, 'nothing was listed')
  const filter = filterOf(options)
  const room = await shell.queue()
  if (options.csv === true) {
    shell.out(csvHead)
    await room.eachWriteback(config, project, filter, (some) =>
      shell.out(some.map((entry) => toCsv(entry, project.projectId)).join('')),
    )
    return { document: null, lines: [], exit: 0 }
  }
  const report = await room.listWritebacks(config, project, filter, {
    limit: options.limit,
    newest: options.newest === true,
  })
  return { document: report, lines: showList(report, shell.now()), exit: 0 }
}

function filterOf({ status, operation, batch, target }: Options): Filter {
  return {
    ...(status === undefined ? {} : { statuses: status }),
    ...(operation === undefined ? {} : { operations: operation }),
    ...(batch === undefined ? {} : { batch }),
    ...(target === undefined ? {} : { target }),
  }
}

export function showList({ writebacks, counts, nameless }: ListReport, now: EpochMs): string[] {
  const all = Object.values(counts).reduce((sum, rows) => sum + rows, 0)
  if (all === 0) return ['no write-backs', ...namelessLines(nameless)]
  const beyond = all - writebacks.length
  return [
    ...aligned(writebacks.map((it) => cells(it, now))),
    ...(beyond > 0 ? [`… and ${count(beyond)} more; --limit lists more of them, --csv all`] : []),
    countsOf(counts),
    ...namelessLines(nameless),
  ]
}

function cells(it: QueueEntry, now: EpochMs): string[] {
  const when = ago(it.finishedAt ?? it.sentAt ?? it.createdAt, now)
  return [
    it.id,
    it.operation,
    targetOf(it),
    it.status,
    when,
    it.status === 'succeeded' ? '' : (it.error ?? it.step ?? ''),
  ]
}

export function targetOf({ operation, conversationId, visitorId }: QueueEntry): string {
  return (aboutWhat[operation] === 'conversation' ? conversationId : visitorId) ?? ''
}

function toCsv(it: QueueEntry, projectId: string): string {
  const { operation, payload, ref, expect, expiresAt } = it
  // What the database let in is told as it is, so that it can be corrected.
  const wish = { operation, target: targetOf(it), payload, ref, expect, expiresAt } as unknown as Wish
  const outcome = {
    id: it.id,
    project_id: projectId,
    status: it.status,
    error: it.error,
    attempts: it.attempts,
    batch_id: it.batchId,
    created_at: it.createdAt,
    created_by: it.createdBy,
    sent_at: it.sentAt,
    finished_at: it.finishedAt,
    request_id: it.requestId,
  }
  return csvRow(outcome, wish)
}
