/** A small warehouse with what is hard to export, and exports of it into memory. */

import { type CellValue, streamXlsxRows } from 'hucre/xlsx'
import { onTestFinished } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import type { ExportFormat } from '../../src/export/core/formats.ts'
import type { ByteOutput } from '../../src/export/core/selection.ts'
import { type ExportRequest, exportObjects } from '../../src/export/export-objects.ts'
import { withSnapshot } from '../../src/export/sql/snapshot.ts'
import { type DatabaseInstance, databases, type TestDatabase } from '../support/databases.ts'
import { commit, conversation, message, timeAt, visitor } from '../warehouse/row-fixtures.ts'

/** Texts that a format, a database or a spreadsheet might misread. */
export const hostileTexts: readonly string[] = [
  'quotes " and "" and \'',
  'lines\nand\r\nlines\rand',
  'comma, semicolon; tab\t',
  ' spaces outside ',
  '',
  'null',
  '=1+2',
  '+49 30 1234',
  '-1',
  '@SUM(A1)',
  '\tindented',
  'a NUL: \0.',
  'half a pair: \ud800.',
  'a mark: \u241b.',
  '😀 と ü',
  'a \ufeff byte order mark',
  '"',
  'é'.repeat(500_000),
]

export type ExportWorld = { readonly warehouse: Warehouse; readonly database: DatabaseInstance }

/**
 * Mirrored as a sync does it. `atEnd` drops it: after the test, or after a group of tests by
 * `afterAll`.
 */
export async function openWorld(
  db: TestDatabase,
  atEnd: (drop: () => Promise<void>) => void = onTestFinished,
): Promise<ExportWorld> {
  const database = await db.make()
  atEnd(() => database.drop())
  const warehouse = await database.open()
  const mirror = openMirror(warehouse, 'main')
  const texts = [...hostileTexts, null]
  await mirror.commit(
    commit('conversations', [conversation('c2', { handled_at: timeAt(9) }), conversation('c1')]),
  )
  await mirror.commit(
    commit('messages', [
      ...texts.map((content, n) => message('c1', n + 1, { content, created_at: timeAt(n * 3600) })),
      message('c2', 9_007_199_254_740_993n, { content: 'an id beyond 2^53' }),
    ]),
  )
  const fields = {
    plan: { seats: 3, price: 9.5, tags: ['b', 'a'] },
    vip: true,
    since: '2026-01-31T08:00:00Z',
    'ümlaut "x"': 1e22,
  }
  await mirror.commit(
    commit('visitors', [visitor('v1', fields), visitor('v2', {}, { name: null, email: '' })]),
  )
  await warehouse.query(reportNumbers)
  return { warehouse, database }
}

/** A view as an analyst writes one: columns of tables, and expressions, some of them null. */
const reportNumbers = `create view report_numbers as
  select m.conversation_id, c.created_at, count(*) as messages,
    case when c.handled_at is not null then cast(count(*) as double precision) / 2 end as half,
    case when c.handled_at is null then 'open' end as label
  from messages m join conversations c on c.project_id = m.project_id and c.id = m.conversation_id
  group by m.conversation_id, c.created_at, c.handled_at`

/** What deskmirror itself notes differs from run to run. */
const ownColumns = new Set(['synced_at', 'run_id', 'asked_at'])

export async function stableColumns(
  warehouse: Warehouse,
  object: string,
): Promise<readonly string[]> {
  const { columns } = await withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
    snapshot.describe({ name: object, kind: 'table' }),
  )
  return columns.map(({ name }) => name).filter((name) => !ownColumns.has(name))
}

/** Every database, with the world in it. */
export function openWorlds(): Promise<readonly Warehouse[]> {
  return Promise.all(databases.map(async (db) => (await openWorld(db)).warehouse))
}

export type MemoryOutput = ByteOutput & { readonly bytes: () => Buffer }

export function createMemoryOutput(): MemoryOutput {
  const chunks: Uint8Array[] = []
  return {
    write: async (bytes) => void chunks.push(Uint8Array.from(bytes)),
    bytes: () => Buffer.concat(chunks),
  }
}

/** The rows of the first sheet, the header among them. */
export async function readWorkbook(bytes: Uint8Array): Promise<readonly CellValue[][]> {
  const rows = await Array.fromAsync(streamXlsxRows(bytes))
  return rows.map(({ values }) => values)
}

export const wholeObject: Omit<ExportRequest, 'objects' | 'format' | 'target'> = {
  overwrite: false,
  kept: [],
  forSpreadsheets: false,
  projectId: null,
  since: null,
  until: null,
  timeColumn: null,
  where: [],
  columns: [],
}

export async function exportWith(
  warehouse: Warehouse,
  request: Partial<ExportRequest> & Pick<ExportRequest, 'objects' | 'format'>,
  signal: AbortSignal = new AbortController().signal,
) {
  const defaults = { ...wholeObject, target: createMemoryOutput() }
  const deps = { countFirst: true, onProgress: () => {}, signal }
  return withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
    exportObjects({ ...defaults, ...request }, { snapshot, ...deps }),
  )
}

/** The bytes of one object. */
export async function exportBytes(
  warehouse: Warehouse,
  object: string,
  format: ExportFormat,
  request: Partial<ExportRequest> = {},
): Promise<Buffer> {
  const output = createMemoryOutput()
  await exportWith(warehouse, { objects: [object], format, target: output, ...request })
  return output.bytes()
}
