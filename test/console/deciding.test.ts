/** Decisions in a real Chromium: with keys only, without JavaScript, and beside a thread. */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { toTimestamp } from '../../src/values/time.ts'
import { launchBrowser } from '../support/browser.ts'
import { commitRows, conversation, message, timeAt, visitor } from '../warehouse/row-fixtures.ts'
import { accessibilityProblems } from './axe.ts'
import { openPage } from './open-page.ts'
import { queueDrafts, replyTo } from './queued-rows.ts'
import { useConsole } from './routes/console-server.ts'

const [first, second] = [
  '00000000-0000-4000-8000-000000000001',
  '00000000-0000-4000-8000-000000000002',
] as const

async function fill(warehouse: Warehouse) {
  const { query } = warehouse
  await commitRows(openMirror(warehouse, 'main'), {
    visitors: [visitor('v1', {}, { name: 'Zoë' })],
    conversations: [first, second].map((id) => conversation(id, { visitor_id: 'v1' })),
    messages: [
      message(first, 1, { sender_type: 'visitor', content: 'Where is it?' }),
      message(first, 2, { content: 'On its way.' }),
    ],
  })
  for (const batchId of ['keys', 'forms', 'changed']) {
    const replies = [first, second].map((target, n) => replyTo(target, `${batchId} ${n}\u200b`))
    await queueDrafts(warehouse, batchId, replies)
  }
  await query(`insert into writebacks (project_id, id, operation, conversation_id, payload, batch_id, status)
    values ('main', 'h1', 'handled', '${second}', '{"handled":true}', 'flags', 'queued')`)
  await query(`update writebacks set status = 'succeeded', sent_at = '${toTimestamp(Date.now() + 60_000)}',
    evidence = '{"before":{"handledAt":null}}' where id = 'h1'`)
  await query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status)
    values ('main', 'u1', 'message', '${first}', '{"content":"On its way.","sender_name":"Ann"}', 'draft')`)
  await query(
    `update writebacks set status = 'uncertain', sent_at = '${timeAt(2)}' where id = 'u1'`,
  )
  // The list shows the newest first. Filling may take longer than a second, and in one second the
  // ids decide.
  await query(`update writeback_batches set created_at = '${timeAt(2)}'`)
}

const console = useConsole(fill)
let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

const countsOf = async (batch: string) =>
  (await createOutbox(console.warehouse.projectDb('main')).findBatch(batch))?.counts

test('an approver picks a row, approves the batch, and undoes it, with keys only', async () => {
  const page = await openPage(browser, console, 'ann')
  await page.go('/console/p/main')
  await page.keyboard.press('g')
  await page.keyboard.press('b')
  await page.waitForURL('**/writebacks')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/batches/keys')
  const picked = page.locator('[data-picked]')
  await page.getByRole('link', { name: '1', exact: true }).focus()
  await page.keyboard.press('x')
  await picked.getByText('1 picked:').waitFor()
  await page.keyboard.press('x')
  await page.getByRole('link', { name: 'Approve…' }).press('Enter')
  await page.waitForURL('**/confirm?**')
  expect(await page.locator('main').textContent()).toContain('keys 0U+200B')
  await page.getByRole('button', { name: 'Approve 2 replies' }).press('Enter')
  await page.waitForURL('**/batches/keys')
  expect(await countsOf('keys')).toEqual({ queued: 2 })
  await page.getByRole('button', { name: 'Undo the approval' }).press('Enter')
  await page.getByText('wait for approval').waitFor()
  expect(await countsOf('keys')).toEqual({ draft: 2 })
  expect(page.violations).toEqual([])
})

test('what has the focus is not behind the bar of the picked rows, however high the window is', async () => {
  const page = await openPage(browser, console, 'ann')
  await page.go('/console/p/main/batches/forms')
  const box = page.getByRole('checkbox', { name: 'Row 2' })
  const covered: string[] = []
  for (const width of [1280, 390]) {
    for (let height = 400; height <= 800; height += 20) {
      await page.setViewportSize({ width, height })
      await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)')
      await box.focus()
      const below =
        await page.evaluate<number>(`document.querySelector('.bar').getBoundingClientRect().top
        - document.activeElement.getBoundingClientRect().bottom`)
      if (below < 0) covered.push(`${width}×${height}: ${below}`)
    }
  }
  expect(covered).toEqual([])
})

test('a batch is approved, stopped and resumed without JavaScript', async () => {
  const page = await openPage(browser, console, 'ann', { javaScriptEnabled: false })
  await page.go('/console/p/main/batches/forms')
  await page.getByLabel('Row 1').check()
  await page.getByRole('button', { name: 'Approve these…' }).click()
  await page.getByRole('button', { name: 'Approve 1 reply' }).click()
  await page.waitForURL('**/batches/forms')
  expect(await countsOf('forms')).toEqual({ draft: 1, queued: 1 })
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('nothing of it is sent unless a person goes on').waitFor()
  await page.getByRole('link', { name: 'Go on…' }).click()
  await page.getByRole('button', { name: /^Go on with/ }).click()
  await page.waitForURL('**/batches/forms')
  expect(await countsOf('forms')).toEqual({ draft: 1, queued: 1 })
})

test('an operator decides an uncertain reply beside its thread', async () => {
  const page = await openPage(browser, console, 'olga')
  await page.go('/console/p/main')
  await page.getByRole('link', { name: 'Decide' }).click()
  await page.getByRole('link', { name: 'reply' }).click()
  await page.locator('.thread .marked', { hasText: 'On its way.' }).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'It arrived' }).click()
  await page.getByText('It arrived.', { exact: false }).first().waitFor()
  expect(
    (await createOutbox(console.warehouse.projectDb('main')).list({ ids: ['u1'] }, 1))[0]?.status,
  ).toBe('succeeded')
  expect(page.violations).toEqual([])
})

test('an approval of rows that have changed since they were shown does nothing, and says what changed', async () => {
  const page = await openPage(browser, console, 'ann')
  await page.go('/console/p/main/confirm?decision=approve&batch=changed')
  const admin = createOutbox(console.warehouse.projectDb('main'))
  const [row] = await admin.list({ batch: 'changed' }, 1)
  await admin.decide('cancelled', { ids: [row?.id ?? ''] }, { by: 'bea' })
  await page.getByRole('button', { name: 'Approve 2 replies' }).click()
  await page.getByText('what you were shown is not what is there now').waitFor()
  expect(await page.getByRole('cell', { name: 'bea', exact: true }).count()).toBe(1)
  expect(await countsOf('changed')).toEqual({ draft: 1, cancelled: 1 })
})

test('flags that arrived are taken back as drafts', async () => {
  const page = await openPage(browser, console, 'ann')
  await page.go('/console/p/main/batches/flags')
  await page.getByRole('button', { name: 'Take back as drafts' }).click()
  await page.waitForURL('**/batches/flags-revert')
  expect(await countsOf('flags-revert')).toEqual({ draft: 1 })
  expect(page.violations).toEqual([])
})
