/**
 * Files of an export: complete or absent, never overwritten unasked, and readable from a read-only
 * folder.
 */
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { createOutputFile } from '../../src/export/output-file.ts'
import { databases } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { exportBytes, exportWith, openWorld } from './export-world.ts'

let warehouse: Warehouse
beforeAll(async () => {
  warehouse = (await openWorld(databases[0]!, afterAll)).warehouse
})

describe('files', () => {
  test('one object goes to a file, several go to files in a folder; missing folders are created', async () => {
    const folder = createTempFolder()
    const one = await exportWith(warehouse, {
      objects: ['visitors'],
      format: 'csv',
      target: join(folder, 'a/v.csv'),
    })
    expect(one.objects).toEqual([
      {
        object: 'visitors',
        kind: 'table',
        rows: 2,
        file: join(folder, 'a/v.csv'),
        bytes: expect.any(Number),
        timeColumn: null,
      },
    ])
    const limits = { since: '2026-01-01', objects: ['messages', 'report_numbers'] }
    const two = await exportWith(warehouse, {
      ...limits,
      format: 'parquet',
      target: `${folder}/b/`,
    })
    expect(two.objects.map(({ file, timeColumn }) => [file, timeColumn])).toEqual([
      [join(folder, 'b/messages.parquet'), 'created_at'],
      [join(folder, 'b/report_numbers.parquet'), 'created_at'],
    ])
    expect(readdirSync(join(folder, 'b'))).toEqual(['messages.parquet', 'report_numbers.parquet'])
    const file = Uint8Array.from(readFileSync(join(folder, 'b/messages.parquet'))).buffer
    expect(await parquetReadObjects({ file })).toHaveLength(two.objects[0]!.rows)
  })

  test('a file has what standard output would have', async () => {
    const path = join(createTempFolder(), 'messages.csv')
    const { objects } = await exportWith(warehouse, {
      objects: ['messages'],
      format: 'csv',
      target: path,
    })
    const bytes = await exportBytes(warehouse, 'messages', 'csv')
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(objects[0]!.bytes).toBe(bytes.length)
  })

  test('an existing file stays, unless it is to be overwritten; anything else always stays', async () => {
    const folder = createTempFolder()
    const target = join(folder, 'v.csv')
    writeFileSync(target, 'mine')
    const request = { objects: ['visitors'], format: 'csv', target } as const
    await expect(exportWith(warehouse, request)).rejects.toMatchObject({
      why: 'the file exists',
      exitCode: 2,
    })
    expect([readFileSync(target, 'utf8'), readdirSync(folder)]).toEqual(['mine', ['v.csv']])
    await exportWith(warehouse, { ...request, overwrite: true })
    expect(readFileSync(target, 'utf8')).toMatch(/^project_id,/)
    mkdirSync(join(folder, 'f.db'))
    const asFolder = {
      ...request,
      format: 'sqlite',
      target: join(folder, 'f.db'),
      overwrite: true,
    } as const
    await expect(exportWith(warehouse, asFolder)).rejects.toMatchObject({
      why: 'it exists and is not a file',
    })
  })

  test('a link stays, and leads to the file that was written', async () => {
    const folder = createTempFolder()
    writeFileSync(join(folder, 'real.csv'), 'mine')
    symlinkSync('real.csv', join(folder, 'link.csv'))
    const request = {
      objects: ['visitors'],
      format: 'csv',
      target: join(folder, 'link.csv'),
      overwrite: true,
    } as const
    await exportWith(warehouse, request)
    expect(readFileSync(join(folder, 'real.csv'), 'utf8')).toMatch(/^project_id,/)
    expect(lstatSync(join(folder, 'link.csv')).isSymbolicLink()).toBe(true)
  })

  test('what became a kept file, or began to exist, while it was written stays', async () => {
    const folder = createTempFolder()
    const kept = [{ path: join(folder, 'warehouse.db'), why: 'it is the warehouse' }]
    writeFileSync(join(folder, 'warehouse.db'), 'rows')
    const file = await createOutputFile(join(folder, 'a.csv'), { overwrite: true, kept })
    linkSync(join(folder, 'warehouse.db'), join(folder, 'a.csv'))
    await expect(file.publish()).rejects.toMatchObject({ why: 'it is the warehouse', exitCode: 2 })
    await file.discard()
    const other = await createOutputFile(join(folder, 'b.csv'), { overwrite: false, kept })
    writeFileSync(join(folder, 'b.csv'), 'mine')
    await expect(other.publish()).rejects.toMatchObject({ why: 'the file exists' })
    await other.discard()
    expect(readFileSync(join(folder, 'b.csv'), 'utf8')).toBe('mine')
    expect(readdirSync(folder)).toEqual(['a.csv', 'b.csv', 'warehouse.db'])
  })

  test('a failure, or an interruption, leaves no file', async () => {
    const folder = createTempFolder()
    const objects = ['conversations', 'messages']
    for (const format of ['csv', 'sqlite'] as const) {
      const target = format === 'csv' ? `${folder}/` : join(folder, 'layer.db')
      const request = { objects, format, target }
      await expect(exportWith(warehouse, request, AbortSignal.abort())).rejects.toMatchObject({
        exitCode: 1,
      })
      expect(readdirSync(folder)).toEqual([])
    }
  })
})

for (const db of databases) {
  describe(`a SQLite file from ${db.name}`, () => {
    test('is not written, and says why, of a table that SQLite cannot have', async () => {
      if (db.name === 'sqlite') return
      const { warehouse } = await openWorld(db)
      await warehouse.query('create view twice as select 1 as "a", 2 as "A"')
      const folder = createTempFolder()
      const request = { objects: ['twice'], target: join(folder, 'layer.db') }
      await expect(exportWith(warehouse, { ...request, format: 'sqlite' })).rejects.toMatchObject({
        what: 'cannot export twice',
        why: expect.stringContaining('duplicate column name'),
      })
      expect(readdirSync(folder)).toEqual([])
    })

    test('has tables and views as tables, with types, keys and the values of CSV; and needs no write access', async () => {
      const world = db.name === 'sqlite' ? warehouse : (await openWorld(db)).warehouse
      const folder = createTempFolder()
      const path = join(folder, 'layer.db')
      const objects = ['conversations', 'messages', 'report_numbers', 'visitors']
      await exportWith(world, { objects, format: 'sqlite', target: path })
      expect(readdirSync(folder)).toEqual(['layer.db'])
      expect(readFileSync(path).subarray(18, 20)).toEqual(Buffer.from([1, 1]))
      chmodSync(path, 0o400)
      chmodSync(folder, 0o500)
      const layer = new Database(path, { readonly: true })
      layer.defaultSafeIntegers(true)
      const types = layer
        .prepare(
          "select name, type, pk from pragma_table_info('messages') where name in ('id', 'created_at', 'content')",
        )
        .all()
      expect(types).toEqual([
        { name: 'id', type: 'INTEGER', pk: 3n },
        { name: 'content', type: 'TEXT', pk: 0n },
        { name: 'created_at', type: 'timestamp', pk: 0n },
      ])
      const ids = layer
        .prepare('select id from messages where content is not null order by conversation_id, id')
        .pluck()
        .all()
      expect([ids[0], ids.at(-1)]).toEqual([1n, 9_007_199_254_740_993n])
      expect(
        layer.prepare("select vip, since, plan__price from visitors where id = 'v1'").get(),
      ).toEqual({
        vip: 1n,
        since: '2026-01-31T08:00:00Z',
        plan__price: 9.5,
      })
      expect(
        layer.prepare('select half, label from report_numbers order by conversation_id').all(),
      ).toEqual([
        { half: null, label: 'open' },
        { half: 0.5, label: null },
      ])
      layer.close()
      chmodSync(folder, 0o700)
      expect(existsSync(`${path}-wal`)).toBe(false)
    })
  })
}
