/** Every screen in a real Chromium: hostile texts stay texts, and nobody is shut out. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { quoteCsvCell } from '../../src/export/writers/csv-writer.ts'
import { launchBrowser } from '../support/browser.ts'
import { accessibilityProblems } from './axe.ts'
import { attack, fillHostile, screens } from './hostile-mirror.ts'
import { openPage } from './open-page.ts'
import { useConsole } from './routes/console-server.ts'

const console = useConsole(fillHostile)
let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

test('hostile texts are shown as texts in every field, and every look of every screen is accessible', async () => {
  const page = await openPage(browser, console, 'ann')
  const problems: string[] = []
  const check = async (path: string, look: string, rules?: readonly string[]) =>
    problems.push(...(await accessibilityProblems(page, rules)).map((problem) => `${path} ${look} ${problem}`))
  for (const path of screens) {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ colorScheme: 'light' })
    await page.go(path)
    // What is being counted is loaded again after a second.
    await page.locator('[data-counting]').waitFor({ state: 'detached' })
    const links = '[...document.querySelectorAll(\'a[href^="#"]\')].map(({ hash }) => hash)'
    for (const hash of await page.evaluate<string[]>(links)) expect(await page.locator(hash).count(), hash).toBe(1)
    expect(await page.locator('main img, main script, main iframe, main svg[onload], main b > i').count(), path).toBe(0)
    await check(path, 'light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await check(path, 'dark', ['color-contrast'])
    await page.setViewportSize({ width: 320, height: 640 })
    await check(path, 'phone', [
      'color-contrast',
      'target-size',
      'scrollable-region-focusable',
      'aria-required-children',
    ])
    const excess = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    if (excess !== 0) problems.push(`${path} is ${excess} pixels too wide for a phone`)
  }
  expect(problems).toEqual([])
  await page.go('/console/p/main/conversations/c1')
  const thread = await page.locator('.thread').textContent()
  expect(thread).toContain('<img src=x onerror=alert(1)>')
  expect(thread).toContain('U+202Egnp.exeU+202C U+200BzeroU+200Bwidth')
  await page.go('/console/p/main/visitors/v1')
  expect(await page.getByText(attack.slice(0, 28)).count()).toBeGreaterThan(0)
  expect(page.violations).toEqual([])
})

test('on a phone the menu opens and leads on, without JavaScript', async () => {
  const page = await openPage(browser, console, 'vera', {
    viewport: { width: 320, height: 640 },
    javaScriptEnabled: false,
  })
  await page.go('/console/p/main')
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('navigation').getByRole('link', { name: 'Waiting' }).click()
  await page.waitForURL('**/waiting')
})

test('on a phone the columns of a sheet are named, without JavaScript', async () => {
  // axe needs scripts, so it looks at the same page before.
  for (const javaScriptEnabled of [true, false]) {
    const page = await openPage(browser, console, 'olga', { viewport: { width: 390, height: 800 }, javaScriptEnabled })
    await page.go('/console/p/main/import')
    const hostile = quoteCsvCell(attack)
    const buffer = Buffer.from(`${hostile},Worte,Kunde\n${hostile},${hostile},nobody\n`)
    await page.getByLabel('The file').setInputFiles({ name: `${attack}.csv`, mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Import as drafts' }).click()
    await page.getByRole('heading', { name: 'What its columns are' }).waitFor()
    if (javaScriptEnabled) {
      expect(await accessibilityProblems(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
      expect(page.violations).toEqual([])
      continue
    }
    await page.locator('select').first().selectOption('ignored')
    await page.getByLabel('Worte').selectOption('content')
    await page.getByRole('button', { name: 'Import as drafts' }).first().click()
    await page.getByText('no visitor has exactly this name').waitFor()
  }
})
