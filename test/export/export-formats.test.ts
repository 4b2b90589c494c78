/** The same rows, byte for byte, from every database, and read back by other programs' readers. */
import { parse } from 'csv-parse/sync'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { createParquetWriter } from '../../src/export/writers/parquet-writer.ts'
import { createWorkbookWriter } from '../../src/export/writers/workbook-writer.ts'
import { encodeText } from '../../src/warehouse/escape.ts'
import { databases } from '../support/databases.ts'
import {
  createMemoryOutput,
  exportBytes,
  hostileTexts,
  openWorld,
  openWorlds,
  readWorkbook,
  stableColumns,
} from './export-world.ts'

test('SQLite and Postgres give the same bytes: tables and views, in every format', async () => {
  const warehouses = await openWorlds()
  for (const object of ['conversations', 'messages', 'visitors', 'report_numbers']) {
    const [first] = warehouses
    const columns = await stableColumns(first!, object)
    // No cell of a workbook holds the longest message.
    const workbook = object === 'messages' ? [] : (['xlsx'] as const)
    for (const format of ['csv', 'jsonl', 'parquet', ...workbook] as const) {
      const [sqlite, ...others] = await Promise.all(
        warehouses.map((warehouse) => exportBytes(warehouse, object, format, { columns })),
      )
      expect(sqlite!.length, `${object} ${format}`).toBeGreaterThan(100)
      for (const other of others) expect(other.equals(sqlite!), `${object} ${format}`).toBe(true)
    }
  }
})

const inAll: { readonly column: string; readonly value: string }[] = []

/** As the export has it: what a database cannot store is escaped as Postgres does. */
const exportedTexts = [...hostileTexts.map((text) => encodeText('postgres', text)), null]

for (const db of databases) {
  describe(db.name, () => {
    let warehouse: Warehouse
    beforeAll(async () => {
      warehouse = (await openWorld(db, afterAll)).warehouse
    })

    test('CSV is read back: every text, and null apart from the empty text', async () => {
      const bytes = await exportBytes(warehouse, 'messages', 'csv', {
        where: [{ column: 'conversation_id', value: 'c1' }],
      })
      const rows: Record<string, string | null>[] = parse(bytes, {
        columns: true,
        cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
      })
      expect(rows.map((row) => row.content)).toEqual(exportedTexts)
      expect(rows.map((row) => row.id)).toEqual(exportedTexts.map((_, n) => String(n + 1)))
      expect(rows[0]!.created_at).toBe('2026-01-01T00:00:00Z')
      expect(rows[0]!.deleted_at).toBe(null)
      expect(JSON.parse(rows[11]!.raw!).content).toBe('a NUL: \0.')
    })

    test('JSON Lines are read back, with all digits of an integer', async () => {
      const lines = (await exportBytes(warehouse, 'messages', 'jsonl'))
        .toString()
        .trimEnd()
        .split('\n')
      const rows = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      expect(rows.slice(0, -1).map((row) => row.content)).toEqual(exportedTexts)
      expect(lines.at(-1)).toContain('"id":9007199254740993,')
    })

    test('Parquet is read back: times, dates, 64-bit integers, numbers, booleans, JSON as text', async () => {
      const messages = await readParquet(await exportBytes(warehouse, 'messages', 'parquet'))
      expect(messages.map((row) => row.content)).toEqual([...exportedTexts, 'an id beyond 2^53'])
      expect(messages.at(-1)).toMatchObject({ id: 9_007_199_254_740_993n, deleted_at: null })
      expect(messages[1]!.created_at).toEqual(new Date('2026-01-01T01:00:00Z'))
      const [visitor, other] = await readParquet(
        await exportBytes(warehouse, 'visitors', 'parquet'),
      )
      expect(visitor).toMatchObject({
        plan__seats: 3n,
        plan__price: 9.5,
        plan__tags: '["b","a"]',
        since: new Date('2026-01-31T08:00:00Z'),
        vip: true,
      })
      expect(other).toMatchObject({ name: null, email: '', vip: null })
    })

    test('a workbook is read back: every text as text, real times, and all digits', async () => {
      const read = async (object: string, columns: readonly string[], where = inAll) =>
        (
          await readWorkbook(await exportBytes(warehouse, object, 'xlsx', { columns, where }))
        ).slice(1)
      const inSecond = [{ column: 'conversation_id', value: 'c2' }]
      expect(await read('messages', ['content', 'id', 'created_at'], inSecond)).toEqual([
        ['an id beyond 2^53', '9007199254740993', expect.any(Date)],
      ])
      await expect(read('messages', ['content'])).rejects.toThrow('content in row 19 has 500000')
      const fields = ['plan__seats', 'plan__price', 'plan__tags', 'since', 'vip', 'email']
      expect(await read('visitors', fields)).toEqual([
        [3, 9.5, '["b","a"]', new Date('2026-01-31T08:00:00Z'), true],
        [null, null, null, null, null, ''],
      ])
    })

    test('a view has the types of the columns that it shows', async () => {
      const bytes = await exportBytes(warehouse, 'report_numbers', 'parquet')
      const schema = parquetMetadata(toArrayBuffer(bytes)).schema.slice(1)
      expect(schema.map(({ name, type, converted_type }) => [name, type, converted_type])).toEqual([
        ['conversation_id', 'BYTE_ARRAY', 'UTF8'],
        ['created_at', 'INT64', 'TIMESTAMP_MILLIS'],
        ['messages', 'INT64', undefined],
        ['half', 'DOUBLE', undefined],
        ['label', 'BYTE_ARRAY', 'UTF8'],
      ])
    })
  })
}

test('CSV for spreadsheets has a byte order mark, and no text that would be executed', async () => {
  const { warehouse } = await openWorld(databases[0]!)
  const bytes = await exportBytes(warehouse, 'messages', 'csv', {
    forSpreadsheets: true,
    columns: ['id', 'content'],
  })
  expect(bytes.subarray(0, 3).toString('hex')).toBe('efbbbf')
  const rows: string[][] = parse(bytes, { bom: true })
  const cells = rows.map(([, content]) => content)
  expect(cells).toEqual(
    expect.arrayContaining(["'=1+2", "'+49 30 1234", "'-1", "'@SUM(A1)", "'\tindented", 'null']),
  )
  expect(cells.filter((cell) => /^[=+\-@\t]/.test(cell!))).toEqual([])
})

test('Parquet is written group by group, and every group is read back', async () => {
  const output = createMemoryOutput()
  const columns = [
    { name: 'id', type: 'integer' },
    { name: 'day', type: 'date' },
  ] as const
  const object = { name: 'numbers', kind: 'table', columns, key: ['id'] } as const
  const writer = createParquetWriter({ object, columns, conditions: [] }, output)
  const rows = Array.from(
    { length: 60_000 },
    (_, n) => [n, n % 2 === 0 ? '2026-01-31' : null] as const,
  )
  for (let from = 0; from < rows.length; from += 1000)
    await writer.write(rows.slice(from, from + 1000))
  expect(output.bytes().length).toBeGreaterThan(1000)
  await writer.end()
  const { row_groups, num_rows } = parquetMetadata(toArrayBuffer(output.bytes()))
  expect([num_rows, row_groups.map((group) => group.num_rows)]).toEqual([
    60_000n,
    [25_000n, 25_000n, 10_000n],
  ])
  const read = await readParquet(output.bytes())
  expect([read.length, read.at(-2)]).toEqual([60_000, { id: 59_998n, day: new Date('2026-01-31') }])
})

test('what exceeds a sheet of Excel is refused, and never cut', async () => {
  const writeRows = async (texts: readonly string[], maxRows = 1_048_576) => {
    const columns = [{ name: 'content', type: 'text' }] as const
    const output = createMemoryOutput()
    const writer = createWorkbookWriter('messages', columns, output, { maxRows })
    await writer.write(texts.map((text) => [text]))
    await writer.end()
    return readWorkbook(output.bytes())
  }
  const texts = exportedTexts.filter((text) => text !== null && text.length < 32_768)
  expect((await writeRows(texts as string[])).slice(1)).toEqual(texts.map((text) => [text]))
  const longest = 'x'.repeat(32_767)
  expect(await writeRows(['a', longest], 3)).toEqual([['content'], ['a'], [longest]])
  await expect(writeRows(['a', 'b', 'c'], 3)).rejects.toMatchObject({
    what: 'cannot export messages',
    why: 'it has more rows than a sheet of Excel can hold: 1,048,575 below the header',
    next: expect.stringContaining('--since'),
  })
  await expect(writeRows(['a', `${longest}x`])).rejects.toMatchObject({
    why: 'content in row 3 has 32768 characters, and a cell of Excel holds 32767',
    next: expect.stringContaining('--columns'),
  })
  const full = { write: () => Promise.reject(new Error('the disk is full')) }
  const writer = createWorkbookWriter('messages', [], full)
  await expect(writer.write([]).then(writer.end)).rejects.toThrow('the disk is full')
})

test('an object without rows is a file with its columns', async () => {
  const { warehouse } = await openWorld(databases[0]!)
  expect((await exportBytes(warehouse, 'calls', 'csv')).toString()).toMatch(/^project_id,.*\r\n$/)
  expect((await exportBytes(warehouse, 'calls', 'jsonl')).toString()).toBe('')
  expect(await readParquet(await exportBytes(warehouse, 'calls', 'parquet'))).toEqual([])
})

function readParquet(bytes: Buffer): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: toArrayBuffer(bytes) })
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}
