/** What `columns` blocks or hashes is stored nowhere, whatever is done with the project. */

import { createHmac } from 'node:crypto'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { streamNames } from '../../schema/stream-specs.ts'
import { asJsonObject, parseJson } from '../../src/values/json.ts'
import { secret } from '../../src/values/secret.ts'
import { sampledTest } from '../support/sampled.ts'
import { emptyDatabase, forgetRequests, programOn } from './move-fixture.ts'
import { createPrivateFixture, hashKey, rule, rules } from './private-columns-fixture.ts'

/** As docs/guide.md says, for other programs. */
const hashOf = (text: string, key = hashKey) =>
  `hmac:${createHmac('sha256', key.reveal()).update(text).digest('hex')}`

for (const database of ['sqlite', 'postgres'] as const)
  describe(`private columns (${database})`, () => {
    // What both do by the same SQL runs here on SQLite, which takes a fifth of the time.
    const [isOnSqlite, isOnPostgres] = [database === 'sqlite', database === 'postgres']

    sampledTest(
      isOnSqlite,
      'are stored nowhere, and the mirror is still what the service shows without them',
      async () => {
        const { sync, verify, leaks, secrets, sandbox, warehouse } =
          await createPrivateFixture(database)
        const phone = { stream: '*', path: 'phone_number', action: 'block' } as const
        const { outcome, notices } = await sync([...rules.all, phone])
        expect(outcome).toBe('complete')
        expect(notices.join()).toMatch(/No row has shown .*\*\.phone_number.* so far/)
        expect(notices.join()).not.toMatch(/visitors\.email/)
        expect(secrets().length).toBeGreaterThan(30)
        expect(await leaks()).toEqual([])
        for (const mode of ['reconcile', 'full'] as const)
          expect(await sync(rules.all, { mode })).toMatchObject({ outcome: 'complete' })
        expect(await verify(rules.all)).toMatchObject({ differences: [] })
        expect(await leaks()).toEqual([])
        const people = [...sandbox.truth('visitors')].map(({ row }) => asJsonObject(row))
        const stored = await warehouse.query('select id, name, email from visitors')
        for (const { id, name, email } of stored) {
          const person = people.find((one) => one?.id === id)
          expect(name).toBe(null)
          expect(email).toBe(
            person?.email == null ? null : hashOf(String(person.email).trim().toLowerCase()),
          )
        }
      },
    )

    sampledTest(
      isOnPostgres,
      'are cleaned when they become so, and read again when they no longer are',
      async () => {
        const { sync, verify, verifyPrivate, leaks, secrets, warehouse, queue, push, visitor } =
          await createPrivateFixture(database)
        await sync(rules.none)
        const shownBefore = secrets()
        const [address = ''] = shownBefore.filter((text) => text.includes('@'))
        await queue(
          { operation: 'note', visitor_id: visitor(0), content: 'A note.' },
          { operation: 'visitor', visitor_id: visitor(1), name: 'A Corrected Name' },
        )
        await push()
        await queue({ operation: 'visitor', visitor_id: visitor(2), name: 'A Queued Name' })
        await warehouse.query(`update writebacks set found_by = '${address}'`)
        expect((await leaks()).length).toBeGreaterThan(secrets().length - 3)
        const on = await sync(rules.all)
        expect(on.notices.join()).toMatch(
          /Cleaned of what `columns` no longer allows: .*rows of visitors, /,
        )
        expect(await leaks([...shownBefore, 'A Corrected Name'])).toEqual([])
        expect(await verify(rules.all)).toMatchObject({ differences: [] })
        expect((await verifyPrivate(rules.all)).search).toMatchObject({ remains: [], unread: [] })
        expect((await sync(rules.all)).notices.join()).not.toContain('columns')
        const otherKey = secret('another key of the installation')
        expect((await sync(rules.all, { key: otherKey })).notices.join()).toMatch(
          /Read again, .*visitors \(customfields.seats, email\)/,
        )
        const [{ email = '' } = {}] = await warehouse.query(
          'select email from visitors where email is not null',
        )
        const addresses = secrets().filter((text) => text.includes('@'))
        expect(addresses.map((text) => hashOf(text.toLowerCase(), otherKey))).toContain(email)
        const off = await sync(rules.none)
        expect(off.notices.join()).toMatch(/Read again.* visitors \(/)
        await sync(rules.none)
        expect(await verify(rules.none)).toMatchObject({ differences: [] })
        expect((await leaks()).length).toBeGreaterThan(secrets().length - 3)
        expect(
          await warehouse.query(`select stream from sync_cursors where stream like 'columns:%'`),
        ).toEqual([])
      },
    )

    sampledTest(
      isOnSqlite,
      'are stored again by the next sync that may, and by nothing beside it; `check` says so before',
      async () => {
        const fixture = await createPrivateFixture(database)
        const { sync, leaks, push, queue, visitor, warehouse, secrets } = fixture
        const { checkColumns, readVisitorNow, sandbox, statuses } = fixture
        const someRules = rules.all.filter(({ path }) => path !== 'email')
        await sync(rules.all)
        const addresses = secrets().filter((text) => text.includes('@'))
        expect(await checkColumns(rules.all)).toEqual([])
        expect(await checkColumns(someRules)).toMatchObject([
          {
            state: 'warning',
            detail: expect.stringMatching(/without visitors\.email.* reads all of it again/),
          },
        ])
        // What is stored beside a sync: what a page asks for, and what a write-back has changed.
        await readVisitorNow(someRules, visitor(0))
        await queue(
          { operation: 'visitor', visitor_id: visitor(0), name: 'A Corrected Name' },
          { operation: 'visitor', visitor_id: visitor(1), email: 'ours@example.org' },
        )
        // Another person’s edit stays, although their address was not stored to compare it.
        sandbox.mutate.renameVisitor(visitor(1), 'Another Name', 'theirs@example.org')
        await push({ columns: someRules, hashKey })
        expect(await statuses()).toEqual(['succeeded', 'conflict'])
        expect(await leaks(addresses)).toEqual([])
        const [kept] = await warehouse.query(
          `select email from visitors where id = '${visitor(0)}'`,
        )
        expect(kept?.email).toMatch(/^hmac:/)
        expect((await sync(someRules)).notices.join()).toMatch(/Read again.* visitors \(/)
        const [shown] = await warehouse.query(`select email from visitors where email like '%@%'`)
        expect(shown).toBeDefined()
        expect(await checkColumns(someRules)).toEqual([])
      },
    )

    sampledTest(
      isOnSqlite,
      'no stream is read again for a field that its rows do not have',
      async () => {
        const { sync, verify, checkColumns } = await createPrivateFixture(database)
        const all = [rule('*.email', 'block'), rule('visitors.emial', 'hash')]
        await sync(all)
        expect(await checkColumns([])).toMatchObject([
          {
            detail: expect.stringMatching(
              /without visitors\.email, .* again \(6 rows of visitors\)/,
            ),
          },
        ])
        const { notices, streams } = await sync([])
        expect(notices.join()).toContain('asks for now: visitors (email).')
        const read = (name: string) => streams.find(({ stream }) => stream === name)?.rows
        expect(read('visitors')).toBe(6)
        expect(read('calls')).toBeLessThan(4)
        expect(await verify([])).toMatchObject({ differences: [] })
        // Rows of no stream have the other one.
        await sync([rule('visitors.emial', 'hash')])
        expect(await checkColumns([])).toEqual([])
        expect((await sync([])).notices.join()).not.toContain('columns')
      },
    )

    sampledTest(
      isOnSqlite,
      'of two processes with other rules the later one decides, once',
      async () => {
        const { sync, warehouse } = await createPrivateFixture(database)
        await sync(rules.none, { loadedAt: 1000 })
        await sync(rules.all, { loadedAt: 2000 })
        await expect(sync(rules.none, { loadedAt: 1000 })).rejects.toMatchObject({
          why: expect.stringMatching(/loaded later \(1970-01-01T00:00:02Z\), has other rules/),
          next: expect.stringContaining('the same `columns` and `hash_key`'),
          exitCode: 2,
        })
        expect((await sync(rules.all, { loadedAt: 2000 })).notices.join()).not.toContain('columns')
        expect((await sync(rules.none, { loadedAt: 3000 })).notices.join()).toContain('Read again')
        // What a wrong clock wrote decides nothing.
        await warehouse.query(`update sync_cursors set position = '9000000000000000'
        where stream = 'columns loaded'`)
        await sync(rules.all, { loadedAt: 4000 })
      },
    )

    sampledTest(isOnSqlite, 'are cleaned of streams that are no longer mirrored', async () => {
      const { sync, leaks } = await createPrivateFixture(database)
      await sync(rules.none)
      const mirrored = streamNames.filter((name) => name !== 'messages')
      await sync(rules.all, { streams: mirrored })
      expect(await leaks()).not.toEqual([])
      await sync(rules.all, { streams: mirrored, mirrored })
      expect(await leaks()).toEqual([])
    })

    sampledTest(
      isOnSqlite,
      'a correction keeps what it was not meant to change, and leaves neither the old nor the new address',
      async () => {
        const { sync, push, queue, visitor, sandbox, warehouse, leaks, secrets, lines, statuses } =
          await createPrivateFixture(database)
        await sync(rules.all)
        const personOf = (n: number) =>
          asJsonObject([...sandbox.truth('visitors')].find(({ id }) => id === visitor(n))?.row)
        const before = personOf(0)
        const named = personOf(1)
        const shownBefore = secrets()
        await queue(
          { operation: 'visitor', visitor_id: visitor(0), email: 'Corrected.Address@example.org' },
          { operation: 'visitor', visitor_id: visitor(0), email: 'second.address@example.org' },
          { operation: 'visitor', visitor_id: visitor(1), name: 'Corrected Person' },
        )
        await push({ columns: rules.all, hashKey })
        expect(await statuses()).toEqual(['succeeded', 'succeeded', 'succeeded'])
        expect(personOf(0)).toMatchObject({
          name: before?.name,
          email: 'second.address@example.org',
        })
        expect(personOf(1)).toMatchObject({ name: 'Corrected Person', email: named?.email })
        expect(await leaks(shownBefore)).toEqual([])
        const [row] = await warehouse.query(`select email from visitors where id = '${visitor(0)}'`)
        expect(row?.email).toBe(hashOf('second.address@example.org'))
        const kept = JSON.stringify([
          await warehouse.query('select * from writebacks'),
          await warehouse.query('select * from writeback_events'),
          lines,
        ])
        expect(kept).not.toMatch(/address@example.org|Corrected/i)
      },
    )

    sampledTest(
      isOnSqlite,
      'a correction that succeeded before leaves nothing of either, whatever became private first',
      async () => {
        const { sync, push, queue, visitor, leaks, secrets, statuses } =
          await createPrivateFixture(database)
        await sync(rules.none)
        const shownBefore = secrets()
        await queue({ operation: 'visitor', visitor_id: visitor(0), name: 'A Corrected Name' })
        await push()
        expect(await statuses()).toEqual(['succeeded'])
        await sync(rules.all.filter(({ path }) => path === 'email'))
        await sync(rules.all)
        expect(await leaks([...shownBefore, 'A Corrected Name'])).toEqual([])
      },
    )

    sampledTest(
      isOnSqlite,
      'the history of a conversation forgets a field that becomes private',
      async () => {
        const { sync, warehouse, leaks } = await createPrivateFixture(database)
        await sync(rules.none)
        await warehouse.query(`update conversations set origin = 'a former origin'`)
        await sync(rules.none, { mode: 'full' })
        expect(await leaks(['a former origin'])).toEqual(['a former origin'])
        const kept = `select count(*) as n from conversation_changes where field = 'handled_at'`
        const before = await warehouse.query(kept)
        await sync([{ stream: 'conversations', path: 'origin', action: 'hash' }])
        expect(await leaks(['a former origin'])).toEqual([])
        expect(await warehouse.query(kept)).toEqual(before)
      },
    )

    sampledTest(
      isOnSqlite,
      'replaced versions have neither values, nor hashes with an earlier key',
      async () => {
        const { sync, leaks, visitor, sandbox, warehouse, verifyPrivate } =
          await createPrivateFixture(database)
        const rename = (name: string, email: string) =>
          sandbox.mutate.renameVisitor(visitor(0), name, email)
        rename('A Former Name', 'Former.Address@example.org')
        await sync(rules.none)
        rename('A Later Name', 'later.address@example.org')
        await sync(rules.none, { mode: 'full' })
        const kept = async () => {
          const rows = await warehouse.query(`select name, email, raw, valid_from, valid_to
          from visitors_history where id = '${visitor(0)}' order by valid_from limit 1`)
          return rows.map(({ raw, ...row }) => ({
            ...row,
            raw: asJsonObject(parseJson(String(raw))),
          }))
        }
        const texts = ['A Former Name', 'Former.Address@example.org']
        expect(await leaks(texts)).toEqual(texts)
        const [before] = await kept()
        await sync(rules.all)
        expect(await leaks([...texts, 'A Later Name'])).toEqual([])
        const email = hashOf('former.address@example.org')
        expect(await kept()).toMatchObject([{ ...before, name: null, email, raw: { email } }])
        const { search } = await verifyPrivate(rules.all)
        expect(search.remains).toEqual([])
        const key = secret('another key of the installation')
        await sync(rules.all, { key })
        expect(await kept()).toMatchObject([{ name: null, email: null, raw: { email: null } }])
        const hashes = `select email, raw from visitors_history where email is not null`
        expect(await warehouse.query(hashes)).toEqual([])
        expect(await warehouse.query('select email from visitors')).toContainEqual({
          email: expect.stringMatching(/^hmac:/),
        })
      },
    )

    test('what was removed elsewhere is not in the files of a warehouse that moves back', async () => {
      const fixture = await createPrivateFixture(database)
      const { sync, leaks, instance } = fixture
      const { move, change } = programOn(fixture)
      const elsewhere = await emptyDatabase('sqlite')
      await sync(rules.none)
      // The service does not show it, so that no later sync brings it back.
      const removed = 'A text that was removed elsewhere.'
      await change(instance.url, `update message_rows set content = '${removed}'`)
      await move(instance.url, elsewhere)
      await change(elsewhere, 'delete from message_rows')
      // Postgres keeps old rows for what writes, in whichever of its databases.
      const writer = new pg.Client({ connectionString: inject('postgresUrl') })
      await writer.connect()
      await writer.query('begin; select pg_current_xact_id()')
      await move(elsewhere, instance.url)
      await forgetRequests(instance.url)
      if (database === 'postgres') await sync(rules.none)
      await writer.end()
      const syncAndLook = async () => {
        await sync(rules.none)
        return leaks([removed])
      }
      await expect.poll(syncAndLook).toEqual([])
    })

    sampledTest(
      isOnSqlite,
      'an edit by someone else is seen by its hash, and no hash is ever sent',
      async () => {
        const { sync, push, queue, visitor, sandbox, statuses, all } =
          await createPrivateFixture(database)
        await sync(rules.all)
        await queue(
          { operation: 'visitor', visitor_id: visitor(0), email: 'mine@example.org' },
          { operation: 'visitor', visitor_id: visitor(1), email: hashOf('bo@example.org') },
        )
        sandbox.mutate.renameVisitor(visitor(0), 'Someone Else', 'else@example.org')
        await push({ columns: rules.all, hashKey })
        expect(await statuses()).toEqual(['conflict', 'failed'])
        expect((await all())[0]?.reason).toMatch(/someone changed the email/)
        expect((await all())[1]?.reason).toMatch(/is a hash of a text that is not stored/)
      },
    )

    sampledTest(isOnSqlite, 'what is left is found where it is, with what removes it', async () => {
      const { sync, verifyPrivate, warehouse, secrets } = await createPrivateFixture(database)
      await sync(rules.none)
      const before = await verifyPrivate(rules.all)
      const places = before.search.remains.map(({ place, command }) => `${place}: ${command}`)
      expect(places).toContain('visitors.email: deskmirror sync --streams visitors')
      expect(places).toContain('message_rows.content: deskmirror sync --streams messages')
      // No sync changes what no rule names, and no derivation what comes from it.
      const names = [rule('visitors.name', 'block')]
      await sync(names)
      const unnamed = (await verifyPrivate(names)).search.remains.map(({ place, why, command }) => [
        place,
        why,
        command,
      ])
      expect(unnamed).toContainEqual([
        'message_rows.sender_display_name',
        'another field has it, which `columns` does not name',
        null,
      ])
      await sync(rules.all)
      const clean = await verifyPrivate(rules.all)
      expect(clean.search).toMatchObject({ remains: [], unread: [] })
      expect(clean.skipped).toEqual([])
      expect(clean.search.values).toBeGreaterThan(30)
      const [address = ''] = secrets().filter((text) => text.includes('@'))
      await warehouse.query('create table "copy of a person" (words text)')
      await warehouse.query(`insert into "copy of a person" values ('for ${address}.')`)
      const { remains } = (await verifyPrivate(rules.all)).search
      expect(remains.map(({ place, values }) => [place, values])).toContainEqual([
        'copy of a person.words',
        1,
      ])
    })
  })
