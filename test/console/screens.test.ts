/** Every screen in a real Chromium: hostile texts stay texts, and nobody is shut out. */
import type { Browser, ViewportSize } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { periodTableNames } from '../../src/console/pages/render-period-page.ts'
import { quoteCsvCell } from '../../src/export/writers/csv-writer.ts'
import { launchBrowser } from '../support/browser.ts'
import { sampled } from '../support/sampled.ts'
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

const phone = { width: 320, height: 640 }
const desktop = { width: 1280, height: 800 }
// A phone shows the dark colours, too.
const looks: readonly { colorScheme: 'light' | 'dark'; viewport: ViewportSize }[] = [
  { colorScheme: 'dark', viewport: phone },
  { colorScheme: 'light', viewport: desktop },
  { colorScheme: 'dark', viewport: desktop },
]
const isPeriod = new RegExp(`^/console/p/main/(${periodTableNames.join('|')})\\b`)

/** What is rendered in one way: a page with other rows, or about another time, is of the same kind. */
const kindOf = (path: string) =>
  isPeriod.test(path) ? 'period' : path.replace(/\?.*/, '').replace(/(main\/\w+\/)[^/]+/, '$1')
const kinds = [...new Set(screens.map(kindOf))]

test('hostile texts are shown as texts in every field, and every look of every screen is accessible', async () => {
  const page = await openPage(browser, console, 'ann')
  const show = async ({ colorScheme, viewport }: (typeof looks)[number]) => {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(viewport)
  }
  const problems: string[] = []
  for (const path of screens) {
    await show(looks[0]!)
    await page.go(path)
    // What is being counted is loaded again after a second.
    await page.locator('[data-counting]').waitFor({ state: 'detached' })
    const links = '[...document.querySelectorAll(\'a[href^="#"]\')].map(({ hash }) => hash)'
    for (const hash of await page.evaluate<string[]>(links))
      expect(await page.locator(hash).count(), hash).toBe(1)
    expect(
      await page
        .locator('main img, main script, main iframe, main svg[onload], main b > i')
        .count(),
      path,
    ).toBe(0)
    const excess = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    if (excess !== 0) problems.push(`${path} is ${excess} pixels too wide for a phone`)
    // Here one screen of each kind in one of the looks.
    const kind = kindOf(path)
    const isFirst = screens.find((other) => kindOf(other) === kind) === path
    const nth = kinds.indexOf(kind) % looks.length
    for (const look of sampled(looks, (_, index) => isFirst && index === nth)) {
      await show(look)
      for (const problem of await accessibilityProblems(page))
        problems.push(`${path} ${JSON.stringify(look)} ${problem}`)
    }
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
    viewport: phone,
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
    const page = await openPage(browser, console, 'olga', {
      viewport: { width: 390, height: 800 },
      javaScriptEnabled,
    })
    await page.go('/console/p/main/import')
    const hostile = quoteCsvCell(attack)
    const buffer = Buffer.from(`${hostile},Worte,Kunde\n${hostile},${hostile},nobody\n`)
    await page
      .getByLabel('The file')
      .setInputFiles({ name: `${attack}.csv`, mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Import as drafts' }).click()
    await page.getByRole('heading', { name: 'What its columns are' }).waitFor()
    if (javaScriptEnabled) {
      expect(await accessibilityProblems(page)).toEqual([])
      expect(
        await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        ),
      ).toBe(0)
      expect(page.violations).toEqual([])
      continue
    }
    await page.locator('select').first().selectOption('ignored')
    await page.getByLabel('Worte').selectOption('content')
    await page.getByRole('button', { name: 'Import as drafts' }).first().click()
    await page.getByText('no visitor has exactly this name').waitFor()
  }
})
