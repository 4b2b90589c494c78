/** The console in a real Chromium. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { useConsole } from '../http/console/console-server.ts'
import { launchBrowser } from '../support/browser.ts'
import { commit, conversation, timeAt } from '../warehouse/row-fixtures.ts'
import { openPage } from './open-page.ts'

const waiting = (id: string) => conversation(id, { waiting_since: timeAt(5) })
const fill = (warehouse: Warehouse) => warehouse.mirror('main').commit(commit('conversations', [waiting('c1')]))

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

test('eight tabs are open at once, and the numbers of all of them change', async () => {
  const page = await openPage(browser, console, 'vera')
  const tabs = [page, ...(await Promise.all(Array.from({ length: 7 }, () => page.context().newPage())))]
  for (const tab of tabs) await tab.goto(`${console.address}/console/p/main`)
  await console.warehouse.mirror('main').commit(commit('conversations', [waiting('c2')]))
  for (const tab of tabs) await tab.locator('[data-live="waiting"]', { hasText: '2' }).waitFor()
  expect(page.violations).toEqual([])
})

test('keys go to pages and rows, and can be switched off', async () => {
  const page = await openPage(browser, console, 'vera')
  await page.go('/console/p/main')
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.waitForURL('**/runs')
  await page.keyboard.press('/')
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('q')
  await page.getByRole('button', { name: 'Keys are on' }).click()
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  expect(page.url()).toContain('/runs')
  expect(page.violations).toEqual([])
})
