/**
 * A lake as others read it: by DuckDB, cell by cell as the tables. It has 70 MB, so only this test
 * installs it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { type LakeObject, readManifest } from '../../src/export/lake/manifest.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { toCanonicalJson } from '../../src/values/json.ts'
import { decodeJson, encodeText } from '../../src/warehouse/escape.ts'
import { runDeskmirror } from '../cli/run-process.ts'
import { openWorld } from '../export/export-world.ts'
import { syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { npmInstall } from '../support/install-package.ts'
import { createTempFolder } from '../support/temp-folder.ts'

type DuckRow = Readonly<Record<string, string | number | boolean | null>>
let query: (sql: string) => Promise<readonly DuckRow[]>

beforeAll(async () => {
  const folder = createTempFolder((remove) => onRemoved.push(remove))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  await npmInstall(folder, '--ignore-scripts', '@duckdb/node-api@1.5.6-r.1')
  const main = join(folder, 'node_modules/@duckdb/node-api/lib/index.js')
  const { DuckDBInstance } = await import(pathToFileURL(main).href)
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  query = async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
  return () => {
    connection.closeSync()
    for (const remove of onRemoved) remove()
  }
}, 300_000)
const onRemoved: (() => void)[] = []

/** How DuckDB is asked for a column, so that no digit is lost on the way. */
const selected = ({ name, type }: LakeObject['columns'][number]) => {
  const column = `"${name.replaceAll('"', '""')}"`
  const asText = { integer: 'varchar', date: 'varchar', time: 'epoch' } as const
  if (type === 'time') return `epoch(${column}) as ${column}`
  return type in asText ? `cast(${column} as varchar) as ${column}` : column
}

/** The value of the table as DuckDB is expected to show it. */
function expectedCell(kind: Warehouse['kind'], type: string, value: unknown): unknown {
  if (value === null) return null
  switch (type) {
    case 'text':
      // Only SQLite can hold a NUL.
      return String(value).replaceAll('\0', encodeText('postgres', '\0'))
    case 'json':
      return toCanonicalJson(decodeJson(kind, String(value)))
    case 'integer':
    case 'date':
      return String(value)
    case 'time':
      return Date.parse(String(value)) / 1000
    case 'boolean':
      return Boolean(value)
    default:
      return Number(value)
  }
}

/** Counted anew by each reading. */
const ofNow = ['seconds_ago', 'age_seconds', 'waiting_seconds', 'business_waiting_seconds']

const byText = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()

for (const db of databases)
  test(`DuckDB reads every cell of a lake as the tables have it — ${db.name}`, async () => {
    const { warehouse, database } = await openWorld(db)
    const sandbox = await startSandbox({ seed: 7, switches: { 'rate.kind': 'off' } })
    onTestFinished(() => sandbox.stop())
    await syncOnce(database.url!, sandbox)
    const cwd = createTempFolder()
    const env = { DESKMIRROR_DATABASE_URL: database.url! }
    const write = (...objects: readonly string[]) =>
      runDeskmirror(['export', '--lake', 'lake', '--quiet', ...objects], { cwd, env })
    expect(await write()).toMatchObject({ exit: 0 })
    expect(await write('fct_*', 'dim_*', 'report_*')).toMatchObject({ exit: 0 })
    const { objects } = readManifest(join(cwd, 'lake'))!
    expect(objects.length).toBeGreaterThan(25)
    let cells = 0
    for (const { object, columns: all, partitions } of objects) {
      const columns = all.filter(({ name }) => !ofNow.includes(name))
      const files = partitions.map(({ current }) => `'${join(cwd, 'lake', current)}'`)
      const rows = await query(
        `select ${columns.map(selected)} from read_parquet([${files}], hive_partitioning = false)`,
      )
      const stored = await warehouse.query(`select * from "${object}"`)
      const expected = stored.map((row) =>
        Object.fromEntries(
          columns.map(({ name, type }) => [name, expectedCell(warehouse.kind, type, row[name])]),
        ),
      )
      const found = byText(rows)
      // The first row is enough of a message.
      const at = byText(expected).findIndex((row, n) => row !== found[n])
      expect([object, found[at], rows.length]).toEqual([
        object,
        byText(expected)[at],
        stored.length,
      ])
      cells += rows.length * columns.length
    }
    expect(cells).toBeGreaterThan(10_000)
    // As docs/analytics.md says.
    const months = await query(`select month, count(*)::int as n
      from read_parquet('${cwd}/lake/messages/*/*.parquet') group by 1 order by 1`)
    const sum = months.reduce((total, { n }) => total + Number(n), 0)
    const [counted] = await warehouse.query('select count(*) as n from messages')
    expect([months.length > 1, sum]).toEqual([true, Number(counted?.n)])
  })
