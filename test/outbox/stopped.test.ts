/**
 * A sender is suspended beyond its lease and resumes after another took over: nothing is sent
 * twice.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { sampledTest } from '../support/sampled.ts'
import { waitFor } from '../support/wait.ts'
import { startByteCutter } from './byte-cutter.ts'
import { createOutboxFixture, type OutboxFixture, performedWrites } from './outbox-fixture.ts'
import type { PushProcessTask } from './push-process.ts'

function startPushProcess(o: OutboxFixture, baseUrl = o.sandbox.baseUrl) {
  const task: PushProcessTask = {
    databaseUrl: o.instance.url!,
    queueUrl: 'embedded',
    baseUrl,
    projectId: o.sandbox.projectId,
    key: o.sandbox.key,
    verifyAfterMs: 100,
  }
  const child = spawn(
    process.execPath,
    [new URL('push-process.ts', import.meta.url).pathname, JSON.stringify(task)],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Expires the leases at once instead of waiting two minutes. */
const expireLeases = (o: OutboxFixture) =>
  o.warehouse.query('update writebacks set lease_until = 1 where owner is not null')

for (const [what, stopsAt, inSample] of [
  ['during the check before the send', 'listMessages', 'sqlite'],
  ['while it waited for the response', 'sendMessage', 'postgres'],
] as const) {
  for (const database of ['sqlite', 'postgres'] as const) {
    sampledTest(database === inSample, `a sender suspended ${what} (${database})`, async () => {
      const o = await createOutboxFixture({ database, switches: { 'fault.slowMs': 1500 } })
      await o.queue({
        operation: 'message',
        conversation_id: o.conversation(0),
        content: 'Once.',
        sender_name: 'Ann',
      })
      o.sandbox.resetLog()
      o.sandbox.scriptFault({ kind: 'slow', operation: stopsAt })
      const child = startPushProcess(o)
      await waitFor(() => expect(o.sandbox.counts().byOperation[stopsAt]).toBe(1))
      child.kill('SIGSTOP')
      await expireLeases(o)
      await o.push({ verifyAfterMs: 100 })
      expect(await o.statuses()).toEqual(['succeeded'])
      child.kill('SIGCONT')
      expect(await once(child, 'exit')).toEqual([0, null])
      expect(await o.statuses()).toEqual(['succeeded'])
      expect(performedWrites(o.sandbox, 'sendMessage')).toHaveLength(1)
    })
  }
}

test('a reply of a suspended sender that is not found is uncertain until the sender resumes and reports the outcome', async () => {
  const o = await createOutboxFixture()
  await o.queue({
    operation: 'message',
    conversation_id: o.conversation(0),
    content: 'Once.',
    sender_name: 'Ann',
  })
  const cutter = await startByteCutter(o.sandbox.port)
  const { promise, resolve: open } = Promise.withResolvers<void>()
  cutter.gate = promise
  const child = startPushProcess(o, `http://127.0.0.1:${cutter.port}`)
  await waitFor(() => expect(cutter.written.size).toBe(1))
  child.kill('SIGSTOP')
  await expireLeases(o)
  await o.push({ verifyAfterMs: 100 })
  expect(await o.all()).toMatchObject([
    { status: 'uncertain', error: expect.stringMatching(/may still be alive/) },
  ])
  open()
  child.kill('SIGCONT')
  await once(child, 'exit')
  expect(await o.statuses()).toEqual(['succeeded'])
  expect(performedWrites(o.sandbox, 'sendMessage')).toHaveLength(1)
})
