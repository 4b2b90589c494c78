/**
 * A batch page that stays open, in a real Chromium: what it says and offers follows what happens,
 * and time that passes.
 */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { launchBrowser } from '../support/browser.ts'
import { openPage } from './open-page.ts'
import { queueDrafts, replyTo } from './queued-rows.ts'
import { useConsole } from './routes/console-server.ts'
import { fillTargets, targets } from './routes/import-file.ts'

async function fill(warehouse: Warehouse) {
  await fillTargets(warehouse)
  for (const batchId of ['open', 'old', 'listed']) {
    const replies = targets.slice(0, 3).map((target) => replyTo(target, `About ${batchId}`))
    await queueDrafts(warehouse, batchId, replies)
  }
}

const console = useConsole(fill)
let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

const outbox = () => createOutbox(console.warehouse.projectDb('main'))
const approve = (batch: string, graceMs: number) =>
  outbox().decide('approved', { batch }, { by: 'bea', graceMs })
const settle = (batch: string, limit: number) =>
  console.warehouse.query(`update writebacks set status = 'succeeded', finished_at = '2026-06-01T12:00:00Z'
    where id in (select id from writebacks where batch_id = '${batch}' and status = 'queued' limit ${limit})`)

test('an open page says that nothing leaves, that it is sent, and that it has ended, while its rows stay', async () => {
  const page = await openPage(browser, console, 'ann')
  await page.go('/console/p/main/batches/open')
  const [said, actions] = [page.locator('.sentences'), page.locator('.actions').first()]
  const first = () => actions.locator('button, a').first().textContent()
  await page.getByLabel('Row 2').check()

  await approve('open', 12_000)
  await said.getByText('Nothing leaves before').waitFor()
  expect(await first()).toBe('Undo the approval')
  await actions.getByRole('button', { name: 'Undo the approval' }).focus()

  // No row changes when the grace ends.
  await said.getByText('Nothing leaves before').waitFor({ state: 'detached' })
  expect(await first()).toBe('Stop')
  // A key that was meant for the button that is gone presses nothing.
  expect(await page.evaluate('document.activeElement.localName')).toBe('div')
  expect(await page.getByRole('button', { name: 'Approve these…' }).isVisible()).toBe(false)
  expect(await page.getByLabel('Row 2').isChecked()).toBe(true)

  await settle('open', 2)
  await page.getByRole('link', { name: 'succeeded (2)' }).waitFor()
  await page.getByRole('link', { name: 'Not sent (1)' }).waitFor()
  await page.getByText('There is a newer view of these rows').waitFor()
  expect(await page.getByLabel('Row 2').isChecked()).toBe(true)

  await settle('open', 1)
  await page.locator('main .state', { hasText: 'done' }).first().waitFor()
  await page.getByText('3 of 3 settled').waitFor()
  // What its rows would do is over, whoever reads them.
  await page.getByText('Nothing of it waits to be sent.').waitFor()
  expect(await page.getByText('already done').count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
  expect(page.violations).toEqual([])
})

test('an open list says how each batch is, and what can be decided about all sending', async () => {
  const page = await openPage(browser, console, 'ann')
  await page.go('/console/p/main/writebacks')
  const row = page.locator('tr', { hasText: 'listed' })
  await row.getByText('waits for approval').waitFor()
  await approve('listed', 0)
  // Nothing of it has left yet.
  await row.locator('.state', { hasText: 'queued' }).waitFor()
  await page.getByRole('link', { name: 'queued (3)' }).waitFor()
  await outbox().decideSending('stop_all', { by: 'bea' })
  await page.getByText('All sending was stopped').waitFor()
  await page.getByRole('link', { name: 'Go on sending…' }).waitFor()
  await outbox().decideSending('resume_all', { by: 'bea' })
  await page.getByText('All sending was stopped').waitFor({ state: 'detached' })
  expect(page.violations).toEqual([])
})

test('what is pressed on an old page changes nothing, and the answer has what can be done now', async () => {
  const page = await openPage(browser, console, 'ann', { javaScriptEnabled: false })
  await approve('old', 60_000)
  await page.go('/console/p/main/batches/old')
  await console.warehouse.query(
    `update writebacks set undo_until = 1, due_at = null where batch_id = 'old'`,
  )
  await page.getByRole('button', { name: 'Undo the approval' }).click()
  await page.getByRole('heading', { name: 'Nothing was changed' }).waitFor()
  expect((await outbox().findBatch('old'))?.counts).toEqual({ queued: 3 })
  expect(await page.locator('main').textContent()).toContain(
    '“Undo the approval” does not apply any more',
  )
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.waitForURL('**/batches/old')
  expect((await outbox().findBatch('old'))?.counts).toEqual({ draft: 3 })
  await page.go('/console/p/main/confirm?decision=approve&batch=old')
  await page.getByRole('link', { name: 'Go on…' }).waitFor()
})
