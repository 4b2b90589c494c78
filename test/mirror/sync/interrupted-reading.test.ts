/**
 * Whatever a service does and wherever a run ends, no row is missing without a gap: each service
 * below is read by runs that end after each of their requests, then by quiet runs until nothing
 * changes, and then by a reconcile.
 */
import { expect, test } from 'vitest'
import { sampled, sampledCount, sampledTest } from '../../support/sampled.ts'
import {
  findFaults,
  findFaultsOf,
  findFaultsOfWholeRun,
  openCopy,
  runOnce,
  runQuietly,
  type Scene,
  type TestedService,
  withService,
} from './interrupted-runs.ts'

const noMore = { hasMore: 'absent' } as const
const services: readonly TestedService[] = [
  {
    what: 'calls, newest shown ascending',
    list: 'calls',
    switches: { 'calls.order': 'newest-ascending' },
  },
  {
    what: 'calls, newest shown ascending, both bounds required',
    list: 'calls',
    switches: { 'calls.order': 'newest-ascending', 'calls.range': 'required' },
    sample: 'killed and stopped',
  },
  {
    what: 'calls, newest first, `to` ignored',
    list: 'calls',
    switches: { 'calls.order': 'newest', 'calls.to': 'ignored' },
  },
  {
    what: 'visitors, newest first',
    list: 'visitors',
    switches: { 'visitors.order': 'newest' },
  },
  {
    what: 'visitors, newest shown ascending',
    list: 'visitors',
    switches: { 'visitors.order': 'newest-ascending' },
  },
  {
    what: 'visitors, newest first, `since` ignored',
    list: 'visitors',
    switches: { 'visitors.order': 'newest', 'visitors.bound': 'ignored' },
  },
  {
    what: 'visitors, oldest first, `since` refused',
    list: 'visitors',
    switches: { 'visitors.bound': 'refused' },
  },
  {
    what: 'visitors, newest first, some without a time at the old end',
    list: 'visitors',
    switches: { 'undated.share': 0.1, 'undated.end': 'oldest', 'visitors.order': 'newest' },
    hidesRows: true,
    sample: 'killed',
  },
  {
    what: 'calls, newest first, some without a time at the new end',
    list: 'calls',
    switches: { 'undated.share': 0.1, 'calls.order': 'newest' },
    hidesRows: true,
  },
  {
    what: 'conversations, only open ones without `handled`',
    list: 'conversations',
    switches: { 'conversations.handled': 'open' },
  },
  {
    what: 'conversations, only handled ones without `handled`, newest first',
    list: 'conversations',
    switches: { 'conversations.handled': 'handled', 'conversations.order': 'newest' },
    sample: 'killed',
  },
  {
    what: 'visitors, oldest in no order',
    list: 'visitors',
    switches: { 'visitors.order': 'oldest-shuffled' },
  },
  {
    what: 'calls, newest in no order',
    list: 'calls',
    switches: { 'calls.order': 'newest-shuffled' },
  },
  {
    what: 'conversations, 200 of any time',
    list: 'conversations',
    switches: { 'conversations.order': 'any' },
    rows: 450,
  },
  {
    what: 'visitors, newest first, no `hasMore`, exactly 200',
    list: 'visitors',
    switches: { 'visitors.order': 'newest', ...noMore },
    rows: 200,
  },
  {
    what: 'visitors, newest first, no `hasMore`',
    list: 'visitors',
    switches: { 'visitors.order': 'newest', ...noMore },
  },
  {
    what: 'calls, newest first, no `hasMore`',
    list: 'calls',
    switches: { 'calls.order': 'newest', ...noMore },
  },
  {
    what: 'conversations, oldest first, `hasMore` always',
    list: 'conversations',
    switches: { hasMore: 'always' },
  },
  {
    what: 'calls, oldest first',
    list: 'calls',
    switches: { 'calls.order': 'oldest' },
  },
  {
    what: 'messages, newest shown ascending, with `before`',
    list: 'messages',
    switches: { 'messages.paging': 'before', 'messages.order': 'newest-ascending' },
  },
  {
    what: 'messages, newest first, with `since`',
    list: 'messages',
    switches: { 'messages.paging': 'since', 'messages.order': 'newest' },
  },
]

/** The message has all of them. */
function expectNone(faults: readonly string[]): void {
  expect(faults, faults.join('\n')).toEqual([])
}

for (const service of sampled(services, ({ sample }) => sample !== undefined)) {
  test(`${service.what}: runs that end early`, () =>
    withService(service, async (scene) => {
      const checked = new Set<string>()
      expectNone([
        ...(await findFaultsOfWholeRun(scene, checked)),
        ...(await findFaultsOf(scene, 'incremental', checked)),
        ...(await findFaultsOf(scene, 'reconcile', checked)),
      ])
    }))
}

for (const service of services.filter(({ switches }) => 'conversations.handled' in switches)) {
  for (const isHandled of [true, false]) {
    const what = isHandled ? 'handled' : 'reopened'
    const isInSample = isHandled && 'conversations.order' in service.switches
    sampledTest(
      isInSample,
      `${service.what}: ${what} before a request that a first run ends at`,
      async () => {
        for (let [n, isOver] = [1, false]; !isOver; n += sampledCount(2, 1)) {
          await withService({ ...service, rows: 60 }, async (scene) => {
            changeFlags(scene, !isHandled)
            const { warehouse } = await openCopy(scene)
            const { outcome } = await runOnce(scene, warehouse, 'incremental', (answer) => {
              if (answer === n) changeFlags(scene, isHandled)
              return answer === n ? 'abort' : 'continue'
            })
            isOver = outcome !== 'interrupted'
            await runQuietly(scene, warehouse)
            const { mutate } = scene.sandbox
            mutate.setHandled(mutate.addConversation().id, true)
            expectNone(await findFaults(scene, warehouse, await runQuietly(scene, warehouse)))
            await warehouse.close()
          })
        }
      },
    )
  }
}

/** Of all conversations but the newest: so many that a page of them says nothing about the list. */
function changeFlags({ sandbox }: Scene, isHandled: boolean): void {
  const changed = [...sandbox.truth('conversations')].filter(
    ({ row }) => ((row as { readonly handledAt: unknown }).handledAt !== null) !== isHandled,
  )
  for (const { id } of changed.slice(0, -1)) sandbox.mutate.setHandled(id!, isHandled)
}
