/** A person who is erased is nowhere in the warehouse, and no sync brings them back. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { tables } from '../../schema/tables.ts'
import { searchWarehouse } from '../../src/maintenance/search-remains.ts'
import { createAuditStore } from '../../src/mirror/sql/audits.ts'
import { createAuditLog } from '../../src/warehouse/audit-log.ts'
import { parseDatabaseUrl } from '../../src/warehouse/location.ts'
import { inSnapshot } from '../../src/warehouse/transactions.ts'
import type { OutboxFixture } from '../outbox/outbox-fixture.ts'
import { sampled, sampledTest } from '../support/sampled.ts'
import { by, mirrorOnePerson } from './one-person.ts'

const modes = ['incremental', 'reconcile', 'full'] as const

const auditCounts = {
  population: 4,
  drawn: 4,
  compared: 4,
  differing: 1,
  corrected: 1,
  gone: 0,
  unreadable: 0,
  requests: 8,
  tookMs: 1,
}

/** Every table of the warehouse that names one of these, other than the list of what was erased. */
async function findMentions(
  { warehouse }: Pick<OutboxFixture, 'warehouse'>,
  texts: readonly string[],
) {
  const found: string[] = []
  for (const table of Object.keys(tables).filter((name) => name !== 'erased_ids')) {
    const stored = JSON.stringify(await warehouse.query(`select * from ${table}`)).toLowerCase()
    found.push(
      ...texts
        .filter((text) => stored.includes(text.toLowerCase()))
        .map((text) => `${table}: ${text}`),
    )
  }
  return found
}

for (const database of ['sqlite', 'postgres'] as const) {
  describe(`erasing a visitor (${database})`, () => {
    // What both do by the same SQL runs here on SQLite, which takes a fifth of the time.
    const [isOnSqlite, isOnPostgres] = [database === 'sqlite', database === 'postgres']

    sampledTest(isOnSqlite, 'first shows what would go, and changes nothing', async () => {
      const fixture = await mirrorOnePerson(database)
      const { erase, own, warehouse } = fixture
      const { rows } = await erase(true)
      expect(rows).toMatchObject({ visitors: 1, visitor_activity: 3, conversations: own.length })
      expect(await warehouse.query('select * from erased_ids')).toEqual([])
      await expect(erase(true, '11111111-1111-4111-8111-111111111111')).rejects.toThrow(
        /nothing is stored of the visitor/,
      )
    })

    sampledTest(
      isOnPostgres,
      'leaves no word and no id of them, in no table, and no sync brings them back',
      async () => {
        const fixture = await mirrorOnePerson(database)
        const {
          erase,
          own,
          visitor,
          queue,
          push,
          sync,
          person,
          words,
          warehouse,
          instance,
          visitors,
          verify,
          sandbox,
        } = fixture
        await queue(
          { operation: 'note', visitor_id: visitor, content: 'Secret note.', ref: 'note-1' },
          {
            operation: 'message',
            conversation_id: own[0],
            content: 'Secret reply.',
            sender_name: 'Ann',
          },
          {
            operation: 'note',
            visitor_id: visitors().find((id) => id !== visitor),
            content: 'Another person.',
          },
        )
        await push()
        await queue({ operation: 'visitor', visitor_id: visitor, name: 'Secret name' })
        await warehouse.query(
          `update writebacks set found_by = 'Secret address' where visitor_id = '${visitor}'`,
        )
        const audit = {
          ...auditCounts,
          stream: 'visitors',
          startedAt: '2026-01-01T00:00:00Z',
        } as const
        const difference = {
          stream: 'visitors',
          key: visitor,
          kind: 'different',
          fields: [],
          storedHash: 'a',
        } as const
        await createAuditStore(warehouse.projectDb(sandbox.projectId)).add(
          audit,
          [difference],
          Date.now(),
        )
        const secrets = ['note', 'reply', 'name', 'address'].map((what) => `secret ${what}`)
        // As earlier versions wrote it.
        await warehouse.query(`insert into service_behaviours (project_id, name, value, evidence, learned_at)
          values ('${sandbox.projectId}', 'visitors.undated', 'listed', 'the row ${visitor} has no createdAt', '2026-01-01T00:00:00Z')`)
        const texts = [visitor, ...own, ...words, String(person.email), ...secrets]
        expect(await findMentions(fixture, texts)).not.toEqual([])
        const { rows } = await erase(false)
        expect(rows).toMatchObject({ visitors: 1, conversations: own.length, writebacks: 3 })
        expect(await findMentions(fixture, texts)).toEqual([])
        expect(await warehouse.query('select differing from sync_audits')).toEqual([
          { differing: 1 },
        ])
        for (const mode of modes) expect(await sync(mode)).toMatchObject({ outcome: 'complete' })
        expect(await findMentions(fixture, texts)).toEqual([])
        // The same file again sends nothing twice.
        await queue({
          operation: 'note',
          visitor_id: visitors()[0],
          content: 'Once more.',
          ref: 'note-1',
        })
        expect(await push()).toMatchObject({ settled: {} })
        const verified = await verify()
        expect(verified.differences).toEqual([])
        const kept = await warehouse.query('select status, payload from writebacks order by seq')
        expect(kept.map(({ status }) => status)).toEqual([
          'succeeded',
          'succeeded',
          'succeeded',
          'cancelled',
        ])
        expect(JSON.stringify(kept)).toContain('Another person.')
        const [event] = await createAuditLog(warehouse.db).list(null, 1)
        expect(event).toMatchObject({ person: by, action: 'visitor_erased', subject: null })
        if (database === 'postgres') return
        await warehouse.query('vacuum')
        await warehouse.query('pragma wal_checkpoint(truncate)')
        const file = readFileSync(instance.url!.slice('sqlite:'.length), 'latin1')
        expect(
          ['Secret note.', 'Secret reply.', words[0]!].filter((text) => file.includes(text)),
        ).toEqual([])
      },
    )

    sampledTest(
      isOnSqlite,
      'takes their former versions, and looks for what they were called before',
      async () => {
        const fixture = await mirrorOnePerson(database)
        const { erase, sync, visitor, own, person, warehouse, visitors, sandbox } = fixture
        const other = visitors().find((id) => id !== visitor)!
        // As a text of anyone it would be too short to be looked for.
        sandbox.mutate.renameVisitor(visitor, 'Jo Smith', String(person.email))
        await sync('full')
        sandbox.mutate.renameVisitor(visitor, 'Another Name of Theirs', 'another@example.org')
        sandbox.mutate.renameVisitor(other, 'Another Person', null)
        sandbox.mutate.setHandled(own[0]!, true)
        await sync('full')
        const former = [String(person.email), String(person.name), visitor]
        expect(await findMentions(fixture, former)).toEqual(
          expect.arrayContaining(former.map((text) => `visitors_history: ${text}`)),
        )
        await warehouse.query(`create table own_copy as select name from visitors_history
        where name = 'Jo Smith'`)
        const { rows, search } = await erase(false)
        expect(rows).toMatchObject({ visitors_history: 2, conversations_history: 1 })
        expect(search!.remains).toMatchObject([{ place: 'own_copy.name' }])
        expect(await findMentions(fixture, former)).toEqual([])
        expect(await warehouse.query('select id from visitors_history')).toEqual([{ id: other }])
        // Not even by plain SQL.
        await warehouse.query(`insert into visitors_history
        (project_id, id, valid_from, valid_to, raw, synced_at) values ('${sandbox.projectId}',
        '${visitor}', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '{}', '2026-01-01T00:00:00Z')`)
        for (const mode of ['incremental', 'full'] as const) await sync(mode)
        expect(await findMentions(fixture, former)).toEqual([])
      },
    )

    sampledTest(isOnSqlite, 'is refused while a write-back to them may be arriving', async () => {
      const { erase, queue, visitor, warehouse } = await mirrorOnePerson(database)
      await queue({ operation: 'note', visitor_id: visitor, content: 'Called.' })
      await warehouse.query(`update writebacks set status = 'uncertain'`)
      await expect(erase(false)).rejects.toThrow(/may or may not have arrived/)
      expect(await warehouse.query('select * from erased_ids')).toEqual([])
    })

    for (const [where, options] of [
      ['the field that a setting names', { calls: 'caller', field: 'caller.ref' }],
      ['any field, if it is a UUID', { calls: 'nested' }],
      ['the field that views try', { calls: 'plain' }],
    ] as const)
      sampledTest(
        options.calls === 'nested' ? isOnPostgres : isOnSqlite,
        `takes the calls whose visitor stands in ${where}, and no sync brings one back`,
        async () => {
          const { erase, sync, verify, visitor, sandbox, warehouse } = await mirrorOnePerson(
            database,
            options,
          )
          sandbox.mutate.addCall(visitor)
          await sync('incremental')
          const ofVisitor = `lower(cast(raw as text)) like '%${visitor.toLowerCase()}%'`
          const count = async () =>
            (await warehouse.query(`select id from calls where ${ofVisitor}`)).length
          const before = await count()
          expect(before).toBeGreaterThan(0)
          expect((await erase(true)).rows.calls).toBe(before)
          const { rows, search } = await erase(false)
          expect([rows.calls, await count(), search?.remains]).toEqual([before, 0, []])
          // Neither these nor new ones.
          sandbox.mutate.addCall(visitor)
          sandbox.mutate.addConversation(visitor, 'Hello, it is me once more.')
          for (const mode of sampled(modes, (one) => one === 'full')) await sync(mode)
          expect([await count(), (await verify()).differences]).toEqual([0, []])
          expect(
            await warehouse.query(
              `select 1 from message_rows where content = 'Hello, it is me once more.'`,
            ),
          ).toEqual([])
        },
      )

    sampledTest(
      isOnSqlite,
      'takes a short id only from fields that are the visitor, and refuses it there',
      async () => {
        const { erase, sandbox, warehouse } = await mirrorOnePerson(database, {
          field: 'caller.ref',
        })
        const insertCall = (id: string, raw: string) =>
          warehouse.query(`insert into calls (project_id, id, raw, synced_at, run_id, asked_at)
          values ('${sandbox.projectId}', '${id}', '${raw}', '2026-01-01T00:00:00Z', 'r', 0)`)
        const visitorRow = `'${sandbox.projectId}', 'v7', '{"id":"v7"}', '2026-01-01T00:00:00Z', 'r', 0`
        await warehouse.query(
          `insert into visitors (project_id, id, raw, synced_at, run_id, asked_at) values (${visitorRow})`,
        )
        await insertCall('k1', '{"id":"k1","caller":{"ref":"V7"}}')
        await insertCall('k2', '{"id":"k2","room":"v7"}')
        expect((await erase(false, 'v7')).rows).toEqual({ visitors: 1, calls: 1 })
        await insertCall('k3', '{"id":"k3","caller":{"ref":"V7"}}')
        await insertCall('k4', '{"id":"k4","room":"v7"}')
        const left = await warehouse.query(
          `select id from calls where id in ('k1', 'k2', 'k3', 'k4') order by id`,
        )
        expect(left.map(({ id }) => id)).toEqual(['k2', 'k4'])
      },
    )

    sampledTest(
      isOnPostgres,
      'says where else their address stands, never the address, and nothing of a short name',
      async () => {
        const { erase, person, visitor, warehouse, visitors, sync, sandbox } =
          await mirrorOnePerson(database)
        const other = visitors().find((id) => id !== visitor)!
        sandbox.mutate.renameVisitor(visitor, 'Al', 'jo@example.com')
        sandbox.mutate.renameVisitor(other, 'Alan Alder', 'mojo@example.com')
        await sync('full')
        expect(person.email).not.toBe('jo@example.com')
        await warehouse.query(`create table own_copy as select id, email, raw from visitors`)
        await warehouse.query(
          `create view vip as select id from visitors where email = 'jo@example.com'`,
        )
        await warehouse.query(`insert into service_behaviours (project_id, name, value, evidence, learned_at)
        values ('p', 'n', 'v', 'as jo@example.com shows', '2026-01-01T00:00:00Z')`)
        if (database === 'postgres')
          await warehouse.query('create materialized view own_view as select email from visitors')
        const { search } = await erase(false)
        const commands = Object.fromEntries(
          search!.remains.map(({ place, command }) => [place, command]),
        )
        const files =
          database === 'sqlite' ? {} : { 'own_view.email': 'refresh materialized view own_view' }
        expect(commands).toEqual({
          'own_copy.id': null,
          'own_copy.email': null,
          'own_copy.raw': null,
          'service_behaviours.evidence': null,
          'definition of vip': 'drop view vip',
          ...files,
        })
        expect(JSON.stringify(search)).not.toContain('jo@')
        expect(search!.elsewhere[0]).toContain('backups')
      },
    )
  })
}

test('of an erased visitor Postgres keeps nothing in statistics, indexes or files of tables', async () => {
  const { erase, person, visitor, warehouse, visitors } = await mirrorOnePerson('postgres', {
    visitors: 2,
  })
  await warehouse.query('create index own_index on visitors (lower(email), name)')
  await warehouse.query('create index own_rows on visitors (lower(cast(raw as text)))')
  await warehouse.query('create statistics own_statistics (mcv) on name, email from visitors')
  await warehouse.query('analyze')
  const kept = async () => {
    const found =
      await warehouse.query(`select cast(s as text) as t from pg_stats s where schemaname = current_schema()
      and tablename <> 'erased_ids' union all select cast(s as text) from pg_stats_ext s`)
    const all = JSON.stringify(found).toLowerCase()
    return [person.email, person.name, visitor].filter((value) =>
      all.includes(String(value).toLowerCase()),
    )
  }
  expect(await kept()).not.toEqual([])
  const file = async () =>
    (await warehouse.query(`select pg_relation_filenode('visitors') as file`))[0]!.file
  const before = await file()
  const { search } = await erase(false)
  expect([await kept(), search!.remains, (await file()) !== before]).toEqual([[], [], true])
  // The last visitor: of an empty table, `analyze` alone would change nothing.
  for (const id of visitors().filter((one) => one !== visitor))
    expect((await erase(false, id)).search!.remains).toEqual([])
  expect(await warehouse.query('select 1 from visitors')).toEqual([])
  const emails = await warehouse.query(`select most_common_vals, histogram_bounds from pg_stats
    where schemaname = current_schema() and tablename = 'visitors' and attname = 'email'`)
  expect(JSON.stringify(emails)).not.toContain('@')
  expect(search!.elsewhere.join()).toMatch(/backups.*write-ahead log.*pg_statistic/)
})

test('statistics of a partial index without rows, and copies elsewhere, are named with what removes them', async () => {
  const { erase, own, warehouse } = await mirrorOnePerson('postgres')
  const isOwn = `conversation_id = '${own[0]}'`
  await warehouse.query(`insert into message_rows (project_id, conversation_id, id, content, synced_at, asked_at)
    select project_id, conversation_id, 900000 + n, 'A secret of theirs, number ' || n, synced_at, 0
    from message_rows, generate_series(1, 20) as n where ${isOwn} and id = (select min(id) from message_rows where ${isOwn})`)
  await warehouse.query(`create index own_partial on message_rows (lower(content)) where ${isOwn}`)
  await warehouse.query('create publication own_publication for table visitors')
  await warehouse.query('analyze message_rows')
  const { search } = await erase(false)
  expect(search!.remains.map(({ place, command }) => [place, command])).toEqual([
    ['definition of own_partial', 'drop index own_partial'],
    ['statistics of own_partial.lower', 'drop index own_partial, and create it again'],
  ])
  expect(search!.elsewhere.join()).toContain('subscribers of 1 publication')
})

test('while an older transaction is open, deleted rows stay in the files of Postgres, and it is said', async () => {
  const { erase, instance, visitor } = await mirrorOnePerson('postgres')
  const reader = await instance.open()
  const { promise, resolve } = Promise.withResolvers<void>()
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>()
  const reading = inSnapshot(reader.db, 'postgres', async (read) => {
    await read(sql`select count(*) from visitors`)
    opened()
    await promise
  })
  await isOpen
  const { search } = await erase(false, visitor, 1).finally(resolve)
  await reading
  expect(search!.remains).toEqual([
    expect.objectContaining({
      values: null,
      command: expect.stringMatching(/^vacuum full .*visitors/),
    }),
  ])
})

test('while another process reads a SQLite file, its log keeps what was erased, and it is said', async () => {
  const { erase, instance, person, queue, visitor } = await mirrorOnePerson('sqlite')
  await queue({ operation: 'note', visitor_id: visitor, content: 'A secret note of theirs.' })
  const path = instance.url.slice('sqlite:'.length)
  const reader = new Sqlite(path, { readonly: true })
  const secrets = ['A secret note of theirs.', String(person.email)]
  const contentOf = (file: string) => (existsSync(file) ? readFileSync(file, 'latin1') : '')
  const inFiles = () =>
    secrets.filter((text) => [path, `${path}-wal`].some((file) => contentOf(file).includes(text)))
  reader.exec('begin')
  reader.prepare('select count(*) from visitors').get()
  writeFileSync(`${path}.bak`, readFileSync(`${path}-wal`))
  const { search } = await erase(false)
  const named = search!.remains.map(({ place, values }) => [place, values! > 0])
  expect(named).toContainEqual(['main.db-wal', true])
  expect(named).toContainEqual(['main.db.bak', true])
  expect(inFiles()).toEqual(secrets)
  const { command } = search!.remains.find(({ place }) => place === 'main.db-wal')!
  expect(command).toContain(`sqlite3 ${path} "`)
  // What the command runs, once the reader has ended.
  reader.exec('commit')
  reader.close()
  const own = new Sqlite(path)
  own.exec(/"(.*)"/.exec(command!)![1]!)
  own.close()
  expect(inFiles()).toEqual([])
})

test('an erasure that is repeated knows no texts any more, and says which file may still have them', async () => {
  const { erase, instance, person, warehouse } = await mirrorOnePerson('sqlite')
  const path = instance.url.slice('sqlite:'.length)
  writeFileSync(`${path}.bak`, readFileSync(path))
  const reader = new Sqlite(path, { readonly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from visitors').get()
  await erase(false)
  const repeated = await erase(false)
  expect([repeated.isRepeated, repeated.rows]).toEqual([true, {}])
  const remains = repeated.search!.remains.map(({ place, command }) => [place, command])
  expect(remains.toSorted()).toEqual([
    ['main.db', expect.stringContaining('wal_checkpoint(truncate)')],
    ['main.db-wal', expect.stringContaining('wal_checkpoint(truncate)')],
    ['main.db.bak', `rm ${path}.bak`],
  ])
  expect(readFileSync(`${path}-wal`, 'latin1')).toContain(String(person.email))
  // However its folder is written, its own log is no copy.
  const location = parseDatabaseUrl(instance.url.replace('main.db', './main.db'))
  const { remains: found } = await searchWarehouse(warehouse, location, {
    values: { values: [{ kind: 'own', pieces: [String(person.email)] }], left: 0 },
    compacted: { isRewritten: true, isLogEmpty: false },
    isRepeated: false,
  })
  const log = found.find(({ place }) => place === 'main.db-wal')
  expect(log?.command).toContain('wal_checkpoint(truncate)')
  expect(repeated.search!.elsewhere.join()).toContain('they are not known any more')
  reader.exec('commit')
  reader.close()
  rmSync(`${path}.bak`)
  expect((await erase(false)).search!.remains).toEqual([])
  expect(readFileSync(`${path}-wal`, 'latin1')).not.toContain(String(person.email))
})

test('a SQLite file has no byte of what was erased, nor has its log, with a worker beside it', async () => {
  const { erase, instance, own, person, visitor, queue, push, words } =
    await mirrorOnePerson('sqlite')
  await queue(
    { operation: 'note', visitor_id: visitor, content: 'Secret note of them.' },
    {
      operation: 'message',
      conversation_id: own[0],
      content: 'Secret reply to them.',
      sender_name: 'Ann',
    },
  )
  await push()
  const worker = await instance.open()
  await worker.query('select count(*) from messages')
  const { search } = await erase(false)
  const path = instance.url.slice('sqlite:'.length)
  const all = [path, `${path}-wal`, `${path}-sends`]
    .filter(existsSync)
    .map((file) => readFileSync(file, 'latin1'))
  const texts = ['Secret note of them.', 'Secret reply to them.', String(person.email), words[0]!]
  expect(texts.filter((text) => all.some((bytes) => bytes.includes(text)))).toEqual([])
  expect(search).toMatchObject({ remains: [], unread: [] })
  expect(search!.files).toBeGreaterThanOrEqual(2)
  expect(search!.values).toBeGreaterThan(5)
})
