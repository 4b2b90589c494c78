/**
 * `writeback list`: write-backs and their outcomes; `writeback show`: all that is stored of one.
 */
import { Option } from 'commander'
import { writebackStatuses } from '../../../schema/operation-specs.ts'
import type { ListWritebacksReport } from '../../app/outbox.ts'
import { csvHeader, toCsvRow } from '../../imports/csv-cells.ts'
import { operations } from '../../outbox/core/operations.ts'
import { targetIdOf } from '../../outbox/core/outbox-entry.ts'
import { formatCounts } from '../../outbox/core/state.ts'
import type {
  Candidate,
  EventLogEntry,
  NamedEntry,
  Operation,
  ShowWritebackReport,
  WritebackStatus,
} from '../../outbox/outbox.ts'
import { formatCount, pluralize, toPrintable } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommandHint } from '../../values/user-error.ts'
import { defineProjectCommand } from '../command.ts'
import {
  type CommonOptions,
  jsonOption,
  oneProjectOption,
  parseChoices,
  parseWholeNumber,
} from '../options.ts'
import { nextStepsOfEntry, renderEntries, renderWithoutProject } from '../render/outbox.ts'
import { alignColumns, linesOf } from '../render/table.ts'

const listHelp = `
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

export const operationOption = () =>
  new Option('--operation <a,b>', `only these operations: ${operations.join(', ')}`).argParser(
    parseChoices(operations),
  )

export const statusOption = () =>
  new Option('--status <a,b>', 'only those in these statuses').argParser(
    parseChoices(writebackStatuses),
  )

export const listCommand = defineProjectCommand<
  CommonOptions & {
    readonly status?: readonly WritebackStatus[]
    readonly operation?: readonly Operation[]
    readonly batch?: string
    readonly target?: string
    readonly limit: number
    readonly newest?: true
    readonly csv?: true
  }
>({
  name: 'list',
  summary: 'list write-backs, in the order of the queue',
  description: 'Lists write-backs in queue order, and counts all that match by status.',
  options: [
    statusOption(),
    operationOption(),
    new Option('--batch <name>', 'only those of this batch'),
    new Option('--target <id>', 'only those about this conversation or visitor'),
    new Option('--limit <n>', 'how many to list (all are counted)')
      .argParser(parseWholeNumber)
      .default(100),
    new Option('--newest', 'the newest first, instead of the order of the queue (not with --csv)'),
    new Option('--csv', 'all that fit, as CSV that can be imported again').conflicts([
      'json',
      'newest',
    ]),
    oneProjectOption(),
    jsonOption(),
  ],
  help: listHelp,
  what: 'nothing was listed',
  run: async (
    context,
    { config, project },
    { status, operation, batch, target, limit, csv, newest },
  ) => {
    const filter = { statuses: status, operations: operation, batch, target }
    const outbox = await context.load(() => import('../../app/outbox.ts'))
    if (csv === true) {
      context.writeOut(csvHeader)
      await outbox.forEachWriteback(config, project, filter, (entries) =>
        context.writeOut(entries.map((entry) => entryToCsv(entry, project.projectId)).join('')),
      )
      return { document: null, lines: [], exit: 0 }
    }
    const report = await outbox.listWritebacks(config, project, filter, {
      limit,
      newest: newest === true,
    })
    return { document: report, lines: renderList(report, context.now()), exit: 0 }
  },
})

function renderList(
  { writebacks, counts, withoutProject }: ListWritebacksReport,
  now: EpochMs,
): readonly string[] {
  const all = Object.values(counts).reduce((sum, rows) => sum + rows, 0)
  if (all === 0) return ['no write-backs', ...renderWithoutProject(withoutProject)]
  const beyond = all - writebacks.length
  return linesOf(
    renderEntries(writebacks, now),
    beyond > 0 && `… and ${formatCount(beyond)} more; --limit lists more of them, --csv all`,
    formatCounts(counts),
    renderWithoutProject(withoutProject),
  )
}

/** Invalid rows are exported unchanged, so that they can be corrected. */
function entryToCsv(entry: NamedEntry, projectId: ProjectId): string {
  return toCsvRow(
    {
      id: entry.id,
      project_id: projectId,
      status: entry.status,
      error: entry.error,
      attempts: entry.attempts,
      batch_id: entry.batchId,
      created_at: entry.createdAt,
      created_by: entry.createdBy,
      sent_at: entry.sentAt,
      finished_at: entry.finishedAt,
      request_id: entry.requestId,
      source_row: entry.sourceRow,
      visitor_name: entry.visitorName,
    },
    { ...entry, target: targetIdOf(entry) },
  )
}

const showHelp = `
A unique beginning or end of the id is enough. Request ids are the service's: quote them to its support.

Examples:
  $ deskmirror writeback show 0199a3f2-51c4
  $ deskmirror writeback show 0199a3f2-51c4 --json | jq .events

Exit code: 0 shown · 1 failed, trying again may help · 2 no id or several ids match`

export const showCommand = defineProjectCommand<CommonOptions, string>({
  name: 'show',
  summary: 'show one write-back and its history',
  description: 'Shows one write-back, its history, and what it waits for.',
  argument: ['<id>', 'its id, or a unique beginning or end of it'],
  options: [oneProjectOption(), jsonOption()],
  help: showHelp,
  what: 'nothing was shown',
  run: async (context, { config, project, hint }, _, id) => {
    const { showWriteback } = await context.load(() => import('../../app/outbox.ts'))
    const report = await showWriteback(config, project, id)
    return { document: report, lines: renderWriteback(report, hint), exit: 0 }
  },
})

function renderWriteback(report: ShowWritebackReport, hint: CommandHint): string[] {
  const { writeback, events, candidates, waitsFor, holds } = report
  const fields: readonly (readonly [string, string | number | null])[] = [
    ['id', writeback.id],
    ['operation', writeback.operation],
    [writeback.conversationId === null ? 'visitor' : 'conversation', targetIdOf(writeback)],
    ['visitor name', writeback.visitorName],
    ['last words', writeback.lastWords === null ? null : JSON.stringify(writeback.lastWords)],
    ...Object.entries(writeback.payload).map(
      ([field, value]) => [field, JSON.stringify(value)] as const,
    ),
    ['status', writeback.status],
    ['why', writeback.error ?? writeback.reason],
    ['waits for', waitsFor === null ? null : `${waitsFor.id}, which is ${waitsFor.status}`],
    ['holds', holds === 0 ? null : `${pluralize(holds, 'write-back')} behind it`],
    ['sent', describeSends(writeback)],
    ['settled', writeback.finishedAt],
    ['message', writeback.messageId],
    ...candidates.map((candidate) => ['may be it', describeCandidate(candidate)] as const),
    ['request', writeback.requestId],
    ['batch', writeback.batchId],
    ['found by', writeback.foundBy],
    ['row of its file', writeback.sourceRow === null ? null : String(writeback.sourceRow)],
    ['ref', writeback.ref],
    ['expects', writeback.expect],
    ['expires', writeback.expiresAt],
    [
      'queued',
      writeback.createdBy === null
        ? writeback.createdAt
        : `${writeback.createdAt} by ${writeback.createdBy}`,
    ],
    ['approved by', writeback.approvedBy],
    ['undo until', writeback.undoUntil],
    ['stopped by', writeback.stoppedBy],
    ['decided by', writeback.decidedBy],
  ]
  return [
    ...alignColumns(
      fields.flatMap(([name, value]) =>
        value === null ? [] : [[name, showInvisible(String(value))]],
      ),
    ),
    ...alignColumns(events.map(eventCells), '  '),
    ...nextStepsOfEntry(writeback, hint),
  ].map(toPrintable)
}

function describeCandidate({ id, isMirrored, at, name, content }: Candidate): string {
  if (!isMirrored) return `message ${id}, which the mirror does not have yet: look in the app`
  return (
    `message ${id}, ${at ?? 'at an unknown time'}, by ` +
    `${JSON.stringify(name)}: ${JSON.stringify(content)}`
  )
}

/** A corrected row keeps the number of sends, and has not been sent in its new form. */
function describeSends({ attempts, sentAt }: ShowWritebackReport['writeback']): string | null {
  return attempts === 0 || sentAt === null
    ? null
    : `${pluralize(attempts, 'time')}, last at ${sentAt}`
}

function eventCells({ at, from, to, detail, person, requestId }: EventLogEntry): string[] {
  const request = requestId === null ? '' : `request ${requestId}`
  // Most details of decisions name the person already.
  const by = person === null || detail?.includes(person) ? '' : `by ${person}`
  return [at, from === null || from === to ? to : `${from} → ${to}`, detail ?? '', by, request]
}
