/** Which files of a lake have to be written again: those whose rows tell of a change. Pure. */
import type { ExportCondition, ExportObject, ExportSelection } from '../core/selection.ts'
import type { LakeObject, LakePartition } from './manifest.ts'

/** The rows of a month, as the warehouse has them now. */
export type MonthState = Pick<LakePartition, 'month' | 'rows' | 'state'>

export type PartitionPlan = MonthState & {
  readonly place: string
  /** By which the rows are found. */
  readonly selection: ExportSelection
  /** What the lake has of it. */
  readonly previous: LakePartition | null
  readonly isUnchanged: boolean
}

/** `earlier`: what the lake has of the object; null = nothing. */
export function planPartitions(
  selection: ExportSelection,
  timeColumn: string | null,
  months: readonly MonthState[],
  earlier: LakeObject | null,
): readonly PartitionPlan[] {
  const hasSameColumns =
    earlier !== null &&
    earlier.timeColumn === timeColumn &&
    JSON.stringify(earlier.columns) === JSON.stringify(columnsOf(selection.object))
  // A folder without a file is an error for programs that read it.
  const all = months.length > 0 ? months : [{ month: null, rows: 0, state: 'empty' }]
  return all.map(({ month, rows, state }) => {
    const previous = earlier?.partitions.find((partition) => partition.month === month) ?? null
    const isUnchanged =
      hasSameColumns && previous !== null && state !== null && previous.state === state
    const conditions = [...selection.conditions, ...conditionsOf(selection, timeColumn, month)]
    return {
      month,
      place: folderOf(selection.object, timeColumn, month),
      selection: { ...selection, conditions },
      rows,
      state,
      previous,
      isUnchanged,
    }
  })
}

export const columnsOf = ({ columns }: ExportObject) =>
  columns.map(({ name, type }) => ({ name, type }))

export function newColumns(object: ExportObject, earlier: LakeObject | null): readonly string[] {
  if (earlier === null) return []
  const known = new Set(earlier.columns.map(({ name }) => name))
  return object.columns.flatMap(({ name }) => (known.has(name) ? [] : [name]))
}

function conditionsOf(
  { object }: ExportSelection,
  timeColumn: string | null,
  month: string | null,
): readonly ExportCondition[] {
  const column = object.columns.find(({ name }) => name === timeColumn)
  if (column === undefined) return []
  if (month === null) return [{ column, operator: '=', value: null }]
  const start = (first: string) =>
    column.type === 'date' ? `${first}-01` : `${first}-01T00:00:00Z`
  return [
    { column, operator: '>=', value: start(month) },
    { column, operator: '<', value: start(monthAfter(month)) },
  ]
}

function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  const next = number === 12 ? [year + 1, 1] : [year, number + 1]
  return next.map((part, n) => String(part).padStart(n === 0 ? 4 : 2, '0')).join('-')
}

/** Programs that read such folders take this name for "no value". */
const nullMonth = '__HIVE_DEFAULT_PARTITION__'

/**
 * The folder of the file that programs read. No name leads out of the lake, is that of its own files
 * or of another object, or begins with `_` or `.`, as programs leave such folders out.
 */
function folderOf(
  { name }: Pick<ExportObject, 'name'>,
  timeColumn: string | null,
  month: string | null,
): string {
  const object = encodeURIComponent(name.toWellFormed()).replaceAll('.', '%2E').replace(/^_/, '%5F')
  return timeColumn === null ? object : `${object}/month=${month ?? nullMonth}`
}
