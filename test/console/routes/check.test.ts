/** A batch is checked with the service from its page, in the background. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { secret } from '../../../src/values/secret.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { formBody, ownForm, startConsole } from './console-server.ts'

test('an operator checks drafts, and the page says what the service shows, or why it could not be asked', async () => {
  const sandbox = await startSandbox({
    size: { conversations: 3, visitors: 2, calls: 1, activityPerVisitor: 0, days: 2 },
  })
  onTestFinished(() => sandbox.stop())
  const settings = { baseUrl: new URL(sandbox.baseUrl), projectId: sandbox.projectId, apiKey: secret(sandbox.key) }
  const targets = [...sandbox.truth('conversations')].map(({ id }) => id ?? '')
  const console = await startConsole(
    async ({ projectDb }) => {
      const flags = targets.map((target) => ({ operation: 'handled', target, payload: { handled: true } }) as const)
      const requests = flags.map((request) => ({ ...request, ref: null, expect: null, expiresAt: null }))
      const options = { status: 'draft', batchId: 'flags', createdBy: 'ann', expiresAt: null } as const
      await createOutbox(projectDb(sandbox.projectId)).enqueue([requests], options)
    },
    { settings },
  )
  const page = async (person: string) =>
    (await console.ask('/console/p/main/batches/flags', { headers: { cookie: await console.signIn(person) } })).text
  const check = async (person: string) => {
    const headers = { cookie: await console.signIn(person), ...ownForm }
    const body = formBody({ decision: 'check', batch: 'flags' })
    return (await console.ask('/console/p/main/decide', { method: 'POST', headers, body })).status
  }
  expect(await page('vera')).not.toContain('Check with the service')
  expect(await check('vera')).toBe(403)
  expect(await check('olga')).toBe(303)
  await vi.waitFor(async () => expect(await page('olga')).toContain('3 checked with the service'), { timeout: 30_000 })
  expect(await page('olga')).not.toContain('It is being checked')
  const [event] = await createAuditLog(console.warehouse.db).list(null, 1)
  const last = (await createAuditLog(console.warehouse.db).list(null, 9)).find(({ action }) => action !== 'signed_in')
  expect([event?.project, last?.action, last?.person, last?.subject]).toEqual([
    ...['', 'checked_with_the_service', 'olga', 'flags'],
  ])
  await sandbox.stop()
  expect(await check('olga')).toBe(303)
  await vi.waitFor(async () => expect(await page('olga')).toContain('The check with the service ended'), {
    timeout: 60_000,
  })
})
