/**
 * The pages about a period: each is one of the tables that are declared with their charts, drawn
 * here in one way.
 */
import type {
  PeriodRow,
  PeriodTable,
  PeriodTableName,
  PeriodValue,
  TableNumbers,
} from '../../analytics/analytics.ts'
import { formatValue } from '../../analytics/report/change.ts'
import { periodTables } from '../../analytics/views/all-period-pages.ts'
import { drawHeatMap, figure, seriesStyles, timeChart } from '../../document/chart.ts'
import { table as documentTable } from '../../document/table.ts'
import { dateText, dayNumber } from '../../values/days.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { dayMs, type LocalDate } from '../../values/time.ts'
import { addressOf, facts, section } from '../blocks.ts'
import {
  choosePeriod,
  keepPeriod,
  type Order,
  type Period,
  parseOrder,
  sortLink,
  sortRows,
} from '../core/period.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { countingNotice, daySpans, periodForm, unfinishedNote } from '../period-blocks.ts'
import type { FileAnswer, ScreenRequest } from '../screen.ts'
import { downloadLinks, parseForm, tableFile } from '../table-file.ts'
import { foreignText, todayOf } from '../text.ts'

/** Of a page; a download has all. */
const maxRows = 400

const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

/** What draws the parts of one page. */
type View = {
  readonly name: PeriodTableName
  readonly table: PeriodTable
  readonly period: Period
  readonly frame: ProjectFrame
}

export async function showPeriodTable(
  name: PeriodTableName,
  request: ScreenRequest,
): Promise<ConsolePage | FileAnswer> {
  const { db, reads, project, frame, query } = request
  const table: PeriodTable = periodTables[name]
  const period = choosePeriod(query, todayOf(frame))
  const order = parseOrder(query('sort'), Object.keys(table.columns), table.sort)
  const asked = parseForm(query)
  if (asked !== null) {
    const { rows } = await reads.periodTable(project, name, period)
    const names = Object.keys(table.columns)
    const sorted = sortRows(rows, order, table.key).map((row) =>
      names.map((column) => row[column] ?? null),
    )
    const columns = names.map(
      (column) => ({ name: column, type: column === 'date' ? 'date' : 'text' }) as const,
    )
    return tableFile(`${name}-${period.from}-${period.to}`, columns, [sorted], asked)
  }
  const [data, agents] = await Promise.all([
    reads.periodTableSoon(project, name, period),
    reads.agentNames(project, name, period),
  ])
  const view = { name, table, period, frame }
  const sort = query('sort')
  const filter = {
    spans: daySpans(frame, period, name, sort),
    agents: table.ofAgent === null ? null : (agents ?? []),
  }
  const form = periodForm({ frame, period, path: name, sort, ...filter })
  const content = html`${form}<p class="faint">${table.about} Days and hours are those of
    ${frame.timeZone}. ${agentText(view)}</p>${name === 'calls' ? nothing : await unfinishedNote(db)}
${data === null ? countingNotice(keepPeriod(addressOf(frame, name), period)) : shown(view, data, order)}`
  return { title: table.title, section: table.title, content, kept: period.query }
}

function agentText({ table: { ofAgent }, period: { agent } }: View): Html {
  if (agent === null) return nothing
  return ofAgent === null
    ? html`They are not those of an agent.`
    : html`Of ${foreignText(agent)}: ${ofAgent}.`
}

function shown(view: View, { rows, total, days }: TableNumbers, order: Order): Html {
  const { name, table, period, frame } = view
  const download = (form: Readonly<Record<string, string>>) =>
    keepPeriod(addressOf(frame, name), period, { sort: signed(order), ...form })
  const none =
    period.agent === null
      ? table.empty
      : html`Nothing of ${foreignText(period.agent)} was counted in this period.`
  if (rows.length === 0) return html`<p class="empty">${none}</p>`
  const numbers = Object.keys(table.columns).filter((column) => !table.key.includes(column))
  const totals =
    total &&
    facts(numbers.map((column) => [table.columns[column] ?? '', cellOf(view, column, total)]))
  return html`${totals === null ? nothing : html`<div class="totals">${totals}</div>`}
<div class="charts">${dayCharts(view, days)}</div>${heatMaps(view, rows)}
${section(
  'Numbers',
  rowTable(view, sortRows(rows, order, table.key), order),
  downloadLinks(download),
)}`
}

const signed = ({ column, isDescending }: Order) => `${isDescending ? '-' : ''}${column}`

function rowTable(view: View, rows: readonly PeriodRow[], order: Order): Html {
  const { name, table, period, frame } = view
  const names = Object.keys(table.columns)
  const sortedBy = (sort: string) => `${keepPeriod(addressOf(frame, name), period, { sort })}#rows`
  const columns = names.map((column) => {
    const { type, note } = table.view.columns[column] ?? {}
    const isNumber = !table.key.includes(column) && type !== 'text'
    const sort = sortLink(column, isNumber, order, sortedBy)
    return {
      title: table.columns[column] ?? '',
      isNumber,
      sort,
      ...(note === undefined ? {} : { note }),
    }
  })
  const shownRows = rows.slice(0, maxRows)
  const cells = shownRows.map((row) => names.map((column) => linkedCell(view, column, row)))
  const more = rows.length - shownRows.length
  const rest =
    more > 0
      ? html`<p class="faint">And ${formatCount(more)} more, which the download has.</p>`
      : nothing
  return html`<div class="sortable scroll"
    id="rows">${documentTable({ caption: table.title, columns, rows: cells })}</div>${rest}`
}

/**
 * The key leads to all that is counted in its row, if one number is of all, and each number to what
 * it counts.
 */
function linkedCell(view: View, column: string, row: PeriodRow): Html | string {
  const { key } = view.table
  const content = cellOf(view, column, row)
  const isKey = column === key[0]
  const values = Object.fromEntries(key.map((name) => [name, row[name] ?? null]))
  const to = isKey || row[column] !== 0 ? factsAddress(view, isKey ? null : column, values) : null
  return to === null ? content : html`<a href="${to}">${content}</a>`
}

function cellOf({ table }: Pick<View, 'table'>, column: string, row: PeriodRow): Html | string {
  const value = row[column] ?? null
  if (value === '') return html`<span class="faint">none</span>`
  if (column === 'date') return html`<time>${value}</time>`
  if (typeof value !== 'number') return foreignText(value)
  if (table.key.includes(column)) return keyText(column, value)
  return formatValue(value, table.view.columns[column]?.unit ?? 'count')
}

export function keyText(column: string, value: PeriodValue): Html | string {
  if (column === 'weekday') return weekdays[Number(value) - 1] ?? ''
  return column === 'hour' ? `${String(value).padStart(2, '0')}:00` : foreignText(String(value))
}

/**
 * The conversations behind a number, or with null behind all; null: there are none to show, or the
 * key has no value.
 */
function factsAddress(
  { name, table, period, frame }: View,
  column: string | null,
  key: PeriodRow,
): string | null {
  const { counted } = table
  const isCounted =
    column === null ? Object.values(counted).includes(null) : Object.hasOwn(counted, column)
  if (!isCounted) return null
  if (Object.values(key).some((value) => value === null || value === '')) return null
  const { date: on = null, agent_name: agent = period.agent, ...rest } = key
  const values = Object.entries({ on, agent, ...rest }).map(([of, value]) => [
    of,
    value === null ? null : `${value}`,
  ])
  return keepPeriod(addressOf(frame, 'conversations'), period, {
    of: name,
    count: column,
    ...Object.fromEntries(values),
  })
}

/** Local dates are drawn as if they were UTC: a chart of days has no hours. */
function dayCharts(view: View, days: TableNumbers['days']): Html[] {
  const { table, period, frame } = view
  const { split, charts } = table
  // Days before the first that is known would only be empty.
  const known = days.map(({ date }) => dayNumber(String(date)))
  const first = Math.max(dayNumber(period.from), Math.min(...known))
  const last = dayNumber(period.to)
  const dates = Array.from({ length: last - first + 1 }, (_, n) => dateText(first + n))
  const parts = Map.groupBy(days, (day) => (split === undefined ? null : (day[split] ?? null)))
  const drawn = [...parts]
    .toSorted(([a], [b]) => (`${a}` < `${b}` ? -1 : 1))
    .flatMap(([part, rows]) => {
      const byDate = new Map(rows.map((row) => [row.date, row]))
      const keyOf = (date: LocalDate) => ({
        date,
        ...(split === undefined ? {} : { [split]: part }),
      })
      return charts.map(({ title, kind = 'stacked bars' as const, unit, series }) => ({
        title: part === null ? title : `${title}: ${part}`,
        kind,
        unit,
        series: Object.entries(series).map(([column, name], n) => ({
          name,
          style: seriesStyles[n] ?? '',
          values: dates.map(
            (date) =>
              (byDate.get(date)?.[column] ?? (kind === 'lines' ? null : 0)) as number | null,
          ),
          links: dates.map((date) => factsAddress(view, column, keyOf(date))),
        })),
      }))
    })
  return drawn.map((one, index) => {
    const chart = timeChart({
      ...one,
      id: `chart-${index}`,
      timeUnit: 'day',
      stepMs: dayMs,
      times: dates.map((date) => Date.parse(date)),
      from: first * dayMs,
      to: (last + 1) * dayMs,
      unfinishedFrom: Date.parse(todayOf(frame)),
      formatTime: (at) => new Date(at).toISOString().slice(5, 10),
    })
    return section(one.title, chart)
  })
}

const hours = Array.from({ length: 24 }, (_, hour) => hour)

function heatMaps(view: View, rows: readonly PeriodRow[]): Html[] {
  const byHour = new Map(rows.map((row) => [`${row.weekday} ${row.hour}`, row]))
  return Object.entries(view.table.heatMaps ?? {}).map(([column, title]) => {
    const isCounted = Object.hasOwn(view.table.counted, column)
    const ofHours = <T>(of: (weekday: number, hour: number) => T) =>
      weekdays.map((_, day) => hours.map((hour) => of(day + 1, hour)))
    const values = ofHours((weekday, hour) => {
      const value = byHour.get(`${weekday} ${hour}`)?.[column] ?? null
      return typeof value === 'number' ? value : isCounted ? 0 : null
    })
    const svg = drawHeatMap({
      id: `chart-${column}`,
      title,
      description: 'by weekday and local hour',
      columnUnit: 'hour',
      values,
      rows: weekdays.map((name) => name.slice(0, 3)),
      columns: hours.map((hour) => String(hour).padStart(2, '0')),
      ...(isCounted && {
        links: ofHours((weekday, hour) => factsAddress(view, column, { weekday, hour })),
      }),
    })
    const isKnown = values.flat().some((value) => value !== null)
    return section(
      title,
      isKnown ? figure(title, svg, null) : html`<p class="empty">Not known of this period.</p>`,
    )
  })
}

export const periodTableNames = Object.keys(periodTables) as PeriodTableName[]
