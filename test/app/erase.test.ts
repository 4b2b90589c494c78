/** A person who is erased is nowhere in the warehouse, and no sync brings them back. */

import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { streamNames } from '../../schema/stream-specs.ts'
import { tables } from '../../schema/tables.ts'
import { eraseVisitor } from '../../src/app/erase.ts'
import { verifyProject } from '../../src/app/verify.ts'
import { createAuditStore } from '../../src/mirror/sql/audits.ts'
import { createAuditLog } from '../../src/warehouse/audit-log.ts'
import { configOf, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture, type OutboxFixture } from '../outbox/outbox-fixture.ts'

const by = 'ann'

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

async function mirrorOnePerson(database: 'sqlite' | 'postgres') {
  const fixture = await createOutboxFixture({
    database,
    mirrored: false,
    size: { conversations: 12, visitors: 4, calls: 8, activityPerVisitor: 3, days: 2 },
  })
  const { instance, sandbox, warehouse } = fixture
  const sync = (mode: 'incremental' | 'full' | 'reconcile') =>
    syncOnce(instance.url!, sandbox, { streams: streamNames, mode })
  await sync('incremental')
  const conversations = [...sandbox.truth('conversations')].map(({ row }) => row as { id: string; visitorId: string })
  const visitor = conversations[0]!.visitorId
  const own = conversations.filter(({ visitorId }) => visitorId === visitor).map(({ id }) => id)
  const project = projectConfigOf(sandbox, { verifyAfterMs: 200 })
  const erase = (dryRun: boolean, id = visitor) =>
    eraseVisitor(configOf(instance.url!, project), project, { visitor: id, by, dryRun })
  const [person] = await warehouse.query(`select name, email from visitors where id = '${visitor}'`)
  const ids = `'${own.join(`','`)}'`
  const messages = await warehouse.query(`select content from messages where conversation_id in (${ids})
    and kind = 'utterance' and content not in (select content from messages where conversation_id not in (${ids}))`)
  return {
    ...fixture,
    sync,
    visitor,
    own,
    erase,
    person: person!,
    verify: () =>
      verifyProject(configOf(instance.url!, project), project, {
        ...{ streams: streamNames, limit: 9, signal: new AbortController().signal, onProgress: () => {} },
        log: pino({ level: 'silent' }),
      }),
    words: messages.map(({ content }) => String(content)),
  }
}

/** Every table of the warehouse that names one of these, other than the list of what was erased. */
async function findMentions({ warehouse }: Pick<OutboxFixture, 'warehouse'>, texts: readonly string[]) {
  const found: string[] = []
  for (const table of Object.keys(tables).filter((name) => name !== 'erased_ids')) {
    const stored = JSON.stringify(await warehouse.query(`select * from ${table}`)).toLowerCase()
    found.push(...texts.filter((text) => stored.includes(text.toLowerCase())).map((text) => `${table}: ${text}`))
  }
  return found
}

for (const database of ['sqlite', 'postgres'] as const) {
  describe(`erasing a visitor (${database})`, () => {
    test('first shows what would go, and changes nothing', async () => {
      const fixture = await mirrorOnePerson(database)
      const { erase, own, warehouse } = fixture
      const { rows } = await erase(true)
      expect(rows).toMatchObject({ visitors: 1, visitor_activity: 3, conversations: own.length })
      expect(await warehouse.query('select * from erased_ids')).toEqual([])
      await expect(erase(true, '11111111-1111-4111-8111-111111111111')).rejects.toThrow(
        /nothing is stored of the visitor/,
      )
    })

    test('leaves no word and no id of them, in no table, and no sync brings them back', async () => {
      const fixture = await mirrorOnePerson(database)
      const { erase, own, visitor, queue, push, sync, person, words, warehouse, instance, visitors, verify, sandbox } =
        fixture
      await queue(
        { operation: 'note', visitor_id: visitor, content: 'Secret note.', ref: 'note-1' },
        { operation: 'message', conversation_id: own[0], content: 'Secret reply.', sender_name: 'Ann' },
        { operation: 'note', visitor_id: visitors().find((id) => id !== visitor), content: 'Another person.' },
      )
      await push()
      await queue({ operation: 'visitor', visitor_id: visitor, name: 'Secret name' })
      await warehouse.query(`update writebacks set found_by = 'Secret address' where visitor_id = '${visitor}'`)
      const audit = { ...auditCounts, stream: 'visitors', startedAt: '2026-01-01T00:00:00Z' } as const
      const difference = { stream: 'visitors', key: visitor, kind: 'different', fields: [], storedHash: 'a' } as const
      await createAuditStore(warehouse.projectDb(sandbox.projectId)).add(audit, [difference], Date.now())
      const secrets = ['note', 'reply', 'name', 'address'].map((what) => `secret ${what}`)
      const texts = [visitor, ...own, ...words, String(person.email), ...secrets]
      expect(await findMentions(fixture, texts)).not.toEqual([])
      const { rows } = await erase(false)
      expect(rows).toMatchObject({ visitors: 1, conversations: own.length, writebacks: 3 })
      expect(await findMentions(fixture, texts)).toEqual([])
      expect(await warehouse.query('select differing from sync_audits')).toEqual([{ differing: 1 }])
      for (const mode of ['incremental', 'reconcile', 'full'] as const)
        expect(await sync(mode)).toMatchObject({ outcome: 'complete' })
      expect(await findMentions(fixture, texts)).toEqual([])
      // The same file again sends nothing twice.
      await queue({ operation: 'note', visitor_id: visitors()[0], content: 'Once more.', ref: 'note-1' })
      expect(await push()).toMatchObject({ settled: {} })
      const verified = await verify()
      expect(verified.differences).toEqual([])
      const kept = await warehouse.query('select status, payload from writebacks order by seq')
      expect(kept.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded', 'cancelled'])
      expect(JSON.stringify(kept)).toContain('Another person.')
      const [event] = await createAuditLog(warehouse.db).list(null, 1)
      expect(event).toMatchObject({ person: by, action: 'visitor_erased', subject: null })
      if (database === 'postgres') return
      await warehouse.query('vacuum')
      await warehouse.query('pragma wal_checkpoint(truncate)')
      const file = readFileSync(instance.url!.slice('sqlite:'.length), 'latin1')
      expect(['Secret note.', 'Secret reply.', words[0]!].filter((text) => file.includes(text))).toEqual([])
    })

    test('is refused while a write-back to them may be arriving', async () => {
      const { erase, queue, visitor, warehouse } = await mirrorOnePerson(database)
      await queue({ operation: 'note', visitor_id: visitor, content: 'Called.' })
      await warehouse.query(`update writebacks set status = 'uncertain'`)
      await expect(erase(false)).rejects.toThrow(/may or may not have arrived/)
      expect(await warehouse.query('select * from erased_ids')).toEqual([])
    })
  })
}
