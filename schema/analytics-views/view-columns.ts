/** The kinds of columns that views have, so that a view reads as a list of names and notes. */
import type { ColumnType } from '../column-types.ts'
import type { ColumnRole, ViewColumn } from './analytics-view.ts'

const plain = (type: ColumnType, role: ColumnRole, note: string): ViewColumn => ({
  type,
  isNullable: false,
  unit: null,
  note,
  role,
  aggregation: 'none',
})

export const key = (note: string) => plain('key', 'key', note)
export const text = (note: string) => plain('text', 'dimension', note)
export const flag = (note: string) => plain('boolean', 'dimension', note)
/** A time in UTC. */
export const time = (note: string) => plain('utc_time', 'time', note)
/** A date in the project's time zone. */
export const date = (note: string) => plain('local_date', 'time', note)
/** A small number to group by: an hour, a weekday. */
export const number = (note: string) => plain('int32', 'dimension', note)

/** Can be added up over days. */
export const count = (note: string): ViewColumn => ({ ...plain('integer', 'measure', note), aggregation: 'sum' })
/** A state at one time: the days of a month must not be added up. */
export const level = (note: string) => plain('integer', 'measure', note)
/** A mean or a rate. */
export const mean = (note: string) => plain('number', 'measure', note)
export const share = (note: string): ViewColumn => ({ ...mean(note), unit: 'share' })
/** Whole seconds that can be added up. */
export const seconds = (note: string): ViewColumn => ({ ...count(note), unit: 'seconds' })
/** Whole seconds that must not be added up. */
export const duration = (note: string): ViewColumn => ({ ...level(note), unit: 'seconds' })
/** Seconds with a fraction, as of a median. */
export const meanSeconds = (note: string): ViewColumn => ({ ...mean(note), unit: 'seconds' })

export const optional = (column: ViewColumn): ViewColumn => ({ ...column, isNullable: true })

export const projectId = key('the project that the row belongs to')
