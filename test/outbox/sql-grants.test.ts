/** What a Postgres role with the privilege to queue write-backs can and cannot do. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { databases } from '../support/databases.ts'

const project = '4275aaa4-dbe0-4a36-ae44-c66fe62af552'
const conversation = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
const docs = readFileSync(new URL('../../docs/write-backs.md', import.meta.url), 'utf8')

type RoleSession = {
  readonly schema: string
  readonly role: string
  /** Runs as the role. */
  readonly run: (text: string) => Promise<Record<string, unknown>[]>
  /** Runs as the owner of the warehouse. */
  readonly own: (text: string) => Promise<Record<string, unknown>[]>
}

/** A warehouse, and a role with the given grants. */
async function connectRole(grants: (schema: string, role: string) => string): Promise<RoleSession> {
  const place = await databases.find(({ name }) => name === 'postgres')!.makeEmpty()
  onTestFinished(() => place.drop())
  const url = new URL(place.url!)
  const name = `O'Hara "desk" ${randomUUID()}`
  const schema = `"${name.replaceAll('"', '""')}"`
  url.searchParams.set('schema', name)
  const plain = new URL(url)
  plain.searchParams.delete('schema')
  const [client, owner] = [
    new pg.Client({ connectionString: plain.href }),
    new pg.Client({ connectionString: plain.href }),
  ]
  await Promise.all([client.connect(), owner.connect()])
  await owner.query(`create schema ${schema}`)
  const warehouse = await openWarehouse(url.href)
  const role = `tool_${randomUUID().replaceAll('-', '')}`
  await owner.query(`create role ${role}; ${grants(schema, role)}`)
  await client.query(`set role ${role}`)
  onTestFinished(async () => {
    await client.end()
    await warehouse.close()
    await owner.query(`drop owned by ${role}; drop role ${role}; drop schema ${schema} cascade`)
    await owner.end()
  })
  const rows = (of: pg.Client) => async (text: string) => {
    const done: pg.QueryResult | pg.QueryResult[] = await of.query(text)
    return (Array.isArray(done) ? done.at(-1) : done).rows
  }
  return { schema, role, run: rows(client), own: rows(owner) }
}

const documented = (schema: string, role: string) => {
  const block = docs.match(/```sql\n(grant usage on schema public.*?)```/s)?.[1] ?? ''
  return block
    .replaceAll('public', schema)
    .replaceAll('bi_tool', role)
    .replaceAll('on writebacks', `on ${schema}.writebacks`)
}
const wholeTableGrant = (schema: string, role: string) =>
  `grant usage on schema ${schema} to ${role}; grant insert on ${schema}.writebacks to ${role}`

const insertOne = ({ schema }: RoleSession, columns = '', values = '') =>
  `insert into ${schema}.writebacks (project_id, operation, conversation_id, payload${columns})
    values ('${project}', 'handled', '${conversation}', '{"handled": true}'${values})`

for (const [name, grants] of [
  ['the documented privileges', documented],
  ['the insert privilege on the whole table', wholeTableGrant],
] as const) {
  test(`no code of a role with ${name} runs as the owner`, async () => {
    const t = await connectRole(grants)
    await t.run(`create temp table ran_as (who text);
      grant all on ran_as to public;
      create function pg_temp.mine() returns trigger language plpgsql as $$
        begin insert into pg_temp.ran_as values (current_user); return new; end $$;
      create function pg_temp.lower(text) returns text language plpgsql as $$
        begin insert into pg_temp.ran_as values (current_user); return $1; end $$;
      create function pg_temp.jsonb_build_object(text, text) returns jsonb language plpgsql as $$
        begin insert into pg_temp.ran_as values (current_user); return '{}'; end $$;
      create function pg_temp.same(text, text) returns boolean language plpgsql as $$
        begin insert into pg_temp.ran_as values (current_user); return true; end $$;
      create operator pg_temp.= (leftarg = text, rightarg = text, function = pg_temp.same);
      create temp sequence writebacks_seq;
      create temp table writeback_events (project_id text, writeback_id text, from_status text, to_status text,
        detail text, request_id text);
      create trigger mine before insert on writeback_events for each row execute function pg_temp.mine();
      create temp view conversations as select '${project}'::text as project_id, '${conversation}'::text as id,
        null::timestamptz as deleted_at, now() as last_message_at, pg_temp.lower('x') as name, null as email;
      create temp view visitors as select * from conversations`)
    await t.run(insertOne(t))
    expect(await t.run('select distinct who from ran_as')).toEqual([])
    expect(await t.run('select * from pg_temp.writeback_events')).toEqual([])
    expect(await t.own(`select to_status from ${t.schema}.writeback_events`)).toEqual([
      { to_status: 'queued' },
    ])
    expect(await t.own(`select seq::int, target_snapshot from ${t.schema}.writebacks`)).toEqual([
      { seq: 1, target_snapshot: null },
    ])
  })

  test(`a role with ${name} cannot use the trigger functions for its own tables`, async () => {
    const t = await connectRole(grants)
    const functions = await t.own(
      `select proname from pg_proc where pronamespace = '${t.schema.replaceAll("'", "''")}'::regnamespace`,
    )
    expect(functions.length).toBeGreaterThan(5)
    for (const { proname } of functions) {
      await t.run(
        'drop table if exists mine; create temp table mine (like pg_catalog.pg_description)',
      )
      const create = `create trigger mine before insert on mine for each row execute function ${t.schema}.${proname}()`
      await expect(t.run(create)).rejects.toThrow(/permission denied/)
    }
  })

  test(`a role with ${name} cannot read, update or delete`, async () => {
    const t = await connectRole(grants)
    await t.run(insertOne(t))
    for (const statement of [
      `select target_snapshot from ${t.schema}.writebacks`,
      `select * from ${t.schema}.writeback_events`,
      `update ${t.schema}.writebacks set status = 'queued'`,
      `delete from ${t.schema}.writebacks`,
      `select nextval('${t.schema.replaceAll("'", "''")}.writebacks_seq')`,
      `insert into ${t.schema}.writeback_events (project_id, writeback_id, to_status) values ('x', 'x', 'queued')`,
    ])
      await expect(t.run(statement), statement).rejects.toThrow(/permission denied/)
  })
}

test('an insert cannot set columns that only deskmirror may set, or impersonate another user', async () => {
  const t = await connectRole(wholeTableGrant)
  await t.run(
    insertOne(
      t,
      ', attempts, fencing_token, owner, lease_until, message_id, evidence, seq, lane, target_snapshot, finished_at, created_by',
      `, 7, 9223372036854775807, 'me', 9, '4711', '{"sender":"silent"}', -1, 'x', '{}', now(), 'ann'`,
    ),
  )
  expect(
    await t.own(`select attempts::int, fencing_token::int, owner, lease_until, message_id, evidence, seq::int, lane, target_snapshot, finished_at,
      created_by from ${t.schema}.writebacks`),
  ).toEqual([
    {
      attempts: 0,
      fencing_token: 0,
      owner: null,
      lease_until: null,
      message_id: null,
      evidence: null,
      seq: 1,
      target_snapshot: null,
      lane: `conversation/${conversation}`,
      finished_at: null,
      created_by: `ann via ${t.role}`,
    },
  ])
  await expect(t.run(insertOne(t, ', status', `, 'succeeded'`))).rejects.toThrow(
    /begins as queued or as draft/,
  )
})

test('the event log cannot be truncated, even by its owner', async () => {
  const t = await connectRole(documented)
  await t.run(insertOne(t))
  await expect(t.own(`truncate ${t.schema}.writeback_events`)).rejects.toThrow(/only ever added to/)
})
