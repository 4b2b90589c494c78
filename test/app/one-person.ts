/** A warehouse that mirrors some people, of whom one is erased. */

import { pino } from 'pino'
import { listStreamNames, streamNames } from '../../schema/stream-specs.ts'
import { eraseVisitor } from '../../src/app/erase.ts'
import { verifyProject } from '../../src/app/verify.ts'
import { configOf, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture } from '../outbox/outbox-fixture.ts'

export const by = 'ann'

type Options = {
  readonly calls?: 'plain' | 'caller' | 'nested'
  readonly visitors?: number
  readonly field?: string
}

/** `field`: what the setting analytics.calls.visitor names. */
export async function mirrorOnePerson(database: 'sqlite' | 'postgres', options: Options = {}) {
  const { calls = 'plain', visitors: people = 4, field = null } = options
  const fixture = await createOutboxFixture({
    database,
    mirrored: false,
    size: {
      conversations: 6,
      visitors: people,
      calls: 4,
      messagesPerConversation: [1, 4],
      activityPerVisitor: 3,
      days: 1,
    },
    switches: { 'calls.fields': calls },
  })
  const { instance, sandbox, warehouse } = fixture
  const { analytics } = projectConfigOf(sandbox)
  const settings = {
    analytics: { ...analytics, calls: { ...analytics.calls, visitor: field } },
    history: listStreamNames,
  }
  const sync = (mode: 'incremental' | 'full' | 'reconcile') =>
    syncOnce(instance.url!, sandbox, { streams: streamNames, mode, project: settings })
  await sync('incremental')
  const conversations = [...sandbox.truth('conversations')].map(
    ({ row }) => row as { id: string; visitorId: string },
  )
  const visitor = conversations[0]!.visitorId
  const own = conversations.filter(({ visitorId }) => visitorId === visitor).map(({ id }) => id)
  const project = projectConfigOf(sandbox, { verifyAfterMs: 200, ...settings })
  const erase = (dryRun: boolean, id = visitor, transactionWaitMs?: number) =>
    eraseVisitor(configOf(instance.url!, project), project, {
      visitor: id,
      by,
      dryRun,
      transactionWaitMs,
    })
  const [person] = await warehouse.query(`select name, email from visitors where id = '${visitor}'`)
  const ids = `'${own.join(`','`)}'`
  const messages =
    await warehouse.query(`select content from messages where conversation_id in (${ids})
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
        streams: streamNames,
        limit: 9,
        signal: new AbortController().signal,
        onProgress: () => {},
        log: pino({ level: 'silent' }),
      }),
    words: messages.map(({ content }) => String(content)),
  }
}
