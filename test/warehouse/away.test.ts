/** A database that does not answer when it is opened, but later. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { createTempFolder } from '../support/temp-folder.ts'

/** A SQLite file that another program has for itself until `unlock`. */
async function openLocked() {
  const path = join(createTempFolder(), 'desk.db')
  const other = new Database(path)
  other.pragma('journal_mode = wal')
  other.pragma('locking_mode = exclusive')
  other.exec('begin exclusive; create table taken (n); commit')
  const unlock = () => void other.close()
  onTestFinished(unlock)
  const warehouse = await openWarehouse(`sqlite:${path}`, { mayBeAway: true })
  onTestFinished(() => warehouse.close())
  return { path, warehouse, unlock }
}

test('a file that is locked when it is opened is used as soon as it is not, and stops nothing until then', async () => {
  const { warehouse, unlock } = await openLocked()
  for (let use = 0; use < 3; use++) await expect(warehouse.ping()).rejects.toMatchObject({ kind: 'unavailable' })
  expect(warehouse.isAway('')).toBe(true)
  unlock()
  await warehouse.ping()
  expect(warehouse.isAway('')).toBe(false)
  expect(await warehouse.listProjects()).toEqual([])
})

test('what was closed before it answered is not opened any more', async () => {
  const { warehouse, unlock } = await openLocked()
  await warehouse.close()
  unlock()
  await expect(warehouse.ping()).rejects.toThrow('closed')
  expect(warehouse.isAway('')).toBe(true)
})

test('what answers at last and cannot be used counts as away, so that other databases are still used', async () => {
  const { warehouse, unlock, path } = await openLocked()
  unlock()
  const newer = await openWarehouse(`sqlite:${path}`)
  await newer.query(`insert into sync_schema (name) values ('9999_later')`)
  await newer.close()
  const why = expect.stringContaining('9999_later')
  await expect(warehouse.ping()).rejects.toMatchObject({ kind: 'unavailable', why, exitCode: 2 })
})
