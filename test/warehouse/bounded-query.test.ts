/**
 * Statements that anybody may have written: they read, in time and in size, or do not run — in both
 * databases.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { grantToAnalyst } from '../../src/analytics/sql/grant.ts'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { UserError } from '../../src/values/user-error.ts'
import type { BoundedQuery } from '../../src/warehouse/bounded-answer.ts'
import { openBoundedQuery } from '../../src/warehouse/bounded-query.ts'
import { endless, enormous, hostileStatements, hostileTables } from '../mcp/hostile-statements.ts'
import { type DatabaseInstance, databases } from '../support/databases.ts'
import { sampled } from '../support/sampled.ts'
import { openTlsProxy } from '../support/tls.ts'
import { commit, conversation, message } from './row-fixtures.ts'

/** For statements that have to be ended. */
const shortMs = 200
/** Statements that run at the same time. */
const lanes = 8
const setting = 'DESKMIRROR_ANALYST_DATABASE_URL'
const tableName = new RegExp(hostileTables.join('|'), 'gi')

for (const db of databases) {
  describe(`a statement of an assistant — ${db.name}`, () => {
    let [database, warehouse, query, brief, role] = [] as unknown as [
      DatabaseInstance,
      Warehouse,
      BoundedQuery,
      BoundedQuery,
      string,
    ]
    beforeAll(async () => {
      database = await db.make()
      warehouse = await database.open()
      const mirror = openMirror(warehouse, 'p')
      await mirror.commit(commit('conversations', [conversation('c1')]))
      await mirror.commit(
        commit(
          'messages',
          Array.from({ length: 100 }, (_, n) =>
            message('c1', n + 1, { content: `hidden\u200b${n}` }),
          ),
        ),
      )
      if (db.name === 'sqlite') await warehouse.close()
      else {
        role = `analyst_${randomUUID().slice(0, 8)}`
        await warehouse.query(`create role ${role} login password 'secret'`)
        await grantToAnalyst(warehouse.db, warehouse.kind, role)
      }
      query = await openBoundedQuery(addressOf(role), setting)
      brief = await openBoundedQuery(addressOf(role), setting, shortMs)
    })
    afterAll(async () => {
      await query.close()
      await brief.close()
      if (role !== undefined) {
        await warehouse.query(`drop owned by ${role}`)
        await warehouse.query(`drop role ${role}`)
      }
      await database.drop()
    })

    const addressOf = (user: string | undefined) => {
      if (user === undefined) return database.url
      const address = new URL(database.url)
      address.username = user
      address.password = 'secret'
      return address.href
    }

    /** Its rows, and what the database has beside them. */
    const digest = async () => {
      const hash = createHash('sha256')
      if (db.name === 'sqlite')
        return hash.update(readFileSync(database.url.slice('sqlite:'.length))).digest('hex')
      const tables = await warehouse.query(
        `select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'warehouse'::regnamespace order by 1`,
      )
      for (const { name } of tables as { name: string }[])
        hash.update(
          JSON.stringify(
            await warehouse.query(
              `select count(*), md5(string_agg(t::text, ',' order by t::text)) from ${name} t`,
            ),
          ),
        )
      hash.update(
        JSON.stringify(
          await warehouse.query(
            `select count(*) as n, (select count(*) from pg_proc) as f, (select count(*) from pg_largeobject_metadata) as l, (select count(*) from pg_settings where source = 'session') as s from pg_class`,
          ),
        ),
      )
      return hash.digest('hex')
    }

    const ask = (statement: string, asked = query): Promise<unknown> =>
      asked.run(statement).catch((error: unknown) => error)

    test('may read, and shows what nobody can see', async () => {
      expect(await query.run(`select 1 as one, 'a\u200bb\nc' as text, null as empty -- ;`)).toEqual(
        {
          columns: ['one', 'text', 'empty'],
          rows: [[1, 'a[U+200B]b\nc', null]],
          cut: null,
        },
      )
      expect(
        (await query.run('with x as (select count(*) as n from fct_conversation) select n from x;'))
          .rows,
      ).toHaveLength(1)
    })

    test('has at most so many rows and bytes, and says so', async () => {
      const rows =
        'with recursive r(x) as (select 1 union all select x + 1 from r where x < 9000) select'
      expect(await query.run(`${rows} x from r`)).toMatchObject({
        cut: expect.stringContaining('the first 500'),
      })
      const wide = await query.run(`${rows} x, '${'y'.repeat(3000)}' from r`)
      expect(wide.cut).toContain('fit in 200 kB')
      expect(JSON.stringify(wide.rows).length).toBeLessThan(201_000)
      expect(wide.rows.length).toBeGreaterThan(60)
    })

    test('has values that JSON does not know, as texts', async () => {
      const [statement, row] = {
        sqlite: [
          'select 9e999, -9e999, 9007199254740993',
          ['Infinity', '-Infinity', '9007199254740993'],
        ],
        postgres: [
          `select 'NaN'::float8, '-infinity'::numeric, timestamp '2026-01-02 03:04:05', interval '1 day', array[1, null], 1 as x, 2 as x`,
          ['NaN', '-Infinity', '2026-01-02 03:04:05', '1 day', '{1,NULL}', 1, 2],
        ],
      }[db.name] as [string, unknown[]]
      expect((await query.run(statement)).rows).toEqual([row])
    })

    test('is not waited for by others for longer than it may take', async () => {
      // Timers count whole milliseconds, so that one that begins late in one ends early.
      while (process.hrtime()[1] % 1e6 < 7.5e5);
      const asked = await Promise.allSettled([1, 2, 3, 4].map(() => brief.run(endless[db.name][0])))
      const why = asked.map((answer) => (answer.status === 'rejected' ? String(answer.reason) : ''))
      expect(why[0]).toContain('longer than 0.2 s')
      expect(why.slice(1).filter((reason) => reason.includes('others, asked'))).toHaveLength(3)
    })

    test('that writes, attaches, loads or locks is refused, whatever it looks like, and changes nothing', async () => {
      const before = await digest()
      const all = hostileStatements(db.name)
      expect(all).toHaveLength(500)
      // Each needs a connection to Postgres, so there each kind is sampled once, on some table.
      const kinds = Map.groupBy(all, (statement) => statement.replace(tableName, 'table'))
      const sample = new Set([...kinds.values()].map(([first]) => first))
      const chosen = sampled(all, (one) => db.name === 'sqlite' || sample.has(one))
      const left = chosen.values()
      const odd: unknown[] = []
      let refused = 0
      const askAll = async () => {
        const asked = await openBoundedQuery(addressOf(role), setting)
        // They share the iterator: each takes what none has taken.
        for (const statement of left) {
          const answer = await ask(statement, asked)
          if (answer instanceof UserError) refused += 1
          else if (answer instanceof Error || JSON.stringify(answer).length > 250_000)
            odd.push([statement, answer])
        }
        await asked.close()
      }
      await Promise.all(Array.from({ length: db.name === 'sqlite' ? 1 : lanes }, askAll))
      expect(odd).toEqual([])
      expect(refused).toBeGreaterThan(chosen.length * 0.85)
      expect(await digest()).toBe(before)
    })

    test('that never ends is ended, and the next one is answered', async () => {
      for (const statement of endless[db.name]) {
        const answer = await ask(statement, brief)
        expect([statement, String(answer)]).toEqual([
          statement,
          expect.stringMatching(/longer than 0.2 s/),
        ])
      }
      expect(await query.run('select 1')).toMatchObject({ rows: [[1]] })
    })

    test('that returns a gigabyte is refused, cut or ended', async () => {
      for (const statement of enormous[db.name]) {
        const answer = await ask(statement, brief)
        expect([
          statement,
          answer instanceof UserError || JSON.stringify(answer).length < 250_000,
        ]).toEqual([statement, true])
      }
    })

    if (db.name === 'sqlite')
      test('that needs too much memory is ended', async () => {
        const withTime = await openBoundedQuery(database.url, setting, 60_000)
        const answer = await ask(
          'select json_group_array(project_id || zeroblob(300000000)) from message_rows',
          withTime,
        )
        expect(String(answer)).toContain('more than 512 MB')
        await withTime.close()
      })

    if (db.name === 'sqlite')
      test('ends with a process that is killed', async () => {
        const program = `import { openBoundedQuery } from '${new URL('../../src/warehouse/bounded-query.ts', import.meta.url)}'
          const query = await openBoundedQuery('${database.url}', '', 60_000)
          await query.run('select 1')
          console.log('asked')
          await query.run('${endless.sqlite[0]}')`
        const server = spawn(process.execPath, ['--input-type=module', '-e', program], {
          stdio: ['ignore', 'pipe', 'ignore'],
        })
        await once(server.stdout, 'data')
        const child = Number(
          execFileSync('pgrep', ['-P', String(server.pid)], { encoding: 'utf8' }),
        )
        server.kill('SIGKILL')
        await expect.poll(() => isAlive(child)).toBe(false)
      })

    if (db.name === 'postgres')
      test('is explained in few words, whatever it quotes', async () => {
        const answer = await ask(`select repeat('x', 500000)::int`)
        expect([answer, String(answer).length < 2000]).toEqual([expect.any(UserError), true])
      })

    if (db.name === 'postgres')
      test('has no row of more than 16 MB, over TLS either', async () => {
        const proxied = new URL(addressOf(role))
        proxied.port = String(await openTlsProxy(Number(proxied.port)))
        proxied.searchParams.set('sslmode', 'no-verify')
        const withTime = await openBoundedQuery(proxied.href, setting, 60_000)
        expect((await withTime.run('select 1')).rows).toEqual([[1]])
        await expect(withTime.run(`select repeat('x', 60000000)`)).rejects.toThrow(
          /larger than 16 MB/,
        )
      })

    if (db.name === 'postgres')
      test('runs under no role that may write, not even by another role that it could become', async () => {
        const [owner, member, writer] = ['o', 'm', 'w'].map(
          (letter) => `${letter}_${randomUUID().slice(0, 8)}`,
        )
        const run = async (user: string) =>
          (await openBoundedQuery(addressOf(user), setting)).run('select 1')
        for (const name of [owner, member, writer])
          await warehouse.query(`create role ${name} login noinherit password 'secret'`)
        await warehouse.query(`grant usage on schema warehouse to ${owner}, ${member}, ${writer}`)
        await warehouse.query(`grant create on schema warehouse to ${owner}`)
        await warehouse.query(`grant update (title) on writeback_batches to ${writer}`)
        await warehouse.query(`grant ${writer} to ${member}`)
        try {
          await expect(run(owner!)).rejects.toThrow(/may create objects/)
          await expect(run(writer!)).rejects.toThrow(/may write to tables/)
          await expect(run(member!)).rejects.toThrow(/may write to tables/)
          await expect(query.run('select content from messages')).rejects.toThrow(
            /permission denied.*analysts/,
          )
          const asOwner = await openBoundedQuery(database.url, 'DESKMIRROR_DATABASE_URL')
          await expect(asOwner.run('select 1')).rejects.toThrow(/superuser/)
        } finally {
          for (const name of [owner, member, writer]) {
            await warehouse.query(`drop owned by ${name}`)
            await warehouse.query(`drop role ${name}`)
          }
        }
      })
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
