/** The triggers on write-backs use indexes, however large the mirror is. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { databases } from '../support/databases.ts'

const project = '4275aaa4-dbe0-4a36-ae44-c66fe62af552'
const target = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'

async function createDatabase(name: 'sqlite' | 'postgres') {
  const place = await databases.find((one) => one.name === name)!.make()
  onTestFinished(() => place.drop())
  return place
}

test('no trigger scans a table (sqlite)', async () => {
  const warehouse = await (await createDatabase('sqlite')).open()
  const triggers = await warehouse.query(
    `select name, sql from sqlite_master where type = 'trigger' and tbl_name in ('writebacks','writeback_events')`,
  )
  const statements = triggers.flatMap(({ name, sql }) =>
    String(sql)
      .replace(/^.*?\bbegin\b/is, '')
      .replace(/\bend$/i, '')
      .split(';')
      .filter((statement) => statement.trim() !== '' && !statement.includes('raise('))
      .map((statement) => ({ name, statement: statement.replace(/\b(new|old)\.\w+/g, "'x'") })),
  )
  expect(statements.length).toBeGreaterThan(4)
  for (const { name, statement } of statements) {
    const plan = await warehouse.query(`explain query plan ${statement}`)
    expect(
      plan.filter(({ detail }) => /^SCAN (?!CONSTANT|\(subquery)/.test(String(detail))),
      String(name),
    ).toEqual([])
  }
})

test('no trigger scans a table (postgres)', async () => {
  const place = await createDatabase('postgres')
  await place.open()
  const url = new URL(place.url!)
  const schema = url.searchParams.get('schema')
  url.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  onTestFinished(() => client.end())
  const plans: string[] = []
  client.on('notice', ({ message }) => void plans.push(message ?? ''))
  // Disables sequential scans, so that an index is used wherever one can be.
  await client.query(`load 'auto_explain'; set enable_seqscan = off; set plan_cache_mode = force_generic_plan; set auto_explain.log_level = 'notice';
    set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set search_path = ${schema}`)
  const insert = (columns: string, values: string) =>
    client.query(`insert into writebacks (operation, ${columns}) values ${values}`)
  for (const own of [project, '']) {
    await insert(
      'project_id, conversation_id, payload',
      `('handled', '${own}', '${target}', '{"handled": true}')`,
    )
    await insert(
      'project_id, visitor_id, payload',
      `('note', '${own}', '${target}', '{"content": "x"}')`,
    )
  }
  await client.query(`update writebacks set project_id = '${project}' where project_id = ''`)
  await client.query(`update writebacks set status = 'cancelled' where project_id = '${project}'`)
  const lookups = plans.filter((plan) => plan.includes('mirrored.id = new'))
  expect(lookups.length).toBeGreaterThan(3)
  for (const plan of lookups)
    expect(plan).toMatch(
      /conversations_pkey on conversations .*\n\s*Index Cond: \(ROW\(project_id, id\) >=/,
    )
  expect(plans.join()).not.toMatch(
    /Index Scan using (?!conversations_pkey|visitors_pkey|writebacks_)/,
  )
  expect(plans.filter((plan) => plan.includes('Seq Scan'))).toEqual([])
})

const mirrored = (warehouse: Warehouse, own: string, name: string) =>
  warehouse.query(`insert into visitors (project_id, id, raw, synced_at, asked_at, name)
    values ('${own}', '${target}', '{}', '2026-01-01T00:00:00Z', 1, '${name}')`)
const snapshotOf = async (warehouse: Warehouse) =>
  (await warehouse.query('select target_snapshot from writebacks'))[0]!.target_snapshot
const note = (warehouse: Warehouse, own: string) =>
  warehouse.query(`insert into writebacks (project_id, operation, visitor_id, payload)
    values ('${own}', 'note', '${target}', '{"content": "x"}')`)

for (const database of ['sqlite', 'postgres'] as const) {
  test(`a row stores the mirror's view of the target, of its project or of the only one (${database})`, async () => {
    for (const own of [project, '']) {
      const warehouse = await (await createDatabase(database)).open()
      await mirrored(warehouse, project, 'Ada')
      await note(warehouse, own)
      expect(await snapshotOf(warehouse)).toMatch(/"Ada"/)
    }
  })

  test(`with several projects, the view is stored when the row gets its project (${database})`, async () => {
    const warehouse = await (await createDatabase(database)).open()
    await warehouse.query(`insert into visitors (project_id, id, raw, synced_at, asked_at)
      values ('11111111-1111-4111-8111-111111111111', 'v', '{}', '2026-01-01T00:00:00Z', 1)`)
    await mirrored(warehouse, project, 'Ada')
    await note(warehouse, '')
    expect(await snapshotOf(warehouse)).toBeNull()
    await warehouse.query(`update writebacks set project_id = '${project}'`)
    expect(await snapshotOf(warehouse)).toMatch(/"Ada"/)
  })
}

test('columns that only deskmirror may set are ignored on insert (sqlite)', async () => {
  const warehouse = await (await createDatabase('sqlite')).open()
  await warehouse.query(`insert into writebacks (operation, visitor_id, payload, attempts, fencing_token, owner, message_id, evidence)
    values ('note', '${target}', '{"content": "x"}', 7, 9223372036854775807, 'me', '4711', '{}')`)
  expect(
    await warehouse.query(
      'select attempts, fencing_token, owner, message_id, evidence from writebacks',
    ),
  ).toEqual([{ attempts: 0, fencing_token: 0, owner: null, message_id: null, evidence: null }])
})
