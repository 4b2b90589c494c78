/** What `columns` blocks or hashes is stored nowhere, whatever is done with the project. */
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { asJsonObject } from '../../src/values/json.ts'
import { createPrivateFixture, hashKey, rules } from './private-columns-fixture.ts'

/** As docs/guide.md says, for other programs. */
const hashOf = (text: string) =>
  `hmac:${createHmac('sha256', hashKey.reveal()).update(text).digest('hex')}`

for (const database of ['sqlite', 'postgres'] as const)
  describe(`private columns (${database})`, () => {
    test('are stored nowhere, and the mirror is still what the service shows without them', async () => {
      const { sync, verify, leaks, secrets, sandbox, warehouse } =
        await createPrivateFixture(database)
      expect(await sync(rules.all)).toMatchObject({ outcome: 'complete' })
      expect(secrets().length).toBeGreaterThan(30)
      expect(await leaks()).toEqual([])
      for (const mode of ['reconcile', 'full', 'incremental'] as const)
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
    })

    test('are cleaned when they become so, and read again when they no longer are', async () => {
      const { sync, verify, leaks, secrets, warehouse } = await createPrivateFixture(database)
      await sync(rules.none)
      expect((await leaks()).length).toBeGreaterThan(secrets().length - 3)
      const on = await sync(rules.all)
      expect(on.notices.join()).toMatch(/visitors had what `columns` no longer lets be stored/)
      expect(await leaks()).toEqual([])
      expect(await verify(rules.all)).toMatchObject({ differences: [] })
      expect((await sync(rules.all)).notices.join()).not.toContain('columns')
      const off = await sync(rules.none)
      expect(off.notices.join()).toMatch(/visitors is read again/)
      await sync(rules.none)
      expect(await verify(rules.none)).toMatchObject({ differences: [] })
      expect((await leaks()).length).toBeGreaterThan(secrets().length - 3)
      expect(
        await warehouse.query(`select stream from sync_cursors where stream like 'columns%'`),
      ).toEqual([])
    })
  })
