/** Renders the mistakes of an import: one line a kind. */
import { formatCount, pluralize, toPrintable } from '../../core/format.ts'
import { formatRows, type MistakeKind } from '../../core/outbox/mistake-kinds.ts'
import type { LineMistake } from '../../core/outbox/reports.ts'
import { type ImportOverride, mistakeText } from '../../core/outbox/request-mistake.ts'
import { requestColumns } from '../../writeback/import/column-names.ts'
import type { CommandResult } from '../command-result.ts'

export type MistakesReport = {
  readonly rows: number
  readonly mistaken: number
  readonly kinds: readonly MistakeKind[]
  readonly mistakes: readonly LineMistake[]
  readonly mistakesFile: string | null
}

/** Further kinds are only counted. */
const maxShownKinds = 20

export function renderMistakes(report: MistakesReport): CommandResult {
  const { kinds } = report
  const shown = kinds.slice(0, maxShownKinds)
  const beyond = kinds.length - shown.length
  const more = beyond > 0 ? [`… and ${pluralize(beyond, 'kind')} more; --json lists them`] : []
  const error = {
    what: `nothing was queued, as ${describeMistaken(report)}`,
    why: [...shown.map(renderKind), ...more].join('\n'),
    next: ['correct the file and import it again', ...overrideHints(kinds), ...mistakesHint(report)].join('; '),
    exitCode: 2,
  } as const
  return { document: { error, ...report }, lines: [], exit: 2, errors: [error] }
}

/** Where the header has mistakes, no row could be read. */
function describeMistaken({ rows, mistaken }: MistakesReport): string {
  if (rows === 0) return 'the first row does not fit'
  return `${formatCount(mistaken)} of ${pluralize(rows, 'row')} ${mistaken === 1 ? 'has a mistake' : 'have mistakes'}`
}

/** `content: is missing · 30 rows: 2–31 · ref A-1, A-2` */
export function renderKind({ count, found, foundOthers, rows, refs, ...mistake }: MistakeKind): string {
  // What a reply repeats is no value of the file.
  const isRepetition = mistake.override === 'allow-duplicates'
  const values = found.map(
    ({ value, count: times }) =>
      `${isRepetition ? toPrintable(value) : quote(value)}${times === 1 ? '' : ` (${formatCount(times)})`}`,
  )
  const others = foundOthers > 0 ? [pluralize(foundOthers, 'other')] : []
  const refText = refs.map(toPrintable).join(', ')
  const parts = [
    mistakeText(mistake),
    `${count === 1 ? 'row' : `${pluralize(count, 'row')}:`} ${formatRows(rows, count)}`,
    ...(values.length === 0 ? [] : [`${isRepetition ? 'before: ' : 'found '}${[...values, ...others].join(', ')}`]),
    ...(refs.length === 0 ? [] : [`ref ${refText}${refs.length < count ? ', …' : ''}`]),
  ]
  return parts.join(' · ')
}

function quote(value: string): string {
  return `"${toPrintable(value)}"`
}

const overrides: Readonly<Record<ImportOverride, string>> = {
  'ignore-columns': `the columns of an import are ${requestColumns.join(', ')}; --ignore-columns a,b leaves others out`,
  'allow-duplicates': '--allow-duplicates queues them all the same',
  encoding: '--encoding NAME reads the file in that encoding, for example windows-1252',
}

function overrideHints(kinds: readonly MistakeKind[]): readonly string[] {
  const named = new Set(kinds.flatMap(({ override }) => override ?? []))
  return [...named].map((override) => overrides[override])
}

function mistakesHint({ rows, mistakesFile }: MistakesReport): readonly string[] {
  if (mistakesFile !== null) return [`${mistakesFile} has these rows, each with its mistakes`]
  return rows === 0 ? [] : ['--mistakes FILE.csv writes these rows to a file, each with its mistakes']
}
