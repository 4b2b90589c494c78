/** Renders the state of the outbox, for several commands. */

import { targetIdOf } from '../../outbox/core/outbox-entry.ts'
import { describeRequest, shortId } from '../../outbox/core/review/labels.ts'
import { presentStatuses } from '../../outbox/core/state.ts'
import type {
  BatchReport,
  NamedEntry,
  ShowWritebackReport,
  StatusCounts,
  WritebackStatus,
} from '../../outbox/outbox.ts'
import { formatAge, formatCount, formatDuration } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommandHint } from '../../values/user-error.ts'
import { alignColumns, cutAt } from './table.ts'

/** No line if every row has a project. `isOnlyProject`: the next push assigns them to it. */
export function renderWithoutProject(rows: number, isOnlyProject = false): string[] {
  if (rows === 0) return []
  const [have, them, are] =
    rows === 1 ? ['1 row has', 'it', 'is'] : [`${formatCount(rows)} rows have`, 'them', 'are']
  const consequence = isOnlyProject
    ? `: the next push assigns ${them} to this project`
    : ` and ${are} not sent until project_id is set in writebacks and writeback_events`
  return [`${have} no project${consequence}`]
}

/** No line if no lane is blocked. */
export function renderBlockedLanes(lanes: number, hint: CommandHint): string[] {
  if (lanes === 0) return []
  const waiting = lanes === 1 ? '1 lane waits' : `${formatCount(lanes)} lanes wait`
  return [
    `${waiting} until you resolve an uncertain write-back: ` +
      `${hint('writeback list --status uncertain')}`,
  ]
}

/** `failed   12   the service answered 404   for example: deskmirror writeback show 1a2b3c4d` */
export function renderReasons(
  reasons: BatchReport['reasons'],
  hint: CommandHint,
  indent = '',
): string[] {
  const rows = reasons.map(({ status, reason, count, example }) => [
    status,
    formatCount(count),
    showInvisible(reason),
    `for example: ${hint(`writeback show ${shortId(example)}`)}`,
  ])
  return alignColumns(rows, indent)
}

/** Statuses that a person should check. */
const unsuccessful: readonly WritebackStatus[] = ['failed', 'conflict', 'uncertain', 'expired']

/** The next step if some are unsuccessful; else false. `option`: what restricts it further. */
export function exportStep(counts: StatusCounts, hint: CommandHint, option = ''): string | false {
  const statuses = presentStatuses(counts).filter((status) => unsuccessful.includes(status))
  if (statuses.length === 0) return false
  const command = `writeback list ${option}--status ${statuses.join(',')} --csv`
  return `to export what did not succeed: ${hint(command)}`
}

/** `until`: RFC 3339. */
export function renderRestTime(until: string, because: string | null, now: EpochMs): string {
  const wait = formatDuration(Math.max(0, Date.parse(until) - now))
  return `rests until ${until} (${wait})${because === null ? '' : `: ${showInvisible(because)}`}`
}

/** Renders write-backs as a table: a line each, with names and words. */
const header = ['id', 'operation', 'visitor', 'what', 'ref', 'status', 'when', 'why']

export function renderEntries(entries: readonly NamedEntry[], now: EpochMs, indent = ''): string[] {
  return alignColumns([header, ...entries.map((entry) => toCells(entry, now))], indent)
}

function toCells(entry: NamedEntry, now: EpochMs): string[] {
  const { id, operation, ref, status, finishedAt, sentAt, createdAt } = entry
  return [
    shortId(id),
    operation,
    truncate(entry.visitorName ?? targetIdOf(entry), 24),
    truncate(describeRequest(entry), 40),
    // A row without a ref of its own has its id as its ref.
    ref === null || ref === id ? '' : truncate(ref, 24),
    status,
    formatAge(finishedAt ?? sentAt ?? createdAt, now),
    showInvisible(entry.error ?? (status === 'succeeded' ? '' : (entry.reason ?? ''))),
  ]
}

/** No line if all are shown. */
export function renderMore(count: number, shown: number, hint = ''): string[] {
  return count > shown ? [`  … and ${formatCount(count - shown)} more${hint}`] : []
}

export const truncate = (text: string, widest: number): string => cutAt(widest, showInvisible(text))

/** What a person can do about it, by its status. */
export function nextStepsOfEntry(
  writeback: ShowWritebackReport['writeback'],
  hint: CommandHint,
): string[] {
  const { id } = writeback
  switch (writeback.status) {
    case 'draft':
      return [`next: ${hint(`writeback approve ${id}`)}`]
    case 'uncertain':
      return [
        'next: check whether it arrived, then ' +
          `${hint(`writeback resolve ${id} --arrived`)}, or --lost`,
      ]
    case 'failed':
      return [
        `next: ${hint(`writeback retry ${id}`)} sends it again as it is`,
        'or, to correct it: ' +
          `${hint(`writeback list --status failed --target ${targetIdOf(writeback)} --csv`)}`,
      ]
    case 'conflict':
      return [
        `next: look at what changed since; ${hint(`writeback retry ${id}`)} sends it all the same`,
      ]
    default:
      return []
  }
}
