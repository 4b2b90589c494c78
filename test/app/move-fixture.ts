/** A warehouse with rows in most tables, and another database to move it into. */

import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { listStreamNames, streamNames } from '../../schema/stream-specs.ts'
import { type MoveOptions, moveWarehouse } from '../../src/app/move.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { pushProject } from '../../src/app/push.ts'
import { verifyProject } from '../../src/app/verify.ts'
import {
  configOf,
  projectConfigOf,
  type SyncOverrides,
  syncOnce,
} from '../mirror/sync/sync-sandbox.ts'
import { createOutboxFixture } from '../outbox/outbox-fixture.ts'
import { databases } from '../support/databases.ts'

export const log = pino({ level: 'silent' })
const unending = new AbortController().signal

export async function fillWarehouse(kind: DatabaseKind, seed = 1) {
  const fixture = await createOutboxFixture({
    database: kind,
    mirrored: false,
    seed,
    size: {
      conversations: 6,
      visitors: 6,
      calls: 4,
      messagesPerConversation: [1, 4],
      activityPerVisitor: 2,
      days: 1,
    },
  })
  const { sandbox, instance, conversation, visitor, queue, push, warehouse } = fixture
  const from = instance.url!
  const project = { history: listStreamNames }
  await syncOnce(from, sandbox, { streams: streamNames, project })
  sandbox.mutate.renameVisitor(visitor(1), 'Another Name', null)
  const message = (n: number, content: string) => ({
    operation: 'message',
    conversation_id: conversation(n),
    content,
    sender_name: 'Ann',
  })
  await queue(message(0, 'A reply that was sent.'), {
    operation: 'note',
    visitor_id: visitor(0),
    content: 'Called them back.',
  })
  await push()
  await syncOnce(from, sandbox, { streams: streamNames, mode: 'full', project })
  const [open] = await warehouse.query(`select id from conversations where handled_at is null
    and id not in ('${conversation(0)}', '${conversation(1)}') order by id limit 1`)
  await queue(message(1, 'A reply that waits.'), {
    operation: 'handled',
    conversation_id: String(open!.id),
    handled: true,
  })
  // A process that is dead now was about to send it.
  await warehouse.query(`update writebacks set status = 'sending', attempts = 1, lease_until = 1,
    owner = '{"host":"elsewhere","pid":1,"process":"x@1"}' where operation = 'handled'`)
  await warehouse.query(`insert into console_events (project_id, id, at, person, role, action)
    values ('', 'e1', '2026-01-01T00:00:00Z', 'ann', 'viewer', 'signed_in')`)
  return fixture
}

/** Without tables. */
export async function emptyDatabase(kind: DatabaseKind): Promise<string> {
  const instance = await databases.find(({ name }) => name === kind)!.makeEmpty()
  onTestFinished(() => instance.drop())
  return instance.url
}

type Fixture = Pick<Awaited<ReturnType<typeof fillWarehouse>>, 'sandbox'>

export function programOn({ sandbox }: Fixture) {
  const project = projectConfigOf(sandbox, { verifyAfterMs: 200, history: listStreamNames })
  return {
    project,
    move: async (from: string, to: string, over: Partial<MoveOptions> = {}) => {
      await forgetRequests(from)
      return moveWarehouse(configOf(from, project), {
        to,
        project: null,
        signal: unending,
        log,
        onProgress: () => {},
        ...over,
      })
    },
    sync: (url: string, over: SyncOverrides = {}) =>
      syncOnce(url, sandbox, { streams: streamNames, ...over }),
    push: (url: string) =>
      pushProject(configOf(url, project), project, {
        signal: unending,
        onProgress: () => {},
        onBudget: () => {},
        log,
        despiteFailures: false,
      }),
    verify: (url: string) =>
      verifyProject(configOf(url, project), project, {
        streams: streamNames,
        limit: 9,
        signal: unending,
        onProgress: () => {},
        log,
      }),
    query: async (url: string, statement: string) => {
      const opened = await openWarehouse(url, { access: 'read' })
      const rows = await opened.query(statement)
      await opened.close()
      return rows
    },
    change: async (url: string, statement: string) => {
      const opened = await openWarehouse(url)
      await opened.query(statement).finally(opened.close)
    },
  }
}

/** As if it had been idle for minutes: otherwise the next request waits until none is counted. */
export async function forgetRequests(url: string): Promise<void> {
  const warehouse = await openWarehouse(url, { evenIfMoved: true })
  await warehouse.query('update sync_keys set used_at = used_at - 600000')
  await warehouse.close()
}
