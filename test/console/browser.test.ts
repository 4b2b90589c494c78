/** The console in a real Chromium. */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProjectFacts } from '../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../src/app/facts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import type { ProjectConfig } from '../../src/config/config.ts'
import { launchBrowser } from '../support/browser.ts'
import { commit, conversation, message, visitor } from '../warehouse/row-fixtures.ts'
import { openPage } from './open-page.ts'
import { letWait, startConsole, useConsole } from './routes/console-server.ts'

async function fill(warehouse: Warehouse, project: ProjectConfig) {
  const main = openMirror(warehouse, 'main')
  await main.commit(commit('conversations', [conversation('c1')]))
  await main.commit(
    commit('messages', [
      message('c1', 1, { sender_type: 'visitor', content: 'Where is the parcel?' }),
    ]),
  )
  await createProjectFacts(warehouse.projectDb('main'), project).refresh()
}

const console = useConsole(fill)
let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

test('a person signs in with the keyboard alone, without JavaScript, and out again', async () => {
  const page = await openPage(browser, console, null, { javaScriptEnabled: false })
  await page.goto(`${console.address}/console/p/main/streams`)
  await page.getByLabel('Your name').focus()
  await page.keyboard.type('ann')
  await page.keyboard.press('Tab')
  await page.keyboard.type('ann-token')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/p/main/streams')
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Streams')
  await page.getByRole('button', { name: 'Sign out' }).press('Enter')
  await page.getByText('You are signed out').waitFor()
  await page.goto(`${console.address}/console/p/main`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('eight tabs are open at once, and all of them change; what is opened, and has the focus, stays so', async () => {
  const page = await openPage(browser, console, 'vera')
  const tabs = [
    page,
    ...(await Promise.all(Array.from({ length: 7 }, () => page.context().newPage()))),
  ]
  for (const tab of tabs) await tab.goto(`${console.address}/console/p/main`)
  const fold = page.locator('details.fold')
  if ((await fold.getAttribute('open')) === null) await fold.locator('summary').click()
  const stream = fold.getByRole('link', { name: 'conversations' })
  await stream.focus()
  await letWait(console.warehouse, console.project, 'c2')
  for (const tab of tabs)
    await tab
      .locator('.tiles li', { hasText: 'Waiting now' })
      .getByText('2', { exact: true })
      .waitFor()
  expect(await fold.getAttribute('open')).not.toBeNull()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('conversations')
  expect(page.violations).toEqual([])
})

test('an open page is paused, goes on, and ends when the person signs out', async () => {
  const page = await openPage(browser, console, 'vera')
  await page.go('/console/p/main/streams')
  const state = page.locator('[data-live-state]')
  const other = await page.context().newPage()
  await page.getByRole('button', { name: 'Pause live numbers' }).click()
  await state.getByText('paused').waitFor()
  await page.getByRole('button', { name: 'Resume live numbers' }).click()
  await state.getByText('live').waitFor()
  await other.goto(`${console.address}/console/p/main`)
  await other.getByRole('button', { name: 'Sign out' }).click()
  await state.getByText('signed out').waitFor()
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Streams')
  expect(page.violations).toEqual([])
})

test('keys go to pages and rows, are listed, and can be switched off', async () => {
  const page = await openPage(browser, console, 'vera')
  await page.go('/console/p/main')
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.waitForURL('**/runs')
  await page.keyboard.press('/')
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('q')
  await page.getByRole('heading', { level: 1 }).click()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Write-backs').waitFor()
  await page.getByRole('button', { name: 'Switch keys off' }).click()
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  expect(page.url()).toContain('/runs')
  expect(page.violations).toEqual([])
})

test('words lead to the thread that has them, and its end is read', async () => {
  const page = await openPage(browser, console, 'vera')
  await page.go('/console/p/main')
  await page.keyboard.press('/')
  await page.keyboard.type('parcel')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/search?q=parcel')
  await page.locator('main a[href$="/conversations/c1"]').first().click()
  await page.locator('.thread', { hasText: 'Where is the parcel?' }).waitFor()
  expect(page.violations).toEqual([])
})

test.for([true, false])(
  'a reply is drafted with the keyboard alone; with JavaScript: %s',
  async (javaScriptEnabled) => {
    const id = `00000000-0000-4000-8000-00000000000${javaScriptEnabled ? 1 : 2}`
    await letWait(console.warehouse, console.project, id)
    const page = await openPage(browser, console, 'olga', { javaScriptEnabled })
    await page.go(`/console/p/main/conversations/${id}`)
    await page.getByRole('link', { name: 'Write…' }).press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.type('It is on its way.')
    if (javaScriptEnabled) await page.keyboard.press('Control+Enter')
    else {
      for (const field of ['sender', 'andHandled', 'button']) {
        await page.keyboard.press('Tab')
        if (field === 'andHandled') await page.keyboard.press('Space')
      }
      await page.keyboard.press('Enter')
    }
    await page.getByRole('status').filter({ hasText: 'Added to olga’s drafts' }).waitFor()
    expect(await page.locator('table tbody tr').count()).toBe(javaScriptEnabled ? 1 : 2)
    expect(page.violations).toEqual([])
  },
)

test('a name is corrected with the keyboard alone, without JavaScript', async () => {
  const id = '00000000-0000-4000-8000-000000000009'
  await openMirror(console.warehouse, 'main').commit(commit('visitors', [visitor(id)]))
  const page = await openPage(browser, console, 'olga', { javaScriptEnabled: false })
  await page.go(`/console/p/main/visitors/${id}`)
  await page.getByRole('link', { name: 'Correct the name or the address…' }).press('Enter')
  const name = page.getByLabel('Name')
  expect(await name.inputValue()).toBe('Bo')
  await name.focus()
  await page.keyboard.press('End')
  await page.keyboard.type(' Diddley')
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: 'Added to olga’s drafts' }).waitFor()
  expect(await page.locator('table', { hasText: 'name "Bo Diddley"' }).count()).toBe(1)
})

test('a session ends after twelve hours, and the page is there again after signing in', async () => {
  let time = Date.now()
  const dated = await startConsole(fill, { now: () => time })
  const page = await openPage(browser, dated, 'vera')
  await page.go('/console/p/main/streams')
  time += 12 * 3_600_000
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByLabel('Your name').fill('vera')
  await page.getByLabel('Token').fill('vera-token')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/p/main/streams')
})
