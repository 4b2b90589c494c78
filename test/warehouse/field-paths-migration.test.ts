/** Upgrading a warehouse in which a field whose name has a dot has the path of a nested one. */

import { expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { databases } from '../support/databases.ts'
import { openWithout } from './older-warehouse.ts'
import { commit, visitor } from './row-fixtures.ts'

test.for(databases)('each field keeps its column — $name', async (db) => {
  const { database, query, close } = await openWithout(db, ['0034_field_paths'])
  const fields = { 'utm.source': 'name', geo: { city: 'Oslo' }, custom: { 'plan.name': 'pro' } }
  for (const [column, path] of [
    ['utm__source', 'utm.source'],
    ['geo__city', 'geo.city'],
    ['custom__plan__name', 'custom.plan.name'],
  ]) {
    await query(`alter table visitors add column ${column} text`)
    await query(`insert into discovered_fields (project_id, stream, path, column_name, type, first_seen_at)
      values ('main', 'visitors', '${path}', '${column}', 'text', '2026-01-01T00:00:00Z')`)
  }
  await query(`insert into visitors (project_id, id, raw, asked_at, synced_at, utm__source, geo__city, custom__plan__name)
    values ('main', 'v0', '${JSON.stringify(fields)}', 1, '2026-09-01T00:00:00Z', 'name', 'Oslo', 'pro')`)
  await close()
  const warehouse = await openWarehouse(database.url!)
  await openMirror(warehouse, 'main').commit(commit('visitors', [visitor('v1', fields)]))
  await openMirror(warehouse, 'main').commit(commit('visitors', [visitor('v2', { utm: { source: 'nested' } })]))
  expect(
    await warehouse.query('select id, utm__source, geo__city, custom__plan__name from visitors order by id'),
  ).toEqual([
    { id: 'v0', utm__source: 'name', geo__city: 'Oslo', custom__plan__name: 'pro' },
    { id: 'v1', utm__source: 'name', geo__city: 'Oslo', custom__plan__name: 'pro' },
    { id: 'v2', utm__source: null, geo__city: null, custom__plan__name: null },
  ])
  await warehouse.close()
})
